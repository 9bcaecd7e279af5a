"""The Lua scripts of the store."""

import hashlib
from pathlib import Path

from app.storage.client.connection import Call, Script

__all__ = [
    "APPEND", "COMMIT", "CREATE", "DELETE", "END_LEASE", "FREE", "KEEP", "KEPT_BYTES", "KEYRING", "LEASE", "OUTCOMES",
    "QUEUE_COUNTS", "RELEASE", "RENEW", "REPLACE", "RESTORE", "SECOND_ANSWER", "SECOND_LEASE", "SEED", "SET_ASIDE",
    "Call", "Script",
]  # fmt: skip

FOLDER = Path(__file__).parent.parent / "lua"


DURABLE = (
    "append", "create", "seed", "delete", "restore", "replace", "keyring", "lease", "end_lease", "second_lease",
    "second_answer",
)  # fmt: skip
WITH_QUEUE = ("append", "delete", "keep", "lease", "end_lease", "queue_counts")  # they begin with queue.lua


def _read(name: str) -> Script:
    files = ("queue", name) if name in WITH_QUEUE else (name,)
    text = "".join((FOLDER / f"{each}.lua").read_text(encoding="utf-8") for each in files)
    return Script(name, text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(), name in DURABLE)


(
    APPEND, CREATE, SEED, DELETE, RESTORE, REPLACE, KEYRING, LEASE, END_LEASE, SECOND_LEASE, SECOND_ANSWER
) = map(_read, DURABLE)  # fmt: skip
COMMIT, RENEW, RELEASE, OUTCOMES, SET_ASIDE = map(_read, ("commit", "renew", "release", "outcomes", "set_aside"))
KEEP, KEPT_BYTES, FREE, QUEUE_COUNTS = map(_read, ("keep", "kept_bytes", "free", "queue_counts"))
