"""Consistency checks of a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.cuts import Cuts
from fitcarl.data.dataset import SPLITS, Dataset, MetaSet
from fitcarl.data.name_rules import name_problem
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError

ENTITIES, RELATIONS, TIMES, BACKGROUND = "entities.tsv", "relations.tsv", "times.tsv", "background.tsv"
DROPPED, CONCEPTS, CUTS, READING = "dropped_cross_facts.tsv", "concepts.tsv", "cuts.tsv", "reading.json"
META = {split: f"meta_{split}.tsv" for split in SPLITS}
_SEEN = -1


def validate(dataset: Dataset, folder: str | Path = "") -> None:
    """Raises an InputError unless all ids exist and no unseen entity occurs outside its own group.

    Args:
        dataset: The dataset to check.
        folder: Prefix of the file names in error messages. Rows are those of the files the dataset is read from or
            written to.
    """
    root = Path(folder)
    _check_unique_names(root / ENTITIES, dataset.vocabulary.entities)
    _check_unique_names(root / RELATIONS, dataset.vocabulary.relations)
    for name, facts in _fact_tables(dataset):
        _check_fact_ids(root / name, facts, dataset)
    if not len(dataset.background):
        raise InputError(
            "no facts", file=root / BACKGROUND, expected="at least one row: subject, relation, object, time"
        )
    _check_distinct(root / BACKGROUND, dataset.background, dataset.vocabulary.entities)
    if len(dataset.concepts.offsets) != len(dataset.vocabulary.entities) + 1:
        raise InputError("concepts for another number of entities", file=root / CONCEPTS)

    group = np.full(len(dataset.vocabulary.entities), _SEEN)
    for number, split in enumerate(SPLITS):
        file, meta = root / META[split], dataset.meta(split)
        _check_meta_set(file, meta, dataset.vocabulary.entities)
        twice = np.flatnonzero(group[meta.entity_of_fact] != _SEEN)
        if len(twice):
            row = int(twice[0])
            other = META[SPLITS[int(group[meta.entity_of_fact[row]])]]
            raise _error(
                "an entity in two groups", file, row, "unseen entity", int(meta.entity_of_fact[row]), f"none of {other}"
            )
        group[meta.entity_of_fact] = number
    _check_groups(root, dataset, group)
    if dataset.cuts is not None:
        _check_cuts(root, dataset, dataset.cuts, group)


def _fact_tables(dataset: Dataset) -> Iterator[tuple[str, Quadruples]]:
    yield BACKGROUND, dataset.background
    for split in SPLITS:
        yield META[split], dataset.meta(split).facts
    yield DROPPED, dataset.dropped


def _error(problem: str, file: Path, row: int, field: str, found: object, expected: str) -> InputError:
    return InputError(problem, file=file, row=row + 1, field=field, found=found, expected=expected)


def _check_unique_names(file: Path, names: Sequence[str]) -> None:
    seen: dict[str, int] = {}
    for row, name in enumerate(names):
        if problem := name_problem(name):
            raise _error(problem, file, row, "name", name, "a name on one line")
        if seen.setdefault(name, row) != row:
            raise _error("a duplicate name", file, row, "name", name, f"another name than in row {seen[name] + 1}")
    if not names:
        raise InputError("no names", file=file, expected="at least one row: id, name")


def _check_fact_ids(file: Path, facts: Quadruples, dataset: Dataset) -> None:
    entities, relations = len(dataset.vocabulary.entities), len(dataset.vocabulary.relations)
    for field, ids, count in (
        ("subject", facts.subject, entities),
        ("relation", facts.relation, relations),
        ("object", facts.object, entities),
    ):
        outside = np.flatnonzero((ids < 0) | (ids >= count))
        if len(outside):
            row = int(outside[0])
            raise _error("an id out of range", file, row, field, int(ids[row]), f"an id from 0 to {count - 1}")
    unknown = np.flatnonzero(~np.isin(facts.time, dataset.calendar.ticks))
    if len(unknown):
        row = int(unknown[0])
        raise _error("a time that is not in times.tsv", file, row, "time", int(facts.time[row]), "a tick of that table")


def _check_meta_set(file: Path, meta: MetaSet, names: Sequence[str]) -> None:
    """Each fact contains the entity it is listed under, the facts of an entity are contiguous, and none is repeated.

    A fact that is listed twice could be support and query at the same time.
    """
    mismatched = np.flatnonzero(
        (meta.entity_of_fact != meta.facts.subject) & (meta.entity_of_fact != meta.facts.object)
    )
    if len(mismatched):
        row = int(mismatched[0])
        ends = f"the fact's subject {meta.facts.subject[row]} or object {meta.facts.object[row]}"
        raise _error("not an entity of its fact", file, row, "unseen entity", int(meta.entity_of_fact[row]), ends)
    _, first = np.unique(meta.entities, return_index=True)
    if len(first) < len(meta.entities):
        again = int(np.setdiff1d(np.arange(len(meta.entities)), first)[0])
        entity, row = int(meta.entities[again]), int(meta.offsets[again])
        raise _error("facts of an entity are not contiguous", file, row, "unseen entity", entity, "contiguous rows")
    _check_distinct(file, meta.facts, names)


def _check_distinct(file: Path, facts: Quadruples, names: Sequence[str]) -> None:
    if len(facts.distinct()) == len(facts):
        return
    _, first = np.unique(facts.rows(), axis=0, return_index=True)
    row = int(np.setdiff1d(np.arange(len(facts)), first)[0])
    found = f"{names[facts.subject[row]]}, {names[facts.object[row]]}"
    raise _error("a duplicate fact", file, row, "fact", found, "distinct facts")


def _check_groups(root: Path, dataset: Dataset, group: NDArray[np.int64]) -> None:
    """The background contains no unseen entity, and the facts of a group none of another group."""
    allowed = [(BACKGROUND, dataset.background, _SEEN)]
    allowed += [(META[split], dataset.meta(split).facts, number) for number, split in enumerate(SPLITS)]
    for name, facts, own in allowed:
        for field, ends in (("subject", facts.subject), ("object", facts.object)):
            leaks = np.flatnonzero((group[ends] != _SEEN) & (group[ends] != own))
            if len(leaks):
                row = int(leaks[0])
                other = META[SPLITS[int(group[ends[row]])]]
                raise _error("an unseen entity", root / name, row, field, int(ends[row]), f"none of {other}")


def _check_cuts(root: Path, dataset: Dataset, cuts: Cuts, group: NDArray[np.int64]) -> None:
    """The cuts are in order, no unseen entity has a fact before its cut, and no group one at or after the next cut."""
    label = dataset.calendar.label
    for row in (1, 2):
        if cuts.starts[row] < cuts.starts[row - 1]:
            found, expected = label(cuts.starts[row]), f"{label(cuts.starts[row - 1])} or later"
            raise _error("cuts out of order", root / CUTS, row, "time", found, expected)
    for split, start, end in zip(SPLITS, cuts.starts, cuts.ends(dataset.calendar), strict=True):
        time = dataset.meta(split).facts.time
        outside = np.flatnonzero((time < start) | (time >= end))
        if len(outside):
            row = int(outside[0])
            expected = f"from {label(start)} to {label(end - 1)}, by {CUTS}"
            raise _error("a time outside its group", root / META[split], row, "time", label(int(time[row])), expected)
    starts = np.array([*cuts.starts, 0])  # the last one is that of known entities, whose group is _SEEN = -1
    for ends in (dataset.dropped.subject, dataset.dropped.object):
        early = np.flatnonzero(dataset.dropped.time < starts[group[ends]])
        if len(early):
            row = int(early[0])
            found, expected = label(int(dataset.dropped.time[row])), f"no earlier than {CUTS} says"
            raise _error("an unseen entity before its cut", root / DROPPED, row, "time", found, expected)
