"""What several rooms of the tests need: where the public benchmarks are, and how hypothesis behaves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Tests run side by side and their tensors are tiny: more threads would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

settings.register_profile("fitcarl", deadline=None, max_examples=60, print_blob=True, derandomize=True)
settings.load_profile("fitcarl")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is trained here is found again here only, and the user's own cache is left alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_HOME", str(tmp_path_factory.mktemp("home")))
        yield


def _benchmarks() -> Path | None:
    given = os.environ.get("FITCARL_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    return folder if folder.is_dir() else None


@pytest.fixture(scope="session")
def benchmarks() -> Path:
    """The folder with the public benchmarks; a test that asks for it is skipped where there is none."""
    folder = _benchmarks()
    if folder is None:
        pytest.skip("the public benchmarks are not here: set FITCARL_DATA to a folder that holds icews14-oog and raw")
    return folder
