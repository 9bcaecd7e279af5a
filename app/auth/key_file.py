"""The local copy of the keyring: SLUICE_DATA_DIR/keys.json. It has hashes, no secrets.

A store that lost its keys must not open the service after a restart: the copy says that keys existed, and has them.
"""

import logging
import os
from pathlib import Path

import msgspec

from app.auth.keys import Key

NAME = "keys.json"
logger = logging.getLogger("sluice.access")


class KnownKeys(msgspec.Struct, frozen=True):
    """What a worker knows of a keyring."""

    keys: dict[str, Key] = {}
    revoked: dict[str, int] = {}  # when, in milliseconds since 1970
    identity: str | None = None  # of the keyring, as opposed to the keyring of another store


class KeyFile:
    """The file of one data directory. All workers of a service write it; each writes what all of them know."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / NAME

    def exists(self) -> bool:
        """Whether keys existed when a service last used this data directory."""
        return self.path.exists()

    def read(self) -> KnownKeys | None:
        """Return what the file has; None if it is missing or cannot be read."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=KnownKeys)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError) as error:
            logger.error(  # noqa: TRY400 - the message has it all
                "%s, the copy of the keys, cannot be read: %s. The keys in the store are used; if there is none, "
                "create one with sluice keys create. To serve without keys again, delete the file",
                self.path,
                error,
            )
            return None

    def write(self, known: KnownKeys) -> None:
        """Replace the file, so that a crash leaves the old one or the new one."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = self.path.with_name(f".{NAME}.{os.getpid()}")
        try:
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:  # noqa: PTH123 - a descriptor
                file.write(msgspec.json.format(msgspec.json.encode(known), indent=1))
                file.flush()
                os.fsync(file.fileno())
            aside.replace(self.path)
        finally:
            aside.unlink(missing_ok=True)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
