"""The identity of a run: equal for two runs that give the same answers."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from safetensors import SafetensorError, safe_open

from fitcarl.errors import InputError
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.manifest import read_manifest, verified_manifest


def run_identity(folder: RunFolder) -> str:
    """sha256 of the settings, the names, the graph, the weights and whatever else the answers of a run depend on.

    It is in the manifest of a finished run. Of others, tensors and the graph contribute the checksums in their headers,
    so that large files are not read: opening the run compares these with the content.

    Args:
        folder: The run, with its last update or as it was trained.

    Raises:
        InputError: If a file is missing or damaged.
    """
    read = read_manifest if folder.verified else verified_manifest
    manifest = read(folder.path, folder.update)
    if manifest is not None:
        return manifest.run
    files = [folder.config, folder.data, folder.vocabulary, folder.graph / "graph.json"]
    files += [file for file in (folder.calibration, folder.open_queries) if file.exists()]
    sha = hashlib.sha256()
    for file in files:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise InputError(f"cannot be read ({error.strerror})", file=file, expected="a file of the run") from None
        sha.update(f"{file.name} {hashlib.sha256(content).hexdigest()}\n".encode())
    names = {file.stem for path in _folders(folder) for file in path.glob("*.safetensors")}
    for name in sorted(names - {folder.state.stem}):
        file = folder.artifacts.path(name)
        try:
            with safe_open(file, framework="numpy") as stored:
                checksum = json.loads((stored.metadata() or {})["fitcarl"])["sha256"]
        except (OSError, SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"cannot be read ({error})", file=file, expected="a safetensors file") from None
        sha.update(f"{name} {checksum}\n".encode())
    return sha.hexdigest()


def _folders(folder: RunFolder) -> tuple[Path, ...]:
    return (folder.artifacts.folder, *folder.artifacts.newer)
