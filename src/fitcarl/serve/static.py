"""The files of the explorer at ``/``, read once from the package, or a placeholder page if it was not built."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

WEB_FOLDER = Path(__file__).parent / "web"
_HASHED_NAME = re.compile(r"assets/.*[-.][0-9A-Za-z_-]{8,}\.\w+")
_MEDIA_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_MEDIA_TYPES |= {".html": "text/html", ".json": "application/json", ".txt": "text/plain", ".woff2": "font/woff2"}
"""Explicit, because the results of ``mimetypes`` depend on the machine."""

_NOT_BUILT = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>fitcarl</title></head>
<body><h1>fitcarl</h1>
<p>The service is running. This installation does not include the explorer: build it with <code>make web</code>
in the source folder and restart the service.</p>
<p>The API is described at <a href="/v1/docs">/v1/docs</a>.</p></body></html>
"""


@dataclass(frozen=True)
class StaticFile:
    """A file that is served from memory."""

    content: bytes
    media_type: str
    immutable: bool
    """Whether the file name changes with the content, so that browsers may cache it forever."""

    @property
    def tag(self) -> str:
        """The ETag."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'

    def response(self, known_tags: str | None) -> Response:
        """The file, or 304 if the browser already has it (``known_tags`` is its If-None-Match header)."""
        caching = "public, max-age=31536000, immutable" if self.immutable else "no-cache"
        headers = {"Cache-Control": caching, "ETag": self.tag}
        if known_tags is not None and self.tag in (tag.strip().removeprefix("W/") for tag in known_tags.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


class StaticFiles(dict[str, StaticFile]):
    """URL path → file for all files of a folder; ``/`` is ``index.html``.

    Not ``starlette.staticfiles``, which reads the disk on every request and derives paths from URLs.
    """

    def __init__(self, folder: Path = WEB_FOLDER) -> None:
        super().__init__()
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file():
                self[f"/{path.relative_to(folder).as_posix()}"] = _read(path)
        self["/"] = self.get("/index.html", StaticFile(_NOT_BUILT, "text/html", immutable=False))


def _read(path: Path) -> StaticFile:
    kind = _MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return StaticFile(path.read_bytes(), kind, immutable=bool(_HASHED_NAME.search(path.as_posix())))
