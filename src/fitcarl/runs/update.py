"""Adds facts to the background of a trained run, without training."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

import fitcarl
from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.files import move_into_place, read_json
from fitcarl.core.lock import lock_folder
from fitcarl.core.progress import OnProgress, Progress, ignore_progress
from fitcarl.data.facts import named_facts
from fitcarl.data.io.frames import is_frame
from fitcarl.data.io.further_facts import (
    FurtherFacts,
    extended_calendar,
    extended_concepts,
    further_facts,
    read_further_facts,
)
from fitcarl.data.io.read_options import ReadKeywords, ReadOptions
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError
from fitcarl.graph.storage import save_graph
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext, TrainableModel
from fitcarl.runs.drift import Drift, measure_drift
from fitcarl.runs.history import UpdateHistory, UpdateRecord, read_history, write_history
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.manifest import MANIFEST, SIGNATURE, Manifest, make_manifest, read_manifest
from fitcarl.runs.names import write_names
from fitcarl.runs.run import Run

_log = logging.getLogger(__name__)

_UNFINISHED = ".unfinished"
_NOT_COPIED = ("*.unfinished", "update-*", "updates.json", "observed.sqlite*", ".*")
"""Files of a run that a copy does not get: those of updates, and the facts that the service has observed."""


@dataclass(frozen=True)
class Update:
    """What an update did, or would do."""

    run: str
    """The run folder that has the facts now."""
    rows: int
    """Rows that were given."""
    added: int
    """Facts that were new."""
    duplicates: int
    """Rows equal to an earlier row."""
    already_known: int
    """Facts that the background had already."""
    unknown_relations: int
    """Rows that were left out because their relation is unknown."""
    times_truncated: int
    """Rows whose time was finer than the granularity of the run."""
    new_entities: int
    """Entities that had no fact before."""
    facts: int
    """Facts of the background afterwards."""
    entities: int
    """Entities of the vocabulary afterwards."""
    last_time: str
    """The last time of the background afterwards."""
    updates: int
    """Updates of the run so far."""
    dry_run: bool
    drift: Drift

    mapping: dict[str, str] | None = None
    """Role → column of the source; None for facts that were given one by one."""
    mapping_text: str = ""
    """The mapping in one line."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def update(
    run: str | Path,
    facts: str | Path | Iterable[Sequence[Any]] | Any,
    *,
    out: str | Path | None = None,
    skip_unknown_relations: bool = False,
    judged: int | None = None,
    seed: int = 0,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
    **options: Unpack[ReadKeywords],
) -> Update:
    """Adds facts to the background of a run: graph, statistics, calendar and names. Weights stay as they are.

    The update takes effect at once or not at all: whenever the process ends, the folder holds the run before or after
    it. New entities become known ones.

    Args:
        run: The run folder.
        facts: A file or a DataFrame, or facts by name: (subject, relation, object, time).
        out: A new folder for the updated run; by default the run itself is changed.
        skip_unknown_relations: Leave out facts with an unknown relation instead of raising an error.
        judged: Maximum number of facts that the drift is measured on, see ``measure_drift``; 0 for none.
        seed: Seed of the sample of judged facts.
        dry_run: Measure the drift and count, but write nothing.
        on_progress: Called at every stage.
        options: Those of ``fitcarl.read_facts`` about the file, such as ``columns``.

    Returns:
        Counts, and the drift: the MRR on the facts before they were added.

    Raises:
        InputError: If the facts or the run cannot be used; nothing is written then.
    """
    folder = RunFolder(Path(run))
    folder.check()
    target = None if out is None else _new_folder(Path(out))
    report = on_progress or ignore_progress
    with lock_folder(folder.path):
        report(Progress("reading", 0, 0))
        loaded = Run.load(folder.path)
        names, calendar, skip = loaded.vocabulary, loaded.calendar, skip_unknown_relations
        if isinstance(facts, str | Path) or is_frame(facts):
            given = read_further_facts(
                *(facts, names, calendar),
                options=ReadOptions(**options),
                reading=loaded.reading,
                skip_unknown_relations=skip,
            )
        else:
            given = further_facts(facts, names, calendar, skip_unknown_relations=skip)
        change = _Change.of(loaded, given)
        # Refused before anything is measured, if the model cannot have these entities.
        report(Progress("counting", 0, 0))
        model = loaded.model.with_background(change.context, change.new_entities) if len(change.facts) else loaded.model
        report(Progress("drift", 0, 0))
        drift = measure_drift(loaded, change.facts, given.vocabulary, judged, seed)
        record = change.record(drift)
        if len(change.facts) and not dry_run:
            report(Progress("writing", 0, 0))
            _write(loaded, model, change, record, target)
        elif target is not None and not dry_run:
            raise InputError("no new fact", field="--out", expected="facts that the run does not have")
    done = len(loaded.updates) + (len(change.facts) > 0 and not dry_run)
    return Update(
        run=str(run if target is None else target),
        rows=given.rows,
        added=len(change.facts),
        duplicates=given.duplicates,
        already_known=len(given.quadruples) - len(change.facts),
        unknown_relations=given.unknown_relations,
        times_truncated=given.times_truncated,
        new_entities=len(change.new_entities),
        facts=len(change.context.graph.base) // 2,
        entities=change.context.graph.entities,
        last_time=change.last_time,
        updates=done,
        dry_run=dry_run,
        drift=drift,
        mapping=given.mapping,
        mapping_text=given.mapping_text,
    )


