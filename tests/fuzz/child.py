"""One process of the fuzzer: ``python -m tests.fuzz.child TARGET HOME INPUTS SECONDS``.

Exceptions are recorded and fuzzing goes on. A crash of the process, a hang and memory beyond the limit end it, and the
engine leaves the input in ``HOME/artifacts`` for the parent.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

from tests.fuzz.limits import MEMORY, limit_memory, memory_folder

SOURCE = Path(__file__).parents[2] / "src"
HANG = 10
"""Seconds that an input may take."""
SLOW = 0.5
"""CPU seconds from which on an input is not kept in the corpus: it and its descendants would take most of the time."""
MAX_LENGTH = 4096
"""Bytes of an input."""


def compiled_modules() -> list[str]:
    """Modules with compiled loops: their bytecode must stay as it is."""
    files = [path for path in SOURCE.rglob("*.py") if "numba" in (text := path.read_text()) or "core.compiled" in text]
    return [".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in files]


def main(target_name: str, home: Path, inputs: int, seconds: int) -> None:
    with atheris.instrument_imports(include=["fitcarl"], exclude=compiled_modules()):
        from tests.fuzz.findings import Findings
        from tests.fuzz.replay import run_input
        from tests.fuzz.targets import make_target
    corpus, artifacts = home / "corpus" / target_name, home / "artifacts"
    corpus.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(parents=True, exist_ok=True)
    findings, counter, slow = Findings(home / "findings"), home / "count", home / "slow"
    with TemporaryDirectory(prefix="fitcarl-fuzz-", dir=memory_folder()) as scratch:
        target = make_target(target_name, home, Path(scratch))
        for name in slow.read_text().split() if slow.exists() else ():
            (corpus / name).unlink(missing_ok=True)  # the engine names a file by the sha1 of its content
        if not any(corpus.iterdir()):
            for number, seed in enumerate(target.seeds()):
                (corpus / f"seed-{number:03}").write_bytes(seed)
        target.run(target.seeds()[0])  # compiles loops before the limits hold
        done = 0

        def one_input(data: bytes) -> None:
            nonlocal done
            done += 1
            if done % 50 == 0:
                counter.write_text(str(done))
            if done % 20 == 0:
                gc.collect()  # loaded runs are cycles of objects
            began = time.process_time()
            fault = run_input(target, data)
            if time.process_time() - began > SLOW:
                with slow.open("a") as out:
                    out.write(hashlib.sha1(data).hexdigest() + "\n")
            if fault is not None and "llocat" in fault.message:
                gc.collect()
                fault = run_input(target, data)
            if fault is not None and findings.add(target_name, fault, data):
                sys.stderr.write(f"found {fault.key}: {fault.message[:200]!r}\n")

        def mutate(data: bytes, max_size: int, seed: int) -> bytes:
            return target.mutate(bytes(data), max_size, seed, lambda text, size: atheris.Mutate(text, size))

        def cross(one: bytes, other: bytes, max_size: int, seed: int) -> bytes:
            return target.cross(bytes(one), bytes(other), max_size, seed)

        gc.collect()
        gc.freeze()
        limit_memory()
        arguments = [sys.argv[0], str(corpus), f"-artifact_prefix={artifacts}/", f"-max_len={MAX_LENGTH}", "-reload=0"]
        arguments += [f"-runs={inputs}", f"-max_total_time={seconds}", f"-timeout={HANG}", "-print_final_stats=0"]
        arguments += [f"-rss_limit_mb={(MEMORY >> 20) + 1500}", "-verbosity=0", "-len_control=0"]
        atheris.Setup(arguments, one_input, custom_mutator=mutate, custom_crossover=cross)
        with contextlib.suppress(SystemExit):
            atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
