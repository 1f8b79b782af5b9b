"""The functions that are fuzzed, each with its seeds and its mutations."""

from __future__ import annotations

import math
import os
import shutil
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from fitcarl.config.settings import configure
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.data.io.reader import read_concepts, read_facts
from fitcarl.errors import InputError
from fitcarl.graph.storage import open_graph
from fitcarl.predict import Predictor, Query
from fitcarl.predict.questions import read_queries
from tests.fuzz import mutate_edits, mutate_files, seeds
from tests.fuzz.edits import apply_edits

MANIFEST = "manifest.json"
"""Checksums of the files of a run."""
MutateBytes = Callable[[bytes, int], bytes]


class Target(Protocol):
    """One function under test."""

    def seeds(self) -> Sequence[bytes]:
        """Inputs to start from."""
        ...

    def run(self, data: bytes) -> None:
        """Gives an input to the function; an InputError means that it was rejected."""
        ...

    def mutate(self, data: bytes, max_size: int, seed: int, mutate_bytes: MutateBytes) -> bytes: ...

    def cross(self, one: bytes, other: bytes, max_size: int, seed: int) -> bytes: ...


class WrongAnswer(Exception):  # noqa: N818 - a fault of the package, not an error of this module
    """An accepted input that gave an impossible result."""


@dataclass(frozen=True)
class FileTarget:
    """Readers of single files: facts, queries, concepts and presets."""

    scratch: Path

    def seeds(self) -> Sequence[bytes]:
        return seeds.files()

    def run(self, data: bytes) -> None:
        about, content = mutate_files.decode(data)
        reader, suffix = about.get("reader", "facts"), about.get("suffix", ".csv")
        if reader not in mutate_files.READERS or not isinstance(suffix, str) or not 0 < len(suffix) < 20:
            return
        if "/" in suffix or not suffix.isprintable() or not suffix.isascii():
            return
        file = self.scratch / f"input{suffix}"
        file.write_bytes(content)
        try:
            _READ[reader](file, _known_options(about.get("options")))
        finally:
            file.unlink(missing_ok=True)

    def mutate(self, data: bytes, max_size: int, seed: int, mutate_bytes: MutateBytes) -> bytes:
        return mutate_files.mutate(data, max_size, seed, mutate_bytes)

    def cross(self, one: bytes, other: bytes, max_size: int, seed: int) -> bytes:
        return mutate_files.cross(one, other, max_size, seed)


def _known_options(given: Any) -> dict[str, Any]:
    """Options as a caller with correct types passes them."""
    options = given if isinstance(given, dict) else {}
    texts = ("format", "separator", "encoding", "relation", "layout", "intervals", "granularity")
    known = {name: options[name] for name in texts if isinstance(options.get(name), str)}
    if options.get("header") in (True, False, "auto"):
        known["header"] = options["header"]
    if isinstance(options.get("columns"), list):
        known["columns"] = [str(column) for column in options["columns"]]
    if isinstance(options.get("skip_incomplete"), bool):
        known["skip_incomplete"] = options["skip_incomplete"]
    if type(options.get("max_expansion")) is int:
        known["max_expansion"] = options["max_expansion"]
    return known


def _read_facts(file: Path, options: dict[str, Any]) -> None:
    facts = read_facts(file, **options)
    if len(facts.quadruples) > facts.rows:
        raise WrongAnswer("more facts than rows")


def _read_queries(file: Path, options: dict[str, Any]) -> None:
    read_queries(file, {}, options.get("format"))


def _read_preset(file: Path, options: dict[str, Any]) -> None:
    del options
    preset = file.with_name("preset.json")
    file.rename(preset)
    configure(preset=str(preset))


def _read_concepts(file: Path, options: dict[str, Any]) -> None:
    del options
    read_concepts(file, {"Peliland": 0, "x": 1})


_READ: dict[str, Callable[[Path, dict[str, Any]], None]] = {
    "facts": _read_facts,
    "queries": _read_queries,
    "concepts": _read_concepts,
    "preset": _read_preset,
}


