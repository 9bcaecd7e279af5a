"""The Lua scripts of the store."""

import hashlib
from pathlib import Path

from app.storage.client.connection import Call, Script

__all__ = [
    "APPEND", "COMMIT", "CREATE", "DELETE", "FREE", "KEEP", "KEPT_BYTES", "KEYRING", "OUTCOMES", "RELEASE", "REPLACE",
    "RESTORE", "SEED", "SET_ASIDE", "Call", "Script",
]  # fmt: skip

FOLDER = Path(__file__).parent.parent / "lua"


DURABLE = ("append", "create", "seed", "delete", "restore", "replace", "keyring")


def _read(name: str) -> Script:
    text = (FOLDER / f"{name}.lua").read_text(encoding="utf-8")
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), name in DURABLE)


APPEND, CREATE, SEED, DELETE, RESTORE, REPLACE, KEYRING = map(_read, DURABLE)
COMMIT, RELEASE, OUTCOMES, SET_ASIDE = map(_read, ("commit", "release", "outcomes", "set_aside"))
KEEP, KEPT_BYTES, FREE = map(_read, ("keep", "kept_bytes", "free"))
