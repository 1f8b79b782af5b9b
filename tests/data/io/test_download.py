"""Downloads from a local server that stalls, truncates, corrupts and ignores ranges."""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from fitcarl.core.progress import Progress
from fitcarl.data.io.download import DownloadError, fetch
from fitcarl.errors import InputError

CONTENT = bytes(range(256)) * 1200  # more than one block of the transfer
SHA256 = hashlib.sha256(CONTENT).hexdigest()
HALF = len(CONTENT) // 2

Answer = Callable[["Handler"], None]


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers each request with the next response of the server's script, then repeats the last one."""

    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.headers.get("Range"))
        script = self.server.script
        answer = script.pop(0) if len(script) > 1 else script[0]
        with contextlib.suppress(ConnectionError):  # the client may have disconnected
            answer(self)

    def log_message(self, *_: object) -> None:
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Answer] = []
        self.asked: list[str | None] = []
        self.url = f"http://127.0.0.1:{self.server_port}/facts.txt"
        self.closing = threading.Event()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Server()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield running
    running.closing.set()
    running.shutdown()
    running.server_close()
    thread.join()


def start_of(handler: Handler) -> int:
    requested_range = handler.headers.get("Range")
    return int(requested_range.removeprefix("bytes=").removesuffix("-")) if requested_range else 0


def head(handler: Handler, length: int | None, start: int = 0, total: int = len(CONTENT)) -> None:
    handler.send_response(206 if start else 200)
    if length is not None:
        handler.send_header("Content-Length", str(length))
    if start:
        handler.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
    handler.end_headers()


def good(handler: Handler) -> None:
    start = start_of(handler)
    head(handler, len(CONTENT) - start, start)
    handler.wfile.write(CONTENT[start:])


