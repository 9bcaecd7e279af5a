"""Domain errors: nouns with facts. They know no HTTP and no command line."""

SHOWN_AT_MOST = 80


class SluiceError(Exception):
    """Anything that Sluice refuses, with a sentence for the one who asked."""


class BadExample(SluiceError):
    """An example that cannot be scored or learnt."""


class BadSetting(SluiceError):
    """A setting that does not exist, does not fit the algorithm, or has a value out of range."""


class BadSnapshot(SluiceError):
    """Bytes that are not a whole and sound Sluice model."""


class ModelNotFinite(SluiceError):
    """A model whose numbers have overflowed: written down, it could not be read again."""

    def __init__(self) -> None:
        super().__init__("numbers of the model are not finite, so it is not written: it could not be read again")


def shown(value: object) -> str:
    """A value as an error tells it: short, whatever it is."""
    try:
        spelled = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "an integer too long to print"
    except RecursionError:
        return "a value nested too deeply to print"
    return spelled if len(spelled) <= SHOWN_AT_MOST else spelled[: SHOWN_AT_MOST - 3] + "..."
