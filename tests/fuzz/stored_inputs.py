"""Inputs that showed a fault once: ``python -m tests.fuzz.stored_inputs`` lists those that still do in ``open.txt``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz import seeds
from tests.fuzz.oracle import Fault
from tests.fuzz.replay import replay
from tests.fuzz.run import environment

FOLDER = Path(__file__).parent / "regressions"
OPEN = FOLDER / "open.txt"
"""Faults that are known and not yet corrected, one file per line."""


def inputs() -> dict[str, list[Path]]:
    """Files with inputs by target."""
    return {folder.name: sorted(folder.glob("*.input")) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()}


def name_of(file: Path) -> str:
    return file.relative_to(FOLDER).as_posix()


def open_faults() -> set[str]:
    """Names of the inputs that still show a fault."""
    return set(OPEN.read_text(encoding="utf-8").split()) if OPEN.exists() else set()


def faults(targets: Sequence[str], home: Path) -> dict[str, Fault | None]:
    """The fault of each input of some targets, None where there is none any more.

    Args:
        targets: Names of targets.
        home: Folder for the intact files.
    """
    seeds.prepare(home, targets)
    found: dict[str, Fault | None] = {}
    for target in targets:
        files = inputs()[target]
        results = replay(target, home, files, environment(home))
        found |= {name_of(file): fault for file, fault in zip(files, results, strict=True)}
    return found


def main() -> int:
    with TemporaryDirectory(prefix="fitcarl-fuzz-") as home:
        found = faults(list(inputs()), Path(home))
    shown = {name: fault for name, fault in found.items() if fault is not None}
    OPEN.write_text("".join(f"{name}\n" for name in sorted(shown)), encoding="utf-8")
    for name, fault in sorted(shown.items()):
        print(f"{name}: {fault.key}: {fault.message[:100]!r}")
    print(f"{len(shown)} of {len(found)} inputs show a fault")
    return 1 if shown else 0


if __name__ == "__main__":
    sys.exit(main())
