"""Labels as words, where a person or a mail corpus wrote them."""

LABELS = {b"spam": 1.0, b"ham": -1.0, b"1": 1.0, b"+1": 1.0, b"-1": -1.0, b"0": -1.0}


def label_of(word: bytes) -> float | None:
    """1.0 or -1.0; None if the word is no label."""
    return LABELS.get(word.strip().lower())
