"""The key that commands send along to a service: SLUICE_KEY, or what is in the file SLUICE_KEY_FILE."""

import os
from pathlib import Path

from app.learning.errors import BadSetting


def key_headers() -> dict[str, str]:
    """What a request needs beside its body; nothing without a key."""
    key = os.environ.get("SLUICE_KEY", "").strip()
    if not key and (file := os.environ.get("SLUICE_KEY_FILE")):
        try:
            key = Path(file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadSetting(f"SLUICE_KEY_FILE names {file!r}, which cannot be read: {error}") from None
    return {"Authorization": f"Bearer {key}"} if key else {}
