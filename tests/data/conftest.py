"""A small dataset's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.dataset_folder import FILES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small dataset, as a folder that a test may spoil."""
    place = tmp_path / "small"
    place.mkdir()
    for name, content in FILES.items():
        (place / name).write_bytes(content.encode())
    return place