@dataclass(frozen=True, eq=False)
class _Change:
    """The background before and after an update."""

    given: FurtherFacts
    facts: Quadruples
    """The facts that are new."""
    context: GraphContext
    """The background with them."""
    new_entities: Ids
    """int32: entities that had no fact before."""
    run: Run
    """The run with the new names, calendar and concepts; its model is the old one."""

    @classmethod
    def of(cls, run: Run, given: FurtherFacts) -> _Change:
        entities, graph = len(given.vocabulary.entities), run.context.graph
        concepts = extended_concepts(run.concepts, entities)
        before = run.context.with_capacity(entities - graph.entities).graph
        facts = given.quadruples.take(~before.contains(given.quadruples))
        calendar = extended_calendar(run.calendar, facts.time) if len(facts) else run.calendar
        ends = np.unique(np.concatenate([facts.subject, facts.object]))
        after = before
        if len(facts):
            joined = Quadruples.concat([before.background_facts(), facts])
            after = TemporalGraph.from_facts(joined, entities, graph.relations)
        context = GraphContext.from_graph(after, concepts, calendar, given.vocabulary, run.context.time_unit)
        renamed = replace(run, vocabulary=given.vocabulary, calendar=calendar, concepts=concepts)
        return cls(given, facts, context, ends[before.degree(ends) == 0].astype(np.int32), renamed)

    @property
    def last_time(self) -> str:
        graph = self.context.graph
        return self.run.calendar.label(graph.time_range[1]) if graph.edges else ""

    def record(self, drift: Drift) -> UpdateRecord:
        """The entry of the history."""
        label = self.run.calendar.label
        text = "\n".join("\t".join(fact) for fact in sorted(self.named()))
        times = (label(int(self.facts.time.min())), label(int(self.facts.time.max()))) if len(self.facts) else ("", "")
        return UpdateRecord(
            facts=len(self.facts),
            entities=len(self.new_entities),
            first_time=times[0],
            last_time=times[1],
            facts_digest=sha256_of_arrays(header=text.encode()),
            background_digest="",  # known when the graph is written
            drift_mrr=drift.mrr,
            drift_judged=drift.judged,
            version=fitcarl.__version__,
        )

    def named(self) -> list[tuple[str, str, str, str]]:
        return named_facts(self.facts, self.run.vocabulary, self.run.calendar)


def _write(run: Run, model: TrainableModel, change: _Change, record: UpdateRecord, target: Path | None) -> None:
    """Writes the files of an update to a new folder inside the run, then makes it the current one."""
    source = run.folder
    history = read_history(source.path).with_update(record)
    if target is None:
        root = source.path
        _remove_leftovers(root, current=source.update)
    else:
        root = target.with_name(target.name + _UNFINISHED)
        shutil.rmtree(root, ignore_errors=True)
    unfinished, finished = root / (history.current + _UNFINISHED), root / history.current
    try:
        if target is not None:
            shutil.copytree(source.path, root, ignore=shutil.ignore_patterns(*_NOT_COPIED))
        unfinished.mkdir()
        _write_files(source, model, change, unfinished)
        history = replace(
            history, updates=(*history.updates[:-1], replace(record, background_digest=_digest(unfinished)))
        )
        _write_manifest(root, unfinished, history)
        move_into_place(unfinished, finished)
        if target is not None:
            _require_update(root, len(history.updates))
        write_history(root, history)
        if target is not None:
            move_into_place(root, target)
    except BaseException as error:
        shutil.rmtree(unfinished if target is None else root, ignore_errors=True)
        if target is None and read_history(root).current != history.current:
            shutil.rmtree(finished, ignore_errors=True)
        if isinstance(error, OSError):
            problem = f"cannot be written ({error.strerror or error}), so nothing was updated"
            raise InputError(problem, file=root) from None
        raise
    if target is None:
        try:
            _require_update(root, len(history.updates))
        except (OSError, InputError) as error:
            _log.warning("%s: does not say that the run was updated (%s)", root / MANIFEST, error)


def _write_files(source: RunFolder, model: TrainableModel, change: _Change, folder: Path) -> None:
    run = change.run
    write_names(folder / "vocabulary.json", run.vocabulary, run.calendar, run.concepts)
    save_graph(change.context.graph, folder / "graph")
    model.save_background(replace(source.artifacts, newer=(*source.artifacts.newer, folder)))
    RunFolder(folder).save_weights(model.module)
    if source.update:  # files of the last update that this one does not replace
        for file in (source.path / source.update).iterdir():
            if file.is_file() and file.name not in (MANIFEST, SIGNATURE) and not (folder / file.name).exists():
                _link(file, folder / file.name)


def _write_manifest(root: Path, unfinished: Path, history: UpdateHistory) -> None:
    """Writes the manifest of the run with the update, whose folder will get its final name."""
    made = make_manifest(root, unfinished.name)
    files = {path.replace(f"{unfinished.name}/", f"{history.current}/"): record for path, record in made.files.items()}
    Manifest(files, made.others, len(history.updates)).write(unfinished)


def _require_update(root: Path, number: int) -> None:
    """Records in the manifest of the trained run that it was updated, so that a lost history is noticed."""
    trained = read_manifest(root)
    if trained is not None:
        replace(trained, updates=number).write(root)


def _digest(folder: Path) -> str:
    """sha256 of the checksums of the graph's columns."""
    sums = read_json(folder / "graph" / "graph.json")["sha256"]
    return sha256_of_arrays(header=" ".join(sums[name] for name in sorted(sums)).encode())


def _link(file: Path, to: Path) -> None:
    """Files are never written in place, so that two names may share one."""
    try:
        os.link(file, to)
    except OSError:
        shutil.copy2(file, to)


def _remove_leftovers(root: Path, current: str) -> None:
    """Removes what killed updates left behind, and updates before the current one: a process may be reading that."""
    for path in root.glob("update-*"):
        if path.name != current:
            shutil.rmtree(path, ignore_errors=True)


def _new_folder(out: Path) -> Path:
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError("exists already", file=out, field="--out", expected="a new folder")
    return out
