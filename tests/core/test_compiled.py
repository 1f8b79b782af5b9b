"""Compiled loops without reference counts, and the cache of compiled code."""

from __future__ import annotations

import errno
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import jit

import fitcarl
from fitcarl.core.compiled import array_function, cache_problem, loop
from tests.namespace import READ_ONLY, namespace


class Columns(NamedTuple):
    values: np.ndarray
    totals: np.ndarray


@loop()
def _add(columns: Columns, position: int, value: float) -> int:
    columns.totals[position] += value * columns.values[position]
    return position + 1


@loop()
def _add_all(columns: Columns, value: float) -> None:
    position = 0
    while position < len(columns.values):
        position = _add(columns, position, value)


@loop(inner=True)
def _twice(values: np.ndarray, position: int) -> int:
    return values[position] * 2


@loop()
def _twice_first(values: np.ndarray, index: np.ndarray) -> int:
    return _twice(values, 0) + _twice(values, index[0])


def test_an_inner_loop_can_be_called_from_python_too() -> None:
    values, index = np.array([3, 4]), np.array([1], dtype=np.int32)
    assert _twice_first(values, index) == 14
    assert [_twice(values, position) for position in (0, 1, 1)] == [6, 8, 8]
    assert _twice_first(values, index) == 14


def test_an_inner_loop_is_compiled_once_for_all_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without a cache: callers whose code is cached do not compile what they call.
    monkeypatch.setattr("fitcarl.core.compiled._problem_of", lambda _: "not cached in this test")
    twice = loop(inner=True)(_twice.py_func)  # type: ignore[attr-defined]

    @loop()
    def twice_first(values: np.ndarray, index: np.ndarray) -> int:
        return twice(values, 0) + twice(values, index[0])

    values = np.array([3, 4])
    for kind in (np.int8, np.int32, np.int64):
        assert twice_first(values, np.array([1], dtype=kind)) == 14
    assert len(twice.overloads) == 1


def test_a_loop_writes_to_its_arguments() -> None:
    columns = Columns(np.arange(4.0), np.zeros(4))
    before = [sys.getrefcount(array) for array in columns]
    _add_all(columns, 2.0)
    assert columns.totals.tolist() == [0, 2, 4, 6]
    assert [sys.getrefcount(array) for array in columns] == before


def test_a_loop_counts_no_references() -> None:
    fresh = jit(**_add_all.targetoptions)(_add_all.py_func)  # code from the cache cannot be inspected
    fresh(Columns(np.arange(4.0), np.zeros(4)), 2.0)
    assert "NRT_incref" not in "".join(fresh.inspect_llvm().values())


def test_every_file_of_the_package_may_be_a_cache_folder() -> None:
    assert cache_problem(Path(fitcarl.__file__).parent / "graph" / "__pycache__") is None


