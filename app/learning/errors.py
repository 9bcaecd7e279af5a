"""Domain errors: nouns with facts. They know no HTTP and no command line."""


class SluiceError(Exception):
    """Anything that Sluice refuses, with a sentence for the one who asked."""


class BadExample(SluiceError):
    """An example that cannot be scored or learnt."""


class BadSetting(SluiceError):
    """A setting that does not exist, does not fit the algorithm, or has a value out of range."""


class BadSnapshot(SluiceError):
    """Bytes that are not a whole and sound Sluice model."""
