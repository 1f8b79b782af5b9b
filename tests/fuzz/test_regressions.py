"""Inputs that showed a fault once show none; those that still do are listed in ``regressions/open.txt``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.oracle import Fault
from tests.fuzz.replay import run_input
from tests.fuzz.stored_inputs import faults, inputs, name_of, open_faults
from tests.fuzz.targets import NAMES, make_target

IN_PROCESS = "files"
"""Readers of files are fast, and none of their faults has ended a process."""


def cases(targets: list[str]) -> list[object]:
    """Parameters; a fault that is corrected must be taken from the list."""
    known = open_faults()
    listed = pytest.mark.xfail(reason="known fault, see regressions/open.txt", strict=True)
    files = [file for target in targets for file in inputs().get(target, ())]
    return [pytest.param(file, marks=[listed] if name_of(file) in known else [], id=name_of(file)) for file in files]


@pytest.mark.parametrize("file", cases([IN_PROCESS]))
def test_file_shows_no_fault(file: Path, tmp_path: Path) -> None:
    assert run_input(make_target(IN_PROCESS, tmp_path, tmp_path / "scratch"), file.read_bytes()) is None


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Fault | None]:
    return faults([target for target in inputs() if target != IN_PROCESS], tmp_path_factory.mktemp("fuzz"))


@pytest.mark.slow
@pytest.mark.parametrize("file", cases([name for name in NAMES if name != IN_PROCESS]))
def test_folder_shows_no_fault(file: Path, found: dict[str, Fault | None]) -> None:
    assert found[name_of(file)] is None


def test_open_faults_are_stored_inputs_of_known_targets() -> None:
    stored = {name_of(file) for files in inputs().values() for file in files}
    assert open_faults() <= stored
    assert set(inputs()) <= set(NAMES)
