"""Shared fixtures: public benchmarks, cache directory and hypothesis profile."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Tests run in parallel with tiny tensors: more threads per test would slow them down.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("fitcarl", deadline=None, max_examples=60, print_blob=True, derandomize=True)
settings.load_profile("fitcarl")


@pytest.fixture(scope="session", autouse=True)
def _temporary_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Uses a temporary cache directory instead of the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_HOME", str(tmp_path_factory.mktemp("home")))
        yield


def _benchmarks() -> Path | None:
    given = os.environ.get("FITCARL_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder of the public benchmarks; tests that need it are skipped if it is missing."""
    folder = _benchmarks()
    if folder is None:
        pytest.skip("no public benchmarks: set FITCARL_DATA to a folder that contains icews14-oog and raw")
    return folder
