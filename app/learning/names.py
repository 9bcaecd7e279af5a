"""Readable names of features, kept beside the model only so that people can read its weights."""

from collections.abc import Iterable, Iterator

BIAS_NAME = "(bias)"
BIAS_KEY = 0xA7EF7CC5ADE9B561  # key_of(BIAS_NAME), written out: importing this module must not compile a kernel
NAMES_AT_MOST = 1_000_000


class Names:
    """Key to name, up to a number of names; the first to come stay. Not part of the state's digest."""

    def __init__(self, at_most: int = NAMES_AT_MOST) -> None:
        self._at_most = at_most
        self._names: dict[int, str] = {}

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._names)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """In the order of the keys."""
        return iter(sorted(self._names.items()))

    def __contains__(self, key: int) -> bool:
        """Whether the key's name is kept."""
        return key in self._names

    def remember(self, keys: Iterable[int], names: Iterable[str]) -> None:
        """Keep the names of new keys while there is room."""
        for key, name in zip(keys, names, strict=True):
            if len(self._names) >= self._at_most:
                return
            self._names.setdefault(key, name)

    def name_of(self, key: int) -> str:
        """The name, or the key in hexadecimal where the name is not known."""
        return BIAS_NAME if key == BIAS_KEY else self._names.get(key, f"#{key:016x}")
