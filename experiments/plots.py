"""Settings of every figure."""

from typing import Any, Final

# Text stays text, and no date or random name is written: a file changes only when the numbers do.
PLAIN: Final[dict[Any, Any]] = {"svg.fonttype": "none", "svg.hashsalt": "sluice", "font.size": 11}
