"""Makes the input of a fault smaller: fewer edits, lines, options and bytes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz import mutate_edits, mutate_files
from tests.fuzz.findings import Findings
from tests.fuzz.limits import limit_memory, memory_folder
from tests.fuzz.oracle import Fault
from tests.fuzz.replay import replay, run_input
from tests.fuzz.targets import make_target

_IN_PROCESS_TRIALS = 400
_PROCESS_TRIALS = 12


def minimised(data: bytes, is_file: bool, shows: Callable[[bytes], bool], trials: int) -> bytes:
    """The smallest input found that still shows the fault.

    Args:
        data: The input.
        is_file: Whether it is a file with options, otherwise a list of edits.
        shows: Whether an input shows the fault.
        trials: Maximum number of inputs to try.
    """
    smaller = True
    while smaller:
        smaller = False
        for candidate in (_smaller_files if is_file else _smaller_edits)(data):
            if trials == 0:
                return data
            trials -= 1
            if len(candidate) < len(data) and shows(candidate):
                data, smaller = candidate, True
                break
    return data


def _smaller_edits(data: bytes) -> Iterator[bytes]:
    edits = mutate_edits.decode(data)
    for place in range(len(edits)):
        yield mutate_edits.encode(edits[:place] + edits[place + 1 :])


def _smaller_files(data: bytes) -> Iterator[bytes]:
    about, content = mutate_files.decode(data)
    options = about.get("options", {})
    for name in list(options) if isinstance(options, dict) else ():
        rest = {key: value for key, value in options.items() if key != name}
        yield mutate_files.encode({**about, "options": rest}, content)
    lines = content.split(b"\n")
    step = max(1, len(lines) // 2)
    while step and len(lines) > 1:
        for place in range(0, len(lines), step):
            yield mutate_files.encode(about, b"\n".join(lines[:place] + lines[place + step :]))
        step //= 2
    step = max(1, len(content) // 2)
    while step:
        for place in range(0, len(content), step):
            yield mutate_files.encode(about, content[:place] + content[place + step :])
        step //= 2


def minimise_all(home: Path, environment: dict[str, str]) -> None:
    """Minimises every finding: exceptions in one process per target, crashes and hangs in a process per trial.

    Args:
        home: Folder of the fuzzer's files.
        environment: Environment variables of the processes.
    """
    found = Findings(home / "findings").all()
    for target in sorted({target for target, _, _ in found}):
        command = [sys.executable, "-m", "tests.fuzz.minimise", target, str(home)]
        subprocess.run(command, env=environment, timeout=3600, capture_output=True)
    for target, fault, file in found:
        if _needs_process(fault) and file.stat().st_size < 100_000:

            def shows(data: bytes, target: str = target, fault: Fault = fault) -> bool:
                trial = home / "trial"
                trial.write_bytes(data)
                [result] = replay(target, home, [trial], environment)
                return result is not None and result.kind == fault.kind

            file.write_bytes(minimised(file.read_bytes(), target == "files", shows, _PROCESS_TRIALS))


def _needs_process(fault: Fault) -> bool:
    return fault.kind.startswith(("SIG", "exit code")) or fault.kind == "Hang"


def main(name: str, home: Path) -> None:
    with TemporaryDirectory(prefix="fitcarl-fuzz-", dir=memory_folder()) as folder:
        target = make_target(name, home, Path(folder), everything=True)
        run_input(target, target.seeds()[0])
        limit_memory()
        for owner, fault, file in Findings(home / "findings").all():
            if owner != name or _needs_process(fault):
                continue

            def shows(data: bytes, fault: Fault = fault) -> bool:
                result = run_input(target, data)
                return result is not None and result.key == fault.key

            file.write_bytes(minimised(file.read_bytes(), name == "files", shows, _IN_PROCESS_TRIALS))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
