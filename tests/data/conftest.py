"""Fixture of a small dataset folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.data.dataset_folder import FILES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small dataset folder that a test may modify."""
    place = tmp_path / "small"
    place.mkdir()
    for name, content in FILES.items():
        (place / name).write_bytes(content.encode())
    return place
