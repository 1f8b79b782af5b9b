"""``fitcarl serve`` as a process: readiness, graceful shutdown and durable facts."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from fitcarl import cli
from fitcarl.errors import InputError
from fitcarl.serve.server import address_of, listen

FACT = {"subject": "Harbour Union", "relation": "Consult", "object": "Peliland", "time": "2023-05-01"}
QUERY = {"subject": "Harbour Union", "relation": "Consult", "at": "2023-06-01"}


class Served:
    """A running ``fitcarl serve`` and its address."""

    def __init__(self, *arguments: str, workers: int = 1, prefix: tuple[str, ...] = (), **environment: str) -> None:
        line = [*prefix, sys.executable, "-m", "fitcarl", "serve", *arguments]
        line += ["--port", "0", "--workers", str(workers)]
        inherited = {name: value for name, value in os.environ.items() if name != "FITCARL_TOKEN"}
        self.process = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**inherited, **environment}
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def ask(self, method: str, path: str, body: object = None, token: str = "") -> tuple[int, Any]:
        connection = http.client.HTTPConnection(urlsplit(self.address).netloc, timeout=30)
        content = None if body is None else json.dumps(body)
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        connection.request(method, path, content, headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text)

    def end(self, how: signal.Signals) -> tuple[int, str]:
        """Sends a signal; returns the exit code and stderr."""
        self.process.send_signal(how)
        _, stderr = self.process.communicate(timeout=30)
        return self.process.returncode, stderr


Start = Callable[..., Served]


@pytest.fixture
def start() -> Iterator[Start]:
    served: list[Served] = []

    def begin(*arguments: object, **options: Any) -> Served:
        served.append(Served(*map(str, arguments), **options))
        return served[-1]

    yield begin
    for one in served:
        if one.process.poll() is None:
            one.process.kill()
        one.process.communicate()


def test_acknowledged_facts_survive_sigkill(start: Start, run: Path, tmp_path: Path) -> None:
    store = tmp_path / "observed.sqlite"
    first = start(run, "--store", store)
    assert first.address.startswith("http://127.0.0.1:")
    assert first.ask("GET", "/v1/health") == (200, {"status": "ok"})
    status, stored = first.ask("POST", "/v1/observe", {"facts": [FACT]})
    assert status == 201
    first.end(signal.SIGKILL)

    second = start(run, "--store", store, "--host", "0.0.0.0")
    assert second.ask("GET", "/v1/actors/Harbour%20Union")[1]["facts"] == stored["facts"]
    assert second.ask("POST", "/v1/predict", QUERY)[0] == 200
    assert_graceful_shutdown(second, signal.SIGINT)


@pytest.mark.slow
def test_sigterm_finishes_running_requests(start: Start, run: Path, tmp_path: Path) -> None:
    assert_graceful_shutdown(start(run, "--store", tmp_path / "s.sqlite", "--host", "0.0.0.0"), signal.SIGTERM)


def assert_graceful_shutdown(served: Served, how: signal.Signals) -> None:
    """A request that is running when the signal arrives is answered; then the process exits with code 0."""
    body = json.dumps({**QUERY, "facts": [FACT]}).encode()
    connection = http.client.HTTPConnection(urlsplit(served.address).netloc, timeout=30)
    connection.putrequest("POST", "/v1/predict")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body[:10])
    time.sleep(0.2)  # the head has arrived
    served.process.send_signal(how)
    time.sleep(0.5)
    connection.send(body[10:])
    assert connection.getresponse().status == 200
    connection.close()
    _, stderr = served.process.communicate(timeout=30)
    assert served.process.returncode == 0
    assert "warning: everyone who can reach 0.0.0.0" in stderr
    assert "Traceback" not in stderr


def test_file_of_tokens_separates_clients(start: Start, run: Path, tmp_path: Path) -> None:
    tokens, alice, bob = tmp_path / "tokens.toml", "a" * 20, "b" * 20
    entries = [("alice", alice, '["read", "observe"]'), ("bob", bob, '["read"]')]
    text = "\n".join(
        f'[[tokens]]\nname = "{name}"\ntoken = "{token}"\nscopes = {scopes}' for name, token, scopes in entries
    )
    tokens.write_text(text)
    tokens.chmod(0o600)
    served = start(run, "--store", tmp_path / "s.sqlite", "--tokens", tokens)
    assert served.ask("GET", "/v1/ready") == (200, {"status": "ready"})
    assert served.ask("POST", "/v1/observe", {"facts": [FACT]}, alice)[0] == 201
    assert served.ask("POST", "/v1/observe", {"facts": [FACT]}, bob)[0] == 403
    assert served.ask("POST", "/v1/predict", QUERY, alice)[0] == 200
    assert served.ask("POST", "/v1/predict", QUERY, bob)[0] == 422
    assert served.ask("GET", "/v1/actors", None, bob) == (200, {"actors": []})
    assert served.ask("GET", "/v1/actors")[0] == 401


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--spaces", "shared"], "field --spaces: only with several tokens"),
        (["--tokens", "missing.toml"], "missing.toml: No such file"),
        (["--tokens", "tokens.toml", "--token", "x"], "field --tokens: two sources of tokens"),
        (["--tokens", "tokens.toml", "--spaces", "some"], "field --spaces: no such choice; found 'some'"),
        (["--token", 16 * "x" + " "], "field --token or FITCARL_TOKEN: invalid token"),
        (["--token", 15 * "x"], "invalid token; expected at least 16 visible ASCII characters"),
        (["--token", ""], "invalid token"),
    ],
)
def test_invalid_options_about_tokens_are_reported(
    options: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FITCARL_TOKEN", raising=False)
    assert cli.run(["serve", "no-run", *options]) == 2
    assert message in capsys.readouterr().err


def test_empty_variable_does_not_open_the_service(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FITCARL_TOKEN", "")
    for options in ([], ["--tokens", "tokens.toml"]):
        assert cli.run(["serve", "no-run", *options]) == 2
        assert "field FITCARL_TOKEN: empty token" in capsys.readouterr().err


@pytest.mark.parametrize("host", ["\udcff", "a..b", 64 * "a"])
def test_invalid_host_is_reported(host: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["serve", "no-run", "--host", host]) == 2
    error = capfd.readouterr().err
    assert "field --host: not a host name" in error
    assert error.count("\n") == 1


def test_occupied_port_is_reported() -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        assert address_of(taken, "127.0.0.1") == f"http://127.0.0.1:{port}"
        with pytest.raises(InputError, match=f"cannot listen at 127.0.0.1, port {port}"):
            listen("127.0.0.1", port)
    with pytest.raises(InputError, match=r"cannot listen at no\.such.host\.invalid"):
        listen("no.such.host.invalid", 0)
