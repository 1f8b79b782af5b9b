"""The manifest of a run: sha256 and size of every file that its answers depend on. Read without the model."""

from __future__ import annotations

import hashlib
import logging
import stat
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import fitcarl
from fitcarl.core.files import read_json, write_json
from fitcarl.core.parallel import thread_count
from fitcarl.errors import InputError
from fitcarl.runs.history import history_file, read_history

MANIFEST = "manifest.json"
SIGNATURE = "manifest.sig"
_FORMAT = 1
_STATE = "state.safetensors"
_RESULT = "result.json"
_JSON = (
    *("config.json", "data.json", "vocabulary.json", "reading.json", "example.json"),
    *("calibration.json", "open_queries.json"),
)
"""Files of a run besides its graph and its tensors."""
_DEFERRED = "snapshot-"
"""Start of the names of files that few queries read: large, and compared with the manifest when they are read."""
_MAX_MANIFEST = 1 << 24
"""Bytes of a manifest: far more than the entries of a run need."""
_LISTED = 5
"""Files that an error names."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class FileRecord:
    """Content of one file."""

    sha256: str
    size: int


@dataclass(frozen=True)
class FileProblem:
    """A file that is not as the manifest says."""

    file: str
    """Path relative to the run folder."""
    problem: str


@dataclass(frozen=True)
class Manifest:
    """The files of a run as they were when its training or its last update ended."""

    files: Mapping[str, FileRecord]
    """Files that answers depend on, by path relative to the run folder."""
    others: Mapping[str, FileRecord] = field(default_factory=dict)
    """The checkpoint and the kept dataset, which answers do not depend on and which may be deleted."""
    updates: int = 0
    """Updates that have taken effect at least."""
    version: str = fitcarl.__version__
    """Version of fitcarl that wrote it."""

    @cached_property
    def run(self) -> str:
        """The identity of the run: sha256 of the names and checksums of the files that answers depend on."""
        names = {path: path.partition("/")[2] if path.startswith("update-") else path for path in self.files}
        lines = sorted(f"{names[path]} {record.sha256}\n" for path, record in self.files.items())
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    @cached_property
    def deferred(self) -> dict[str, str]:
        """Artifact → sha256 of the files whose content is not compared when a run is loaded, but when it is read."""
        return {Path(path).stem: record.sha256 for path, record in self.files.items() if _is_deferred(path)}

    def content(self) -> dict[str, Any]:
        """All that a signature covers."""
        parts = {"files": self.files, "others": self.others}
        records = {
            name: {path: [record.sha256, record.size] for path, record in sorted(part.items())}
            for name, part in parts.items()
        }
        return {"format": _FORMAT, "version": self.version, "run": self.run, **records}

    def write(self, folder: Path) -> None:
        """Writes the manifest atomically.

        Args:
            folder: The run folder, or the folder of an update inside it.
        """
        write_json(folder / MANIFEST, {**self.content(), "updates": self.updates})


def manifest_file(run: Path, update: str = "") -> Path:
    """The manifest of a run with an update, or as it was trained.

    Args:
        run: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.
    """
    return run / update / MANIFEST


def make_manifest(run: Path, update: str = "", updates: int = 0) -> Manifest:
    """The manifest of the files that are there.

    Args:
        run: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.
        updates: The number of updates.
    """
    answers, others = answer_files(run, update), _other_files(run)
    records = dict(zip([*answers, *others], _records(run, [*answers, *others]), strict=True))
    return Manifest({path: records[path] for path in answers}, {path: records[path] for path in others}, updates)


def read_manifest(run: Path, update: str = "") -> Manifest | None:
    """The manifest of a run; None if it has none.

    Args:
        run: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.

    Raises:
        InputError: If it is damaged.
    """
    file = manifest_file(run, update)
    if not file.exists():
        return None
    found = read_json(file, _MAX_MANIFEST)
    try:
        if found["format"] != _FORMAT:
            raise InputError("unknown format", file=file, found=str(found["format"])[:20], expected=str(_FORMAT))
        files, others = (_parse_records(found[name]) for name in ("files", "others"))
        updates, version = found["updates"], found["version"]
        if type(updates) is not int or updates < 0 or not isinstance(version, str):
            raise ValueError
        manifest = Manifest(files, others, updates, version)
        if found["run"] != manifest.run:
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("is damaged", file=file, expected="the manifest that `fitcarl train` wrote") from None
    return manifest


def verified_manifest(run: Path, update: str = "") -> Manifest | None:
    """The manifest of a run whose files, as far as answers depend on them, are as it says.

    Args:
        run: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.

    Returns:
        None if training has not ended, so that there is no manifest yet.

    Raises:
        InputError: If a file is missing, was added or has changed, or if a finished run has no manifest.
    """
    manifest = required_manifest(run, update)
    if manifest is None:
        _log.warning("%s: training has not ended, so shares are not calibrated and no manifest protects its files", run)
        return None
    raise_problems(run, answer_problems(run, update, manifest, defer=True))
    return manifest


def check_listed(run: Path, update: str, *files: Path) -> None:
    """Raises an InputError unless some files are as the manifest says; used by commands that read only these.

    Args:
        run: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.
        files: Files of the run.
    """
    manifest = required_manifest(run, update)
    if manifest is not None:
        paths = [file.relative_to(run).as_posix() for file in files]
        wanted = {path: manifest.files[path] for path in paths if path in manifest.files}
        unlisted = [FileProblem(path, "is not in the manifest") for path in paths if path not in manifest.files]
        raise_problems(run, unlisted + _changes(run, wanted))


def check_finished(run: Path) -> bool:
    """Whether training has ended; its files and its checkpoint are then as the manifest says.

    Args:
        run: The folder of a run that was never updated.

    Raises:
        InputError: If a file is missing, was added or has changed, or if a finished run has no manifest.
    """
    manifest = required_manifest(run, "")
    if manifest is None:
        return False
    state = {_STATE: manifest.others[_STATE]} if _STATE in manifest.others and (run / _STATE).exists() else {}
    raise_problems(run, answer_problems(run, "", manifest) + _changes(run, state))
    return True


def answer_problems(run: Path, update: str, manifest: Manifest, *, defer: bool = False) -> list[FileProblem]:
    """Files that answers depend on and that are missing, were added, or have changed.

    Args:
        run: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.
        manifest: Its manifest.
        defer: Whether only the sizes of ``Manifest.deferred`` are compared.
    """
    added = [path for path in answer_files(run, update) if path not in manifest.files]
    found = [FileProblem(path, "is not in the manifest") for path in added]
    return found + _changes(run, manifest.files, defer=defer)


def other_problems(run: Path, manifest: Manifest) -> list[FileProblem]:
    """Other files that have changed; they may have been deleted.

    Args:
        run: The run folder.
        manifest: Its manifest.
    """
    return _changes(run, {path: record for path, record in manifest.others.items() if (run / path).exists()})


def raise_problems(run: Path, problems: list[FileProblem]) -> None:
    """Raises an InputError that names the files in one line, if there are any.

    Args:
        run: The run folder.
        problems: What was found.
    """
    if problems:
        first, more = problems[0], problems[1:_LISTED]
        text = first.problem + "".join(f", {entry.file} {entry.problem}" for entry in more)
        if len(problems) > _LISTED:
            text += f", and {len(problems) - _LISTED} more"
        raise InputError(text, file=run / first.file, expected="the files of one run as fitcarl wrote them")


def withdraw_manifest(run: Path) -> None:
    """Removes the manifest, its signature and the result before files of a run are written again.

    Args:
        run: The run folder.
    """
    for name in (_RESULT, SIGNATURE, MANIFEST):  # without a result, a run without manifest is one in training
        (run / name).unlink(missing_ok=True)


def answer_files(run: Path, update: str = "") -> list[str]:
    """The files that answers depend on and that are there, as sorted paths relative to the run folder.

    Args:
        run: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.
    """
    names: dict[str, Path] = {}
    for folder in (run, run / update) if update else (run,):
        tensors = (
            path for path in folder.glob("*.safetensors") if not path.name.startswith(".") and path.name != _STATE
        )
        names |= {name: folder / name for name in _JSON if _there(folder / name)}
        names |= {path.name: path for path in tensors}
        if _there(folder / "graph"):
            names["graph"] = folder / "graph"
    graph = names.pop("graph", None)
    paths = [*names.values(), *(_graph_files(graph) if graph is not None else ())]
    return sorted(path.relative_to(run).as_posix() for path in paths)


def required_manifest(run: Path, update: str) -> Manifest | None:
    """The manifest of a run; None if its training has not ended.

    Args:
        run: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.

    Raises:
        InputError: If it is damaged, or if a finished run has none.
    """
    trained, manifest = read_manifest(run), read_manifest(run, update)
    if trained is not None and trained.updates > len(read_history(run).updates):
        problem = "is missing or older than the last update"
        raise InputError(problem, file=history_file(run), expected=f"{trained.updates} updates, as the manifest says")
    if manifest is None and (update or (run / _RESULT).exists()):
        raise InputError(
            "is missing, so that nothing shows that the files belong together",
            file=manifest_file(run, update),
            expected="a manifest, which every finished run has",
            hint=f"a run of an earlier version that you trust gets one with `fitcarl verify {run} --write-manifest`",
        )
    return manifest


def _is_deferred(path: str) -> bool:
    return Path(path).name.startswith(_DEFERRED)


def _changes(run: Path, records: Mapping[str, FileRecord], *, defer: bool = False) -> list[FileProblem]:
    """Files that are missing, no regular files, or have another size or content; sizes are compared first."""
    found: dict[str, str] = {}
    for path, record in records.items():
        size = _size(run / path)
        if size is None:
            found[path] = "is not a file" if _there(run / path) else "is missing"
        elif size != record.size:
            found[path] = "has changed"
    same = [path for path in records if path not in found and not (defer and _is_deferred(path))]
    pairs = zip(same, _records(run, same), strict=True)
    found |= {path: "has changed" for path, record in pairs if record != records[path]}
    return [FileProblem(path, found[path]) for path in sorted(found)]


def _records(run: Path, paths: list[str]) -> list[FileRecord]:
    """Checksums of files, the largest first and on several threads."""
    sizes = {path: _size(run / path) or 0 for path in paths}
    with ThreadPoolExecutor(thread_count()) as pool:
        started = {path: pool.submit(_record, run / path) for path in sorted(paths, key=lambda path: -sizes[path])}
        return [started[path].result() for path in paths]


def _record(file: Path) -> FileRecord:
    if _size(file) is None:
        raise InputError("is not a file", file=file, expected="a file of the run")
    try:
        with file.open("rb", buffering=0) as content:
            return FileRecord(hashlib.file_digest(content, "sha256").hexdigest(), content.tell())
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", file=file, expected="a file of the run") from None


def _size(file: Path) -> int | None:
    """The size of a regular file; None for anything else: a pipe or a device could block or never end."""
    try:
        found = file.stat()
    except (OSError, ValueError):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) else None


def _there(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _graph_files(graph: Path) -> list[Path]:
    return [path for path in graph.iterdir() if not path.name.startswith(".")] if graph.is_dir() else [graph]


def _other_files(run: Path) -> list[str]:
    kept = run / "dataset"
    files: Iterable[Path] = (path for path in kept.rglob("*") if path.is_file()) if kept.is_dir() else ()
    found = [path.relative_to(run).as_posix() for path in files]
    return sorted([*found, _STATE] if (run / _STATE).is_file() else found)


def _parse_records(found: Any) -> dict[str, FileRecord]:
    records = {}
    for path, (sha256, size) in found.items():
        parts = Path(path).parts
        if Path(path).is_absolute() or ".." in parts or "\0" in path or not parts:
            raise ValueError
        if not isinstance(sha256, str) or len(sha256) != 64 or type(size) is not int or size < 0:
            raise ValueError
        records[path] = FileRecord(sha256, size)
    return records
