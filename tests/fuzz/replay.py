"""Gives stored inputs to a target: ``python -m tests.fuzz.replay TARGET HOME INPUT...``, a line of JSON for each."""

from __future__ import annotations

import faulthandler
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.limits import limit_memory
from tests.fuzz.oracle import Fault, judge
from tests.fuzz.targets import Target, make_target

SECONDS = 10.0
"""CPU seconds that an input may take."""
_STARTED = "started"
_FRAME = re.compile(r'File ".*?/src/(fitcarl/.*?)", line (\d+)')


def replay(target: str, home: Path, inputs: Sequence[Path], environment: dict[str, str]) -> Iterator[Fault | None]:
    """The fault of each input, None where there is none; in processes of their own, which may crash.

    Args:
        target: Name of the target.
        home: Folder of the fuzzer's files.
        inputs: Files with inputs.
        environment: Environment variables of the processes.
    """
    rest = list(inputs)
    while rest:
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz.replay", target, str(home), *map(str, rest)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(("{", "null", '"'))]
        results = [line for line in lines if line != _STARTED]
        for result in results:
            yield None if result is None else Fault(**result)
        rest = rest[len(results) :]
        if not rest:
            return
        if _STARTED not in lines:
            raise RuntimeError(f"the target {target} does not start: {done.stderr[-2000:]}")
        yield _crash(done.returncode, done.stderr)
        rest = rest[1:]


def _crash(returncode: int, stderr: str) -> Fault:
    """The fault of a process that ended: by a signal, or because of the time that it took."""
    kind = "Hang" if "Timeout (" in stderr else f"exit code {returncode}"
    if returncode < 0:
        kind = signal.Signals(-returncode).name
    frame = _FRAME.search(stderr)
    return Fault(kind, f"{frame[1]}:{frame[2]}" if frame else "?", stderr[:300], stderr[:4000])


def run_input(target: Target, data: bytes) -> Fault | None:
    """The fault that an input shows, in this process."""
    started = time.process_time()
    try:
        target.run(data)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        fault = judge(error)
        if fault is not None:
            return fault
    took = time.process_time() - started
    return Fault("Hang", "?", f"{took:.1f} CPU seconds") if took > SECONDS else None


def main(name: str, home: Path, inputs: Sequence[Path]) -> None:
    with TemporaryDirectory(prefix="fitcarl-fuzz-") as scratch:
        target = make_target(name, home, Path(scratch), everything=True)
        run_input(target, target.seeds()[0])
        limit_memory()
        print(json.dumps(_STARTED), flush=True)
        for file in inputs:
            # A hang in compiled code reacts to nothing but CPU time: the signal ends the process.
            faulthandler.dump_traceback_later(6 * SECONDS, exit=True)
            fault = run_input(target, file.read_bytes())
            faulthandler.cancel_dump_traceback_later()
            print(json.dumps(None if fault is None else asdict(fault)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [Path(file) for file in sys.argv[3:]])
