"""The page at ``/``: the built explorer, read once from the package, or a plain page that says what to do."""

from __future__ import annotations

import hashlib
import mimetypes
import re
from dataclasses import dataclass
from pathlib import Path

from starlette.responses import Response

WEB = Path(__file__).parent / "web"
_HASHED = re.compile(r"assets/.*[-.][0-9A-Za-z_-]{8,}\.\w+")
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_TYPES |= {".html": "text/html", ".json": "application/json", ".txt": "text/plain", ".woff2": "font/woff2"}
"""Written down, because what ``mimetypes`` says depends on the machine."""

_NOT_BUILT = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>fitcarl</title></head>
<body><h1>fitcarl</h1>
<p>The service runs. The explorer is not part of this installation: build it with <code>make web</code>
in the source folder and start the service again.</p>
<p>The API is described at <a href="/v1/docs">/v1/docs</a>.</p></body></html>
"""


@dataclass(frozen=True)
class Page:
    """A file as it is sent."""

    content: bytes
    media_type: str
    lasting: bool
    """Whether its name changes with its content, so that a browser may keep it for ever."""

    @property
    def tag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:16]}"'

    def response(self, known: str | None) -> Response:
        """The file, or 304 for a browser that says it has it."""
        kept = "public, max-age=31536000, immutable" if self.lasting else "no-cache"
        headers = {"Cache-Control": kept, "ETag": self.tag}
        if known is not None and self.tag in (tag.strip().removeprefix("W/") for tag in known.split(",")):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


class StaticFiles(dict[str, Page]):
    """All files of the page by their path, ``/`` among them; nothing else can be asked for."""

    def __init__(self, folder: Path = WEB) -> None:
        super().__init__()
        for path in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if path.is_file():
                self[f"/{path.relative_to(folder).as_posix()}"] = _page(path)
        self["/"] = self.get("/index.html", Page(_NOT_BUILT, "text/html", lasting=False))


def _page(path: Path) -> Page:
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    return Page(path.read_bytes(), kind, lasting=bool(_HASHED.search(path.as_posix())))