class FolderTarget:
    """Functions that open a folder; inputs are edits of an intact one."""

    def __init__(self, folder: Path, scratch: Path, use: Callable[[Path, int], None]) -> None:
        self.files = seeds.files_of(folder)
        self.place = scratch / folder.name
        self.use = use
        self._mutator = mutate_edits.EditMutator(self.files)
        self._temporary = scratch / "temporary"
        shutil.rmtree(self.place, ignore_errors=True)
        for name, content in self.files.items():
            self._write(name, content)

    def seeds(self) -> Sequence[bytes]:
        return [mutate_edits.encode(edits) for edits in self._mutator.first()]

    def run(self, data: bytes) -> None:
        edited = apply_edits(self.files, mutate_edits.decode(data), self._temporary)
        changed = [name for name in self.files if edited.get(name) is not self.files[name]]
        for name in changed:
            if name in edited:
                self._write(name, edited[name])
            else:
                (self.place / name).unlink()
        if changed and MANIFEST in self.files and MANIFEST not in changed:
            seal_manifest(self.place)
            changed.append(MANIFEST)
        try:
            self.use(self.place, zlib.crc32(data))
        finally:
            for name in changed:
                self._write(name, self.files[name])

    def _write(self, name: str, content: bytes) -> None:
        """Writes a new file: one that is still memory-mapped must not change."""
        (self.place / name).parent.mkdir(parents=True, exist_ok=True)
        self._temporary.write_bytes(content)
        os.replace(self._temporary, self.place / name)

    def mutate(self, data: bytes, max_size: int, seed: int, mutate_bytes: MutateBytes) -> bytes:
        del mutate_bytes
        return self._mutator.mutate(data, max_size, seed)

    def cross(self, one: bytes, other: bytes, max_size: int, seed: int) -> bytes:
        return self._mutator.cross(one, other, max_size, seed)


def seal_manifest(run: Path) -> None:
    """Writes the manifest of an edited run, as a deliberate change would, so that edits reach the checks behind it.

    Args:
        run: The run folder; left as it is if no manifest of it can be made.
    """
    manifest = import_module("fitcarl.runs.manifest")
    with suppress(InputError):
        manifest.make_manifest(run).write(run)


def _open_dataset(folder: Path, number: int) -> None:
    del number
    read_dataset(folder)


def _open_graph(folder: Path, number: int) -> None:
    del number
    graph = open_graph(folder, thorough=True)
    graph.base.time.max(initial=0)


class AskRun:
    """Loads a run folder and asks it; a run that is accepted must answer every question in a sane way."""

    def __init__(self, intact: Path, everything: bool) -> None:
        self._everything = everything
        example = Predictor.load(intact).example()
        assert example is not None
        self._facts, self._query = example.facts, example.query

    def __call__(self, folder: Path, number: int) -> None:
        predictor = Predictor.load(folder)
        self._attempt(predictor.example)
        self._attempt(lambda: predictor.run.reading)
        query = self._query
        if query.relation not in predictor.relations or not predictor.entities:
            query = Query(query.subject, query.object, next(iter(predictor.relations), "x"), query.at)
        self._attempt(lambda: _check_shares(predictor, query, self._facts))
        if self._everything or number % 4 == 0:
            self._attempt(lambda: predictor.answer([Query(query.subject, None, None, query.at)], self._facts))
            self._attempt(lambda: predictor.answer([_with_horizon(query)], self._facts))
        if self._everything or number % 8 == 1:
            self._attempt(lambda: predictor.explain(query, next(iter(predictor.entities), "x"), self._facts))

    @staticmethod
    def _attempt(ask: Callable[[], Any]) -> None:
        """One question; its rejection does not keep the next one from being asked."""
        try:
            ask()
        except InputError as error:
            if len(str(error)) > 4000:
                raise


def _with_horizon(query: Query) -> Query:
    return Query(query.subject, query.object, query.relation, query.at, horizon="7d")


def _check_shares(predictor: Predictor, query: Query, facts: Sequence[Any]) -> None:
    [prediction] = predictor.answer([query], facts)
    shares = [answer.share for answer in prediction.answers]
    if not all(math.isfinite(share) and -1e-6 <= share <= 1 + 1e-6 for share in shares):
        raise WrongAnswer(f"shares {shares[:3]}")
    for answer in prediction.answers:
        answer.to_json()


NAMES = ("files", "dataset", "graph", "run-plus", "run-paper")
"""Names of all targets."""


def make_target(name: str, home: Path, scratch: Path, *, everything: bool = False) -> Target:
    """A target.

    Args:
        name: One of ``NAMES``.
        home: Where ``seeds.prepare`` wrote runs and datasets.
        scratch: A folder of this process, best in memory.
        everything: Whether to ask a run all questions for each input; otherwise some, which is faster.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    if name == "files":
        return FileTarget(scratch)
    if name == "dataset":
        return FolderTarget(home / "tiny", scratch, _open_dataset)
    if name == "graph":
        return FolderTarget(home / "graph", scratch, _open_graph)
    run = home / name.removeprefix("run-")
    return FolderTarget(run, scratch, AskRun(run, everything))
