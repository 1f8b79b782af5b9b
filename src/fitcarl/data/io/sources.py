"""Where facts come from: a file of facts, or a dataset."""

from __future__ import annotations

from pathlib import Path

from fitcarl.data.io.formats import ENDINGS
from fitcarl.data.io.registry import REGISTRY


def is_facts(data: str | Path) -> bool:
    """Whether this is a file of facts, or named like one, rather than a dataset.

    Args:
        data: A path, or a registered name.
    """
    path = Path(data).expanduser()
    file = path.is_file() or (path.suffix.lower() in ENDINGS and not path.is_dir())
    return file and str(data) not in REGISTRY
