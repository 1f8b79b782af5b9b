"""A dataset for few-shot out-of-graph link prediction: background facts and three groups of unseen entities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import sha256_of_arrays
from fitcarl.core.display import display_block, display_table
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.cuts import Cuts
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.reading import NOT_READ, Reading
from fitcarl.data.time_scale import time_unit
from fitcarl.data.vocabulary import Vocabulary

Split = Literal["train", "valid", "test"]
SPLITS: tuple[Split, ...] = get_args(Split)


@dataclass(frozen=True, eq=False)
class MetaSet:
    """The facts of one group of unseen entities. Each fact is listed under one of its unseen entities.

    The rows of an entity are contiguous and their order is fixed: the first K are the support set of the official draw.
    """

    entity_of_fact: Ids
    """int32 [facts], the unseen entity that a fact is listed under; subject or object of the fact."""
    facts: Quadruples

    @cached_property
    def entities(self) -> Ids:
        """int32 [unseen], in order of appearance."""
        return self.entity_of_fact[self._starts]

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """int64 [unseen + 1]: rows of ``entities[i]`` are ``offsets[i]:offsets[i + 1]``."""
        return np.append(self._starts, len(self.entity_of_fact)).astype(np.int64)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        if not len(self.entity_of_fact):
            return np.empty(0, np.int64)
        return np.flatnonzero(np.append(True, self.entity_of_fact[1:] != self.entity_of_fact[:-1]))

    def __len__(self) -> int:
        return len(self.entity_of_fact)

    def before(self, tick: int) -> MetaSet:
        """The facts before ``tick``."""
        early = self.facts.time < tick
        return MetaSet(self.entity_of_fact[early], self.facts.take(early))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, MetaSet)
            and np.array_equal(self.entity_of_fact, other.entity_of_fact)
            and self.facts == other.facts
        )

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, repr=False)
class Dataset:
    """A benchmark, or a user's own data, as read from a folder."""

    name: str
    vocabulary: Vocabulary
    calendar: Calendar
    background: Quadruples
    """Facts without an unseen entity."""
    train: MetaSet
    valid: MetaSet
    test: MetaSet
    dropped: Quadruples
    """Facts between unseen entities of two groups and, in a chronological split, facts of a group that are not before
    the next cut; part of no split and never visible to a model."""
    concepts: Concepts
    cuts: Cuts | None = None
    """When the groups of a chronological split begin; None if the unseen entities were chosen regardless of time."""
    reading: Reading = NOT_READ
    """How its facts were read; empty for a published dataset."""

    def __repr__(self) -> str:
        groups = ", ".join(f"{len(self.meta(split).entities):,} {split}" for split in SPLITS)
        return (
            f"Dataset({self.name!r}, {len(self.background):,} background facts, unseen entities: {groups}, "
            f"{self.calendar.extent})"
        )

    def _repr_html_(self) -> str:
        """Size and groups, for notebooks."""
        groups = [(f"meta-{split}", len(self.meta(split).entities), len(self.meta(split))) for split in SPLITS]
        rows = [("background", None, len(self.background)), *groups, ("dropped", None, len(self.dropped))]
        names = f"{len(self.vocabulary.entities):,} entities, {len(self.vocabulary.relations):,} relations"
        notes = [f"{names}, {self.calendar.extent} ({self.calendar.granularity})"]
        if self.cuts is not None:
            notes.append("chronological split: the unseen entities of a group first appear after its cut")
        table = display_table(("", "unseen entities", "facts"), rows, "lrr")
        return display_block(f"Dataset {self.name}", table, notes=notes)

    def meta(self, split: Split) -> MetaSet:
        """The group of unseen entities of ``split``: "train", "valid" or "test"."""
        sets: dict[Split, MetaSet] = {"train": self.train, "valid": self.valid, "test": self.test}
        return sets[split]

    def end_of(self, split: Split) -> int:
        """The tick from which on no facts of the unseen entities of a split are known.

        Args:
            split: ``train``, ``valid`` or ``test``.
        """
        ends = (self.calendar.span,) * 3 if self.cuts is None else self.cuts.ends(self.calendar)
        return ends[SPLITS.index(split)]

    def before(self, tick: int) -> Dataset:
        """The dataset with only the facts before ``tick``; names and calendar stay."""
        background, dropped = (facts.take(facts.time < tick) for facts in (self.background, self.dropped))
        train, valid, test = (self.meta(split).before(tick) for split in SPLITS)
        return replace(self, background=background, train=train, valid=valid, test=test, dropped=dropped)

    @cached_property
    def time_unit(self) -> float:
        """Ticks per time unit, estimated from the background."""
        return time_unit(self.background)

    @property
    def everything(self) -> Quadruples:
        """All facts: background, meta sets and dropped facts."""
        metas = (self.train, self.valid, self.test)
        return Quadruples.concat([self.background, *(meta.facts for meta in metas), self.dropped])

    @cached_property
    def digest(self) -> str:
        """sha256 of names, times, facts, concepts and cuts; independent of the name of the folder."""
        names = (self.vocabulary.entities, self.vocabulary.relations, self.concepts.names)
        header = b"".join("\n".join(part).encode() + b"\0" for part in names)
        header += "\n".join(self.calendar.labels).encode()
        if self.cuts is not None:
            header += f"\0cuts {self.cuts.starts}".encode()
        columns: list[NDArray[np.int32] | NDArray[np.int64]] = [self.calendar.ticks]
        columns += [self.concepts.offsets, self.concepts.ids, self.background.rows()]
        for split in SPLITS:
            columns += [self.meta(split).entity_of_fact, self.meta(split).facts.rows()]
        return sha256_of_arrays(*columns, header=header, separator=b"\0")
