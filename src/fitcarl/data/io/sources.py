"""Where facts come from: a file of facts, or a dataset."""

from __future__ import annotations

from pathlib import Path

from fitcarl.data.io.benchmark_folder import is_benchmark_folder
from fitcarl.data.io.formats import ENDINGS
from fitcarl.data.io.registry import REGISTRY
from fitcarl.data.io.source import is_stdin


def is_facts(data: str | Path) -> bool:
    """Whether this is a file or folder of facts, or named like a file, rather than a dataset.

    Args:
        data: A path, or a registered name.
    """
    path = Path(data).expanduser()
    file = path.is_file() or (path.suffix.lower() in ENDINGS and not path.is_dir())
    return (file or is_stdin(path) or is_benchmark_folder(path)) and str(data) not in REGISTRY
