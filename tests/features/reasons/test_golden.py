from tests.features.reasons.golden import FILE, lines


def test_reasons_of_real_inputs_are_those_that_people_have_read() -> None:
    assert list(lines()) == FILE.read_text(encoding="utf-8").splitlines()
