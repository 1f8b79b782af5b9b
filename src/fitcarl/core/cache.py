"""The cache directory: downloads, datasets, trained encoders and embeddings."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_dir() -> Path:
    """The cache directory of this user: ``$FITCARL_HOME`` if set, otherwise the platform's cache folder.

    Not platformdirs: its three platform rules are the seven lines below, and one dependency less is installed.
    """
    override = os.environ.get("FITCARL_HOME")
    if override:
        return Path(override).expanduser()
    if sys.platform == "win32":
        caches = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        caches = Path.home() / "Library" / "Caches"
    else:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "fitcarl"
