"""Statistics of a dataset: what its facts are like, the paper's Table 1, and properties that matter for results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import GRANULARITY_UNITS, Calendar, Granularity
from fitcarl.data.dataset import SPLITS, Dataset, MetaSet
from fitcarl.data.facts import Facts
from fitcarl.data.profile import FactsProfile, profile_facts
from fitcarl.data.quadruples import Quadruples

SHOTS = (1, 3)
"""The numbers of shots K of the paper."""


@dataclass(frozen=True)
class GroupDescription:
    """Statistics of one group of unseen entities."""

    unseen: int
    facts: int
    facts_per_entity: tuple[int, float, int] | None
    """Minimum, mean and maximum number of facts per entity; None for an empty group."""
    too_few_facts: Mapping[int, int]
    """Shots → entities with at most that many facts: no query remains, so they are skipped."""
    queries: Mapping[int, int]
    """Shots → facts that remain as queries when that many facts of each entity are its support set."""
    cross_facts: int
    """Facts whose subject and object are both unseen, self-loops included; each is listed under one of the two."""
    self_loops: int
    relation_not_in_background: int
    """Facts whose relation does not occur in the background."""
    other_end_not_in_background: int
    """Facts whose other entity is neither in the background nor unseen: no path can reach it."""
    unseen_is_subject: int
    times: tuple[str, str] | None
    """First and last time of the facts; None for an empty group."""


@dataclass(frozen=True)
class Description:
    """Statistics of a dataset; equal for equal datasets."""

    profile: FactsProfile
    """What all its facts are like, regardless of the split."""
    name: str
    entities: int
    relations: int
    times: int
    granularity: Granularity
    first_time: str
    last_time: str
    span: int
    """Ticks from the first time to the last, both included; more than ``times`` if some ticks have no fact."""
    background_facts: int
    background_entities: int
    background_relations: int
    background_self_loops: int
    groups: Mapping[str, GroupDescription]
    """By split: train, valid, test."""
    dropped_facts: int
    """Facts between unseen entities of two groups; part of no split."""
    isolated_entities: int
    """Entities that are neither unseen nor in the background."""
    concepts: int
    concept_pairs: int
    entities_without_concept: int
    digest: str
    """sha256 of the content."""
    cuts: Mapping[str, str] | None
    """Split → time from which on its entities first appear; None if the split is not chronological."""
    late_facts: int
    """Dropped facts that are not between two groups: facts of a group at or after the next cut."""
    emerging_in_background: int
    """Entities of the background that first appear at or after the first cut."""

    def to_json(self) -> dict[str, Any]:
        """The output of ``fitcarl data describe --json``: the profile of all facts, and the statistics of the split.

        ``facts`` are the facts of each part of the split; ``total_facts`` is the number of all of them.
        """
        groups, whole = self.groups, self.profile.to_json()
        return whole | {
            "name": self.name,
            "entities": self.entities,
            "relations": self.relations,
            "times": self.times,
            "time": whole["time"] | {"first": self.first_time, "last": self.last_time, "span": self.span},
            "unseen": {split: group.unseen for split, group in groups.items()},
            "facts": {"background": self.background_facts} | {split: group.facts for split, group in groups.items()},
            "dropped_facts": self.dropped_facts,
            "isolated_entities": self.isolated_entities,
            "background": {
                "entities": self.background_entities,
                "relations": self.background_relations,
                "self_loops": self.background_self_loops,
            },
            "groups": {split: _group_json(group) for split, group in groups.items()},
            "concepts": {
                "names": self.concepts,
                "pairs": self.concept_pairs,
                "entities_without": self.entities_without_concept,
            },
            "digest": self.digest,
            "cuts": None if self.cuts is None else dict(self.cuts),
            "late_facts": self.late_facts,
            "emerging_in_background": self.emerging_in_background,
        }

    def render(self) -> str:
        """Human-readable text: the profile, one table with a column per group, then notes."""
        unit = GRANULARITY_UNITS[self.granularity]
        title = (
            f"{self.name}: {self.entities:,} entities, {self.relations:,} relations, "
            f"{self.times:,} {unit} from {self.first_time} to {self.last_time}"
        )
        return "\n\n".join([title, self.profile.render(), self.render_split()])

    def render_split(self) -> str:
        """The part of the text about the groups of unseen entities: the table and the notes."""
        notes = "\n".join(["Notes", *(f"  {note}" for note in self._notes())])
        return "\n".join(_aligned_table(self._rows())) + "\n\n" + notes

    def __str__(self) -> str:
        return self.render()

    def _rows(self) -> list[list[str]]:
        groups = list(self.groups.values())
        spreads = [group.facts_per_entity for group in groups]

        def row(label: str, counts: list[int], background: int | None = None) -> list[str]:
            return [label, "–" if background is None else f"{background:,}", *(f"{count:,}" for count in counts)]

        def spread(label: str, index: int, form: str) -> list[str]:
            return [label, "–", *("–" if found is None else format(found[index], form) for found in spreads)]

        return [
            ["", "background", *self.groups],
            *self._time_rows(),
            row("unseen entities", [group.unseen for group in groups]),
            row("facts", [group.facts for group in groups], self.background_facts),
            spread("facts per unseen entity, minimum", 0, "d"),
            spread("facts per unseen entity, mean", 1, ".2f"),
            spread("facts per unseen entity, maximum", 2, "d"),
            *(row(f"queries with {_shots(k)}", [group.queries[k] for group in groups]) for k in SHOTS),
            *(
                row(f"unseen entities with at most {_facts(k)}", [group.too_few_facts[k] for group in groups])
                for k in SHOTS
            ),
            row("facts with two unseen entities", [group.cross_facts for group in groups]),
            row(
                "facts with equal subject and object",
                [group.self_loops for group in groups],
                self.background_self_loops,
            ),
            row("facts with a relation not in the background", [g.relation_not_in_background for g in groups]),
            row("facts with another entity not in the background", [g.other_end_not_in_background for g in groups]),
        ]

    def _time_rows(self) -> list[list[str]]:
        """When the facts of each group happened, in a chronological split."""
        if self.cuts is None:
            return []
        times = [group.times or ("–", "–") for group in self.groups.values()]
        return [
            ["entities first appear from", "–", *self.cuts.values()],
            ["first fact", self.first_time, *(first for first, _ in times)],
            ["last fact", self.last_time, *(last for _, last in times)],
        ]

    def _notes(self) -> list[str]:
        notes = [
            f"{self.isolated_entities:,} entities are neither unseen nor in the background.",
            f"{self.dropped_facts - self.late_facts:,} facts between unseen entities of different groups are dropped.",
            f"{self.background_entities:,} entities and {self.background_relations:,} of {self.relations:,} relations "
            "are in the background.",
        ]
        if self.cuts is not None:
            notes += [
                f"{self.late_facts:,} facts of unseen entities at or after the cut of the next group are dropped.",
                f"Chronological: {self.emerging_in_background:,} entities that first appear at or after the first cut "
                "have too few or too many facts to be unseen; they are in the background.",
            ]
        if self.span > self.times:
            notes.append(
                f"{self.span - self.times:,} of the {self.span:,} {GRANULARITY_UNITS[self.granularity]} have no fact."
            )
        if self.concepts:
            notes.append(f"{self.concepts:,} concepts; {self.entities_without_concept:,} entities have none.")
        else:
            notes.append("No concepts (optional).")
        return [*notes, f"Content: sha256 {self.digest[:12]}"]


def describe(dataset: Dataset) -> Description:
    """Computes the statistics of a dataset."""
    calendar, concepts, cuts = dataset.calendar, dataset.concepts, dataset.cuts
    known = _members(len(dataset.vocabulary.entities), dataset.background.subject, dataset.background.object)
    unseen = _members(len(known), *(dataset.meta(split).entity_of_fact for split in SPLITS))
    used = _members(len(dataset.vocabulary.relations), dataset.background.relation)
    return Description(
        profile=profile_facts(Facts.of(dataset), dataset.time_unit),
        name=dataset.name,
        entities=len(dataset.vocabulary.entities),
        relations=len(dataset.vocabulary.relations),
        times=len(calendar),
        granularity=calendar.granularity,
        first_time=calendar.labels[0],
        last_time=calendar.labels[-1],
        span=calendar.span,
        background_facts=len(dataset.background),
        background_entities=int(known.sum()),
        background_relations=int(used.sum()),
        background_self_loops=_self_loops(dataset.background),
        groups={split: _describe_group(dataset.meta(split), known, used, calendar) for split in SPLITS},
        dropped_facts=len(dataset.dropped),
        isolated_entities=int((~known & ~unseen).sum()),
        concepts=len(concepts),
        concept_pairs=len(concepts.ids),
        entities_without_concept=int((np.diff(concepts.offsets) == 0).sum()),
        digest=dataset.digest,
        cuts=None if cuts is None else dict(zip(SPLITS, cuts.labels(calendar), strict=True)),
        late_facts=0 if cuts is None else _late_facts(dataset),
        emerging_in_background=0 if cuts is None else _emerging(dataset.background, len(known), cuts.train),
    )


def _late_facts(dataset: Dataset) -> int:
    """The number of dropped facts that do not have unseen entities of two groups."""
    group = np.full(len(dataset.vocabulary.entities), -1)
    for number, split in enumerate(SPLITS):
        group[dataset.meta(split).entities] = number
    of_subject, of_object = group[dataset.dropped.subject], group[dataset.dropped.object]
    return int(np.count_nonzero((of_subject == of_object) | (of_subject < 0) | (of_object < 0)))


def _emerging(facts: Quadruples, entities: int, tick: int) -> int:
    """The number of entities whose first fact is at or after a tick."""
    early = facts.take(facts.time < tick)
    known, before = (_members(entities, part.subject, part.object) for part in (facts, early))
    return int((known & ~before).sum())


def _describe_group(
    meta: MetaSet, known: NDArray[np.bool_], used: NDArray[np.bool_], calendar: Calendar
) -> GroupDescription:
    facts, counts = meta.facts, np.diff(meta.offsets)
    own = _members(len(known), meta.entity_of_fact)
    other = np.where(facts.subject == meta.entity_of_fact, facts.object, facts.subject)
    return GroupDescription(
        unseen=len(meta.entities),
        facts=len(meta),
        facts_per_entity=(int(counts.min()), float(counts.mean()), int(counts.max())) if len(counts) else None,
        too_few_facts={shots: int((counts <= shots).sum()) for shots in SHOTS},
        queries={shots: int((counts - shots).clip(min=0).sum()) for shots in SHOTS},
        cross_facts=int((own[facts.subject] & own[facts.object]).sum()),
        self_loops=_self_loops(facts),
        relation_not_in_background=int((~used[facts.relation]).sum()),
        other_end_not_in_background=int((~known[other] & ~own[other]).sum()),
        unseen_is_subject=int((facts.subject == meta.entity_of_fact).sum()),
        times=(calendar.label(int(facts.time.min())), calendar.label(int(facts.time.max()))) if len(facts) else None,
    )


def _self_loops(facts: Quadruples) -> int:
    return int((facts.subject == facts.object).sum())


def _members(size: int, *ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """bool [size]: true for every id that occurs in one of the arrays."""
    found = np.zeros(size, dtype=np.bool_)
    for part in ids:
        found[part] = True
    return found


def _group_json(group: GroupDescription) -> dict[str, Any]:
    spread = group.facts_per_entity
    return asdict(group) | {
        "facts_per_entity": None if spread is None else dict(zip(("min", "mean", "max"), spread, strict=True)),
        "too_few_facts": {str(shots): count for shots, count in group.too_few_facts.items()},
        "times": None if group.times is None else dict(zip(("first", "last"), group.times, strict=True)),
        "queries": {str(shots): count for shots, count in group.queries.items()},
    }


def _shots(shots: int) -> str:
    return "1 shot" if shots == 1 else f"{shots} shots"


def _facts(count: int) -> str:
    return "1 fact" if count == 1 else f"{count} facts"


def _aligned_table(rows: list[list[str]]) -> list[str]:
    """Lines of a table: the first column left-aligned, numbers right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for label, *cells in rows:
        numbers = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join([label.ljust(widths[0]), *numbers]))
    return lines
