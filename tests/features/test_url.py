import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.features.url import url_features

characters = st.characters() | st.sampled_from("./:?#@%&=[]")  # lone surrogates as well


def test_features_of_a_url() -> None:
    assert url_features("http://www.PayPal.com/login.php?id=7") == [
        "host:www",
        "host:paypal",
        "host:com",
        "domain:com",
        "domain:paypal.com",
        "path:login",
        "path:php",
        "query:id",
        "query:7",
        *[f"host3:{part}" for part in ("www", "ww.", "w.p", ".pa", "pay", "ayp", "ypa", "pal", "al.", "l.c", ".co")],
        "host3:com",
        "len:host:4",
        "len:path:4",
        "len:query:3",
    ]


@pytest.mark.parametrize(
    "url",
    ["http://a.b/c", "https://a.b/c", "HTTPS://A.B/c", "a.b/c", "//a.b/c", " http://a.b/c", "http://u:p@a.b:80/c"],
)
def test_scheme_case_user_and_port_make_no_difference(url: str) -> None:
    assert url_features(url) == url_features("ftp://a.b/c")


@settings(derandomize=True, deadline=None, max_examples=500)
@given(url=st.text(characters))
def test_any_string_has_features_each_once_and_in_utf8(url: str) -> None:
    names = url_features(url)
    assert len(names) == len(set(names))
    assert all(name.encode().decode() == name for name in names)
    assert names == url_features(url)


def test_a_very_long_url_has_few_features() -> None:
    assert len(url_features("http://a.b/" + "/".join(map(str, range(100_000))))) < 2000
