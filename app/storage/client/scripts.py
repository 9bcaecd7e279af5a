"""The Lua scripts of the store."""

import hashlib
from pathlib import Path

from app.storage.client.connection import Call, Script

__all__ = ["APPEND", "COMMIT", "CREATE", "DELETE", "KEEP", "KEYRING", "RELEASE", "SEED", "Call", "Script"]

FOLDER = Path(__file__).parent.parent / "lua"


def _read(name: str) -> Script:
    text = (FOLDER / f"{name}.lua").read_text(encoding="utf-8")
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


APPEND, CREATE, SEED, DELETE = map(_read, ("append", "create", "seed", "delete"))
COMMIT, RELEASE, KEEP, KEYRING = map(_read, ("commit", "release", "keep", "keyring"))