def truncated(handler: Handler) -> None:
    """Announces all remaining bytes and closes after half of them."""
    start = start_of(handler)
    left = CONTENT[start:]
    head(handler, len(left), start)
    handler.wfile.write(left[: len(left) // 2])


def truncated_without_length(handler: Handler) -> None:
    head(handler, None)
    handler.wfile.write(CONTENT[:HALF])


def stalling(handler: Handler) -> None:
    """Sends half of the remaining bytes, then stalls."""
    start = start_of(handler)
    left = CONTENT[start:]
    head(handler, len(left), start)
    handler.wfile.write(left[: len(left) // 2])
    handler.wfile.flush()
    handler.server.closing.wait(5)


def silent(handler: Handler) -> None:
    handler.server.closing.wait(5)


def corrupted(handler: Handler) -> None:
    start = start_of(handler)
    head(handler, len(CONTENT) - start, start)
    handler.wfile.write((b"\xff" + CONTENT[1:])[start:])


def ignoring_range(handler: Handler) -> None:
    head(handler, len(CONTENT))
    handler.wfile.write(CONTENT)


def starting_elsewhere(handler: Handler) -> None:
    start = max(start_of(handler) - 7, 1)
    head(handler, len(CONTENT) - start, start)
    handler.wfile.write(CONTENT[start:])


def left_open(handler: Handler) -> None:
    """Sends everything but keeps the connection open."""
    good(handler)
    handler.wfile.flush()
    handler.server.closing.wait(5)


def page_of_a_portal(handler: Handler) -> None:
    head(handler, 13)
    handler.wfile.write(b"<html></html>")


def status(code: int) -> Answer:
    return lambda handler: handler.send_error(code)


quick = partial(fetch, sha256=SHA256, size=len(CONTENT), timeout=0.2, retries=3, backoff=0.0)


def test_file_is_downloaded_without_leftovers(server: Server, tmp_path: Path) -> None:
    server.script = [good]
    target = tmp_path / "new" / "facts.txt"
    assert quick(server.url, target) == target
    assert target.read_bytes() == CONTENT
    assert list(target.parent.iterdir()) == [target]


def test_existing_file_is_not_requested_again(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "facts.txt"
    target.write_bytes(CONTENT)
    quick(server.url, target)
    assert server.asked == []


def test_file_with_other_content_is_replaced(server: Server, tmp_path: Path) -> None:
    server.script = [good]
    target = tmp_path / "facts.txt"
    target.write_bytes(CONTENT[:-1])
    assert quick(server.url, target).read_bytes() == CONTENT


@pytest.mark.parametrize("broken", [truncated, stalling, truncated_without_length])
def test_interrupted_transfer_is_resumed(server: Server, tmp_path: Path, broken: Answer) -> None:
    server.script = [broken, good]
    assert quick(server.url, tmp_path / "facts.txt").read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={HALF}-"]


def test_next_call_resumes_a_partial_download(server: Server, tmp_path: Path) -> None:
    target, part = tmp_path / "facts.txt", tmp_path / "facts.txt.part"
    server.script = [stalling]
    with pytest.raises(DownloadError, match=r"after 1 tries: no data for 0\.2 s; 153600 bytes are kept"):
        quick(server.url, target, retries=0)
    assert not target.exists()
    assert part.read_bytes() == CONTENT[:HALF]
    server.script = [good]
    assert quick(server.url, target).read_bytes() == CONTENT
    assert server.asked == [None, f"bytes={HALF}-"]
    assert not part.exists()


@pytest.mark.parametrize("forgetful", [ignoring_range, starting_elsewhere])
def test_server_without_range_support_restarts_the_download(server: Server, tmp_path: Path, forgetful: Answer) -> None:
    server.script = [truncated, forgetful, good]
    assert quick(server.url, tmp_path / "facts.txt").read_bytes() == CONTENT


def test_corrupted_file_is_removed_and_reported(server: Server, tmp_path: Path) -> None:
    server.script = [corrupted]
    with pytest.raises(DownloadError, match="corrupted download, removed") as caught:
        quick(server.url, tmp_path / "facts.txt")
    assert "\n" not in str(caught.value)
    assert server.url in str(caught.value)
    assert SHA256 in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_corrupted_partial_file_is_discarded(server: Server, tmp_path: Path) -> None:
    (tmp_path / "facts.txt.part").write_bytes(b"\0" * HALF)
    server.script = [good]
    assert quick(server.url, tmp_path / "facts.txt").read_bytes() == CONTENT
    assert server.asked == [f"bytes={HALF}-", None]


@pytest.mark.parametrize("beginning", [CONTENT, b"\0" * len(CONTENT), CONTENT + b"more"])
def test_complete_partial_file_is_verified(server: Server, tmp_path: Path, beginning: bytes) -> None:
    (tmp_path / "facts.txt.part").write_bytes(beginning)
    server.script = [good]
    assert quick(server.url, tmp_path / "facts.txt").read_bytes() == CONTENT
    assert server.asked == ([] if beginning == CONTENT else [None])


@pytest.mark.parametrize("beginning", [CONTENT, b"\0" * len(CONTENT)])
def test_range_not_satisfiable_is_decided_by_the_checksum(server: Server, tmp_path: Path, beginning: bytes) -> None:
    (tmp_path / "facts.txt.part").write_bytes(beginning)
    server.script = [status(416), good]
    assert quick(server.url, tmp_path / "facts.txt", size=None).read_bytes() == CONTENT
    assert server.asked == [f"bytes={len(CONTENT)}-"] + ([] if beginning == CONTENT else [None])


@pytest.mark.parametrize("code", [500, 502, 503, 504, 429])
def test_busy_server_is_retried(server: Server, tmp_path: Path, code: int) -> None:
    server.script = [status(code), status(code), good]
    assert quick(server.url, tmp_path / "facts.txt").read_bytes() == CONTENT
    assert len(server.asked) == 3


@pytest.mark.parametrize("code", [403, 404, 410])
def test_missing_file_is_requested_once(server: Server, tmp_path: Path, code: int) -> None:
    server.script = [status(code)]
    with pytest.raises(DownloadError, match=f"facts.txt: the server refused the file: HTTP {code}"):
        quick(server.url, tmp_path / "facts.txt")
    assert len(server.asked) == 1
    assert list(tmp_path.iterdir()) == []


def test_retries_are_limited_and_pauses_grow(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    server.script = [status(503)]
    with pytest.raises(DownloadError, match="after 4 tries: the server responded with HTTP 503"):
        quick(server.url, tmp_path / "facts.txt", backoff=1.5)
    assert pauses == [1.5, 3.0, 6.0]
    assert len(server.asked) == 4


def test_unresponsive_server_times_out(server: Server, tmp_path: Path) -> None:
    server.script = [silent]
    with pytest.raises(DownloadError, match=r"after 2 tries: no data for 0\.1 s$"):
        quick(server.url, tmp_path / "facts.txt", timeout=0.1, retries=1)


def test_connection_left_open_does_not_block(server: Server, tmp_path: Path) -> None:
    server.script = [left_open]
    assert quick(server.url, tmp_path / "facts.txt").read_bytes() == CONTENT
    assert len(server.asked) == 1


def test_file_of_another_size_is_not_downloaded(server: Server, tmp_path: Path) -> None:
    server.script = [page_of_a_portal]
    with pytest.raises(DownloadError, match="another file; found '13 bytes'; expected 307200 bytes"):
        quick(server.url, tmp_path / "facts.txt")
    assert list(tmp_path.iterdir()) == []


def test_refused_connection_is_reported_in_one_line(server: Server, tmp_path: Path) -> None:
    server.script = [good]
    unused = "http://127.0.0.1:1/facts.txt"
    with pytest.raises(
        DownloadError, match=r"^http://127\.0\.0\.1:1/facts\.txt: download failed .*: Connection refused$"
    ):
        quick(unused, tmp_path / "facts.txt")


def test_progress_ascends_to_the_size(server: Server, tmp_path: Path) -> None:
    server.script = [truncated, good]
    seen: list[Progress] = []
    quick(server.url, tmp_path / "facts.txt", on_progress=seen.append)
    assert [update.done for update in seen] == sorted({update.done for update in seen})
    assert seen[-1] == Progress("facts.txt", len(CONTENT), len(CONTENT), "bytes")


@pytest.mark.parametrize(
    "url",
    [
        *("facts.txt", "file:///etc/hosts", "http://", "http://host:port/x", "http://a b/c"),
        *("http://localhost/büro", "http://bücher.example/x"),
    ],
)
def test_invalid_url_is_rejected(tmp_path: Path, url: str) -> None:
    with pytest.raises(InputError, match="not a URL"):
        quick(url, tmp_path / "facts.txt")


def test_unwritable_folder_is_not_reported_as_a_download_error(server: Server, tmp_path: Path) -> None:
    server.script = [good]
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written") as caught:
        quick(server.url, tmp_path / "file" / "facts.txt")
    assert not isinstance(caught.value, DownloadError)
