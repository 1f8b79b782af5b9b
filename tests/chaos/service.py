"""A service process that can be killed and started again at the same port, and its worker processes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

START_SECONDS = 120.0
STOP_SECONDS = 60.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServiceProcess:
    """``fitcarl serve`` on the loopback interface.

    Args:
        run: Run folder.
        store: File or URL of the store.
        log: File for the messages of the service.
    """

    def __init__(self, run: Path, store: str, log: Path) -> None:
        self.port = free_port()
        self.log = log
        self._command = [sys.executable, "-m", "fitcarl", "serve", str(run), "--port", str(self.port)]
        self._command += ["--store", store, "--workers", "2"]
        self.process: subprocess.Popen[bytes] | None = None
        self.down_since = time.monotonic()
        """Last time at which the service was not known to run."""
        self.available = False

    def start(self) -> None:
        """Starts the process and waits until it is healthy."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=log)
        end = time.monotonic() + START_SECONDS
        while not self._healthy():
            if self.process.poll() is not None or time.monotonic() > end:
                text = self.log.read_text(errors="replace")[-1000:]
                raise RuntimeError(f"the service did not start (exit code {self.process.poll()}): {text}")
            time.sleep(0.1)
        self.down_since = time.monotonic()
        self.available = True

    def _healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v1/health", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def was_down(self, since: float) -> bool:
        """Whether the service may have been down at some time since then."""
        return not self.available or self.down_since >= since

    def kill(self) -> int:
        """``kill -9``; returns the exit code. Workers end by themselves."""
        return self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; returns the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        assert self.process is not None
        self.available = False
        self.process.send_signal(how)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return 1000  # not an exit code: it did not end

    def workers(self) -> list[int]:
        """Process ids of the workers."""
        assert self.process is not None
        return children(self.process.pid)

    def memory_mb(self) -> float:
        """Proportional memory of the service and its workers."""
        assert self.process is not None
        return sum(proportional_mb(pid) for pid in [self.process.pid, *self.workers()])


def children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "stat").read_text().rpartition(")")[2].split()[1] == str(parent):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def proportional_mb(pid: int) -> float:
    """Memory of a process, with pages that are shared counted in part; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
