"""The scripts, styles and pictures of the console. Their address has a hash of all of them, so browsers keep them."""

import hashlib
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.responses import Response

FOLDER: Final = Path(__file__).parent / "assets"
TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
FOREVER: Final = {"cache-control": "public, max-age=31536000, immutable"}


class Assets:
    """All assets in memory. Modules import each other by relative paths, so they share one hash."""

    def __init__(self, folder: Path = FOLDER) -> None:
        files = sorted(path for path in folder.rglob("*") if path.suffix in TYPES)
        self._contents = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        found = hashlib.sha256()
        for name, content in self._contents.items():
            found.update(b"%d %b %d " % (len(name), name.encode(), len(content)) + content)
        self.version = found.hexdigest()[:16]

    def address(self, name: str) -> str:
        """Return the path of an asset below /console."""
        assert name in self._contents, name
        return f"/assets/{self.version}/{name}"

    def answer(self, version: str, name: str) -> Response:
        """Return an asset; 404 if there is none, or only in another version."""
        if version != self.version or name not in self._contents:
            raise HTTPException(404)
        return Response(self._contents[name], headers={**FOREVER, "content-type": TYPES[Path(name).suffix]})