@pytest.mark.skipif(os.name != "posix", reason="folders have no modes")
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o757])
def test_cache_that_other_users_can_write_is_refused(mode: int, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    assert cache_problem(shared) == f"{shared} can be written by other users"
    shared.chmod(0o700)
    cache_problem.cache_clear()
    assert cache_problem(shared) is None


@pytest.mark.skipif(os.name != "posix", reason="folders have no modes")
def test_cache_below_a_folder_that_other_users_can_write_is_refused(tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "cache").mkdir(parents=True)
    above.chmod(0o777)
    assert cache_problem(above / "cache") == f"{above} can be written by other users"
    above.chmod(0o1777)  # as /tmp: others can add files but not replace this one
    cache_problem.cache_clear()
    assert cache_problem(above / "cache") is None


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can give folders away")
def test_cache_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    os.chown(tmp_path / "cache", 12345, 12345)
    assert cache_problem(tmp_path / "cache") == f"{tmp_path / 'cache'} belongs to another user"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can change groups")
def test_cache_that_another_group_can_write_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    os.chown(tmp_path / "cache", 0, 12345)
    (tmp_path / "cache").chmod(0o770)
    assert cache_problem(tmp_path / "cache") == f"{tmp_path / 'cache'} can be written by other users"


_USE = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np
from fitcarl.core.compiled import cache_folder, why_not_cached
from fitcarl.graph.kernels import stable_order
print(cache_folder(stable_order), why_not_cached(stable_order))
"""


def _used(*before: str, **environment: str) -> tuple[str, str]:
    command = [*before, sys.executable, "-c", _USE]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.mark.skipif(os.name != "posix", reason="folders have no modes")
def test_shared_cache_is_not_used_and_the_reason_is_logged_once(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    out, err = _used(NUMBA_CACHE_DIR=str(tmp_path))
    assert out.startswith(f"None {tmp_path}")
    assert out.endswith("can be written by other users")
    assert err.count("compiled loops are not cached") == 1
    assert not list(tmp_path.rglob("*.nbi"))


def test_private_cache_is_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    out, err = _used(NUMBA_CACHE_DIR=str(tmp_path))
    assert out.startswith(str(tmp_path))
    assert out.endswith(" None")
    assert "not cached" not in err


def test_read_only_installation_without_home_works_without_cache() -> None:
    before = [*namespace(), READ_ONLY.format(folder=Path(fitcarl.__file__).parents[1]), "sh"]
    out, err = _used(*before, HOME="/proc/none", XDG_CACHE_HOME="/proc/none", NUMBA_CACHE_DIR="")
    assert out == "None no folder for them can be written"
    assert err.count("compiled loops are not cached") == 1


_INNER = """
from fitcarl.core.compiled import loop
FACTOR = 2
@loop(inner=True)
def times(value: int) -> int:
    return FACTOR * value
"""
_MIDDLE = """
from enum import IntEnum
from typing import NamedTuple
STEP = 10
class Place(IntEnum):
    FIRST = 100
class Pair(NamedTuple):
    left: int
    right: int
"""
_OUTER = """
from changing_inner import times
from changing_middle import STEP, Pair, Place
from fitcarl.core.compiled import loop
@loop()
def total(pair: Pair) -> int:
    return times(pair.left) + STEP + Place.FIRST
"""


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("inner", "FACTOR *", "7 + FACTOR *", 123),
        ("inner", "FACTOR = 2", "FACTOR = 200", 710),
        ("middle", "STEP = 10", "STEP = 1000", 1106),
        ("middle", "= 100", "= 10_000", 10016),
        ("middle", "left: int\n    right: int", "right: int\n    left : int", 118),
        ("middle", "STEP = 10", "STEP  = 10", 116),
    ],
)
def test_cached_code_notices_changes_of_all_that_it_is_made_from(
    name: str, before: str, after: str, expected: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("numba.core.config.CACHE_DIR", "")

    def total(**texts: str) -> tuple[int, bool]:
        """What the modules compute, and whether the code was in the cache."""
        for part, text in texts.items():
            (tmp_path / f"changing_{part}.py").write_text(text)
            sys.modules.pop(f"changing_{part}", None)
        sys.modules.pop("changing_outer", None)
        importlib.invalidate_caches()
        outer, middle = (importlib.import_module(f"changing_{part}") for part in ("outer", "middle"))
        return outer.total(middle.Pair(3, 4)), bool(outer.total.stats.cache_hits)

    try:
        texts = {"inner": _INNER, "middle": _MIDDLE, "outer": _OUTER}
        assert total(**texts) == (116, False)
        assert total(**texts) == (116, True)
        assert total(**{name: texts[name].replace(before, after)}) == (expected, expected == 116)
    finally:
        for part in ("inner", "middle", "outer"):
            sys.modules.pop(f"changing_{part}", None)


def test_cache_that_cannot_be_read_or_written_is_not_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    @array_function()
    def double(value: float) -> float:
        return 2 * value

    cache = double._cache  # type: ignore[attr-defined]

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cache._cache_file, "load", full)
    monkeypatch.setattr(cache._cache_file, "save", full)
    assert double(2.0) == 4.0
