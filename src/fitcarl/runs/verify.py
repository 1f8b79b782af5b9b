"""Checks everything that is known about the files of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fitcarl.errors import InputError
from fitcarl.runs.history import read_history
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.manifest import (
    FileProblem,
    Manifest,
    answer_problems,
    manifest_file,
    other_problems,
    required_manifest,
)
from fitcarl.runs.run import Run
from fitcarl.runs.signature import check_signature, sign_manifest


@dataclass(frozen=True)
class Verification:
    """What was found."""

    run: str
    """The run folder."""
    identity: str
    """The identity of the run with its last update."""
    files: int
    """Files that were compared with the manifests."""
    size: int
    """Their bytes."""
    problems: tuple[FileProblem, ...]
    """Files that are not as they were written."""
    signed: bool | None
    """Whether the signature of the run is valid; None if it was not checked."""

    @property
    def ok(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        return {"ok": self.ok, **asdict(self)}


def verify_run(run: str | Path, key: str | Path | None = None) -> Verification:
    """Compares all files of a run with its manifests, and if they fit, loads it with all checks of its content.

    Args:
        run: The run folder.
        key: A public key; the manifest must have a signature by its owner.

    Raises:
        InputError: If there is no run, no manifest or no valid signature, or if the files fit the manifest but are
            not those of a run.
    """
    folder = Path(run)
    RunFolder(folder).check()
    current = read_history(folder).current
    found: dict[str, FileProblem] = {}
    sizes: dict[str, int] = {}
    manifest = _finished(folder, current)
    for update in dict.fromkeys(("", current)):
        part = manifest if update == current else _finished(folder, update)
        problems = [*answer_problems(folder, update, part), *other_problems(folder, part)]
        found |= {problem.file: problem for problem in problems}
        sizes |= {path: record.size for path, record in {**part.others, **part.files}.items()}
    if key is not None:
        check_signature(manifest, folder / current, Path(key))
    if not found:
        for as_trained in (False, True) if current else (False,):
            loaded = Run.load(folder, as_trained=as_trained)
            _ = loaded.reading, loaded.folder.read_open_models()
    problems = [found[path] for path in sorted(found)]
    signed = None if key is None else True
    return Verification(str(run), manifest.run, len(sizes), sum(sizes.values()), tuple(problems), signed)


def sign_run(run: str | Path, key: str | Path) -> Path:
    """Signs a run with its last update, after all its files were verified.

    Args:
        run: The run folder.
        key: An Ed25519 private key.

    Returns:
        The file of the signature.

    Raises:
        InputError: If a file of the run is not as it was written, or if the key cannot be used.
    """
    folder = Path(run)
    raise_all(verify_run(folder))
    current = read_history(folder).current
    return sign_manifest(_finished(folder, current), folder / current, Path(key))


def adopt_run(run: str | Path) -> None:
    """Writes the manifest of a finished run that has none, after all checks of its content.

    Args:
        run: The run folder, as an earlier version of fitcarl wrote it.

    Raises:
        InputError: If it has a manifest already, its training has not ended, or a file is damaged.
    """
    folder = RunFolder(Path(run))
    folder.check()
    current = read_history(folder.path).current
    if manifest_file(folder.path, current).exists():
        file = manifest_file(folder.path, current)
        raise InputError("exists already", file=file, field="--write-manifest", expected="a run without a manifest")
    if not folder.result.exists():
        raise InputError("is missing, so that training has not ended", file=folder.result, expected="a finished run")
    folder.write_manifest()
    try:
        verify_run(run)
    except BaseException:
        for update in {"", current}:
            manifest_file(folder.path, update).unlink(missing_ok=True)
        raise


def raise_all(found: Verification) -> None:
    """Raises an InputError that names all files with problems in one line, if there are any.

    Args:
        found: The result of ``verify_run``.
    """
    if not found.ok:
        named = ", ".join(f"{entry.file} {entry.problem}" for entry in found.problems)
        raise InputError(named, file=found.run, expected="the files as fitcarl wrote them")


def _finished(folder: Path, update: str) -> Manifest:
    manifest = required_manifest(folder, update)
    if manifest is None:
        raise InputError("training has not ended, so that there is no manifest", file=folder, expected="a finished run")
    return manifest
