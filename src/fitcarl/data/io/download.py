"""Downloads that are resumed after an interruption and verified before the file appears.

Not pooch or httpx: neither resumes a partial file after a process ended, and pooch would add requests to every
installation for three downloads; urllib with the loop below is enough.
"""

from __future__ import annotations

import hashlib
import http.client
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

from fitcarl.core.files import move_into_place
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.errors import InputError

_BLOCK = 1 << 16
_RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class DownloadError(InputError):
    """The file could not be downloaded; the message names the URL and the reason."""

    status: int | None = None
    """HTTP status of a permanent refusal (404, ...)."""


class _InterruptedError(Exception):
    """The transfer stopped for a temporary reason."""


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
    """Downloads a file unless it already exists with this checksum.

    Bytes are written to ``target.part``; the next call resumes it after an interruption. ``target`` appears in one step
    after the checksum was verified. A timeout, an early end of the connection and a busy server are retried.

    Args:
        url: Address of the file, http or https.
        target: Path to write.
        sha256: Expected checksum in hexadecimal digits.
        size: Expected number of bytes, if known.
        timeout: Seconds without data after which the connection is closed.
        retries: Number of further attempts.
        backoff: Pause in seconds before the first retry; doubled for each further one.
        on_progress: Called with the number of bytes after each block.

    Returns:
        ``target``.

    Raises:
        DownloadError: The file cannot be downloaded or has another checksum.
        InputError: The URL is invalid or the file cannot be written.
    """
    _check_url(url)
    part = target.with_name(target.name + ".part")
    try:
        if target.is_file() and file_sha256(target) == sha256:
            return target
        part.parent.mkdir(parents=True, exist_ok=True)
        reason = ""
        for attempt in range(retries + 1):
            if attempt:
                time.sleep(backoff * 2 ** (attempt - 1))
            resumed = _length(part) > 0
            try:
                _transfer(url, part, target.name, size, timeout, on_progress)
            except _InterruptedError as interruption:
                reason = str(interruption)
                continue
            found = file_sha256(part)
            if found == sha256:
                move_into_place(part, target)
                return target
            part.unlink()
            if not resumed:
                raise DownloadError(
                    "corrupted download, removed", file=url, field="sha256", found=found, expected=sha256
                )
            reason = "the resumed part did not match"  # retry from the start
        partial_bytes = _length(part)
    except OSError as error:  # network errors were converted to _InterruptedError: this one is from the disk
        raise InputError(f"cannot be written: {error.strerror}", file=error.filename or part) from None
    resume = f"; {partial_bytes} bytes are kept, run the same command again to resume" if partial_bytes else ""
    raise DownloadError(f"download failed after {retries + 1} tries: {reason}{resume}", file=url)


def file_sha256(path: Path) -> str:
    """sha256 of the content of a file in hexadecimal digits."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _transfer(
    url: str, part: Path, name: str, size: int | None, timeout: float, on_progress: OnProgress | None
) -> None:
    """Downloads the missing bytes of ``part``."""
    held = _length(part)
    if size is not None and held >= size:
        if held == size:
            return
        held = 0
    response = _open_url(url, held, timeout)
    if response is None:
        return
    with response:
        if response.status != 206:  # the server ignored the requested range
            held = 0
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {held}-"):
            part.unlink(missing_ok=True)
            raise _InterruptedError("the server returned another range than requested")
        announced = response.headers.get("Content-Length", "")
        total = held + int(announced) if announced.isdecimal() else None
        if total is not None and size is not None and total != size:
            part.unlink(missing_ok=True)
            raise DownloadError(
                "the server returned another file", file=url, found=f"{total} bytes", expected=f"{size} bytes"
            )
        total = size if total is None else total
        with part.open("ab" if held else "wb") as out:
            # Stop by length, not by the end of the connection: some servers keep it open.
            while total is None or held < total:
                block = _read_block(response, _BLOCK if total is None else min(_BLOCK, total - held), timeout)
                if not block:
                    break
                out.write(block)
                held += len(block)
                if on_progress is not None:
                    on_progress(Progress(name, held, total or 0, "bytes"))
    if total is not None and held < total:
        raise _InterruptedError(f"the connection closed after {held} of {total} bytes")


def _open_url(url: str, held: int, timeout: float) -> http.client.HTTPResponse | None:
    """The response for the bytes after the first ``held``; None if the server reports that there are no more."""
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
        if error.code in _RETRIED_STATUS:
            raise _InterruptedError(f"the server responded with {answer}") from None
        refusal = DownloadError(f"the server refused the file: {answer}", file=url)
        refusal.status = error.code
        raise refusal from None
    except (OSError, http.client.HTTPException) as error:
        raise _InterruptedError(_reason(error, timeout)) from None
    return response


def _read_block(response: http.client.HTTPResponse, most: int, timeout: float) -> bytes:
    try:
        return response.read1(most)
    except (OSError, http.client.HTTPException) as error:
        raise _InterruptedError(_reason(error, timeout)) from None


def _reason(error: Exception, timeout: float) -> str:
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(cause, TimeoutError):
        return f"no data for {timeout:g} s"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__


def _length(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        parts.port  # noqa: B018 - raises if it is not a number
    except ValueError:
        valid = False
    if not valid or any(character.isspace() for character in url):
        raise InputError("not a URL", found=url, expected="http:// or https:// and a host")
    if not url.isascii():
        raise InputError("not a URL", found=url, expected="ASCII, other characters as %XX (xn-- in a host)")
