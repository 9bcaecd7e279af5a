"""Domain errors. They know nothing of HTTP or the command line."""

REPR_CHARACTERS = 80


class SluiceError(Exception):
    """An error that Sluice reports to its caller; the message is a sentence that names the cause."""


class BadExample(SluiceError):
    """An example that cannot be scored or learnt."""


class BadSetting(SluiceError):
    """A setting that does not exist, does not fit the algorithm, or has a value out of range."""


class BadSnapshot(SluiceError):
    """Bytes that are not a complete and valid Sluice model."""


class ModelNotFinite(SluiceError):
    """A model whose numbers have overflowed: a file of it could not be read again."""

    def __init__(self) -> None:
        super().__init__("the model has numbers that are not finite, so it is not saved: it could not be loaded again")


def short_repr(value: object) -> str:
    """Return a short representation of any value for an error message; null, true and false as in JSON."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits
        return "an integer too long to print"
    except RecursionError:
        return "a value nested too deeply to print"
    return text if len(text) <= REPR_CHARACTERS else text[: REPR_CHARACTERS - 3] + "..."
