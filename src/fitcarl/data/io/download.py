"""Files from the network: resumed after an interruption, checked before they appear."""

from __future__ import annotations

import hashlib
import http.client
import os
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from fitcarl.core.progress import OnProgress, Progress
from fitcarl.errors import InputError

_BLOCK = 1 << 16
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429, 500, 502, 503, 504})


class DownloadError(InputError):
    """The network or the server did not give the file; one line says which and why."""

    status: int | None = None
    """What the server answered, if it refused for good (404, ...)."""


class _InterruptedError(Exception):
    """The transfer broke off for a reason that may pass."""


def fetch(
    url: str,
    target: Path,
    sha256: str,
    size: int | None = None,
    *,
    timeout: float = 30.0,
    retries: int = 4,
    backoff: float = 1.0,
    on_progress: OnProgress | None = None,
) -> Path:
    """``target``, which holds exactly the bytes of this checksum, downloaded unless it does so already.

    Bytes arrive in ``target.part``, which an interruption leaves behind and the next call goes on with. ``target``
    itself appears in one step after the checksum has been verified. A connection that is silent for ``timeout``
    seconds, that closes early, or a server that is busy, is tried again ``retries`` times with growing pauses
    (``backoff``, twice that, ...). What cannot be downloaded, or is not what it should be, is a DownloadError.
    """
    _check_address(url)
    part = target.with_name(target.name + ".part")
    try:
        if target.is_file() and file_sha256(target) == sha256:
            return target
        part.parent.mkdir(parents=True, exist_ok=True)
        trouble = ""
        for attempt in range(retries + 1):
            if attempt:
                time.sleep(backoff * 2 ** (attempt - 1))
            resumed = _length(part) > 0
            try:
                _transfer(url, part, target.name, size, timeout, on_progress)
            except _InterruptedError as interruption:
                trouble = str(interruption)
                continue
            found = file_sha256(part)
            if found == sha256:
                os.replace(part, target)
                return target
            part.unlink()
            if not resumed:
                raise DownloadError(
                    "corrupted download, removed", file=url, field="sha256", found=found, expected=sha256
                )
            trouble = "what an earlier download had left did not fit"  # so a fresh start is worth a try
        kept = _length(part)
    except OSError as error:  # trouble of the network has become _InterruptedError: this is the disk's
        raise InputError(f"cannot be written: {error.strerror}", file=error.filename or part) from None
    resume = f"; {kept} bytes are kept, the same command goes on from there" if kept else ""
    raise DownloadError(f"download failed after {retries + 1} tries: {trouble}{resume}", file=url)


def file_sha256(path: Path) -> str:
    """The checksum of a file's content, in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _transfer(
    url: str, part: Path, name: str, size: int | None, timeout: float, on_progress: OnProgress | None
) -> None:
    """Brings ``part`` to its full length from whatever length it has."""
    held = _length(part)
    if size is not None and held >= size:
        if held == size:
            return
        held = 0
    response = _open(url, held, timeout)
    if response is None:
        return
    with response:
        if response.status != 206:  # also when the server does not care which bytes are held already
            held = 0
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {held}-"):
            part.unlink(missing_ok=True)
            raise _InterruptedError("the server went on from another place than asked")
        announced = response.headers.get("Content-Length", "")
        total = held + int(announced) if announced.isdecimal() else None
        if total is not None and size is not None and total != size:
            part.unlink(missing_ok=True)
            raise DownloadError(
                "the server has another file there", file=url, found=f"{total} bytes", expected=f"{size} bytes"
            )
        total = size if total is None else total
        with part.open("ab" if held else "wb") as out:
            # The end is known from the length, not from the connection: some servers leave it open.
            while total is None or held < total:
                block = _read(response, _BLOCK if total is None else min(_BLOCK, total - held), timeout)
                if not block:
                    break
                out.write(block)
                held += len(block)
                if on_progress is not None:
                    on_progress(Progress(name, held, total or 0, "bytes"))
    if total is not None and held < total:
        raise _InterruptedError(f"the connection closed after {held} of {total} bytes")


def _open(url: str, held: int, timeout: float) -> http.client.HTTPResponse | None:
    """The server's answer, asked to leave out the bytes held; None when it says that there are no others."""
    headers = {"User-Agent": "fitcarl", "Accept-Encoding": "identity"}
    if held:
        headers["Range"] = f"bytes={held}-"
    try:
        response: http.client.HTTPResponse = urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=timeout
        )
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416 and held:
            return None
        answer = f"HTTP {error.code} {error.reason}".strip()
        if error.code in _WORTH_ANOTHER_TRY:
            raise _InterruptedError(f"the server answered {answer}") from None
        refusal = DownloadError(f"the server does not give this file: {answer}", file=url)
        refusal.status = error.code
        raise refusal from None
    except (OSError, http.client.HTTPException) as error:
        raise _InterruptedError(_reason(error, timeout)) from None
    return response


def _read(response: http.client.HTTPResponse, most: int, timeout: float) -> bytes:
    try:
        return response.read1(most)
    except (OSError, http.client.HTTPException) as error:
        raise _InterruptedError(_reason(error, timeout)) from None


def _reason(error: Exception, timeout: float) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"nothing came for {timeout:g} s"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__


def _length(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _check_address(url: str) -> None:
    try:
        address = urlsplit(url)
        good = address.scheme in ("http", "https") and bool(address.hostname)
        address.port  # noqa: B018 - raises where it is no number
    except ValueError:
        good = False
    if not good or any(character.isspace() for character in url):
        raise InputError("not an address", found=url, expected="http:// or https:// and a host")
    if not url.isascii():
        raise InputError("not an address", found=url, expected="ASCII, other characters as %XX (xn-- in a host)")
