"""What facts are like, for an analyst: size, time, traffic, the busiest names, repeats, sides and doubtful names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.calendar import GRANULARITY_UNITS, Calendar, Granularity
from fitcarl.data.facts import Facts
from fitcarl.data.look_alikes import LookAlikes, find_look_alikes
from fitcarl.data.periods import Periods, count_by_period, sparkline
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.similar_names import SimilarNames, find_similar_names
from fitcarl.data.time_scale import time_scale_text, time_unit
from fitcarl.data.traffic import Outliers, find_outliers, last_busy_tick, quantile_ticks

TOP = 5
"""Names that are listed as the busiest."""
TWO_SIDED = 0.1
"""Facts are two-sided if at most this share of the entities with two or more facts are subjects as well as objects."""
_EXAMPLES = 3


@dataclass(frozen=True)
class Busy:
    """A name with the number of its facts."""

    name: str
    facts: int
    share: float
    """Share of all facts."""


@dataclass(frozen=True)
class TimeScale:
    """The time unit of facts."""

    unit_ticks: float
    text: str

    @classmethod
    def of(cls, calendar: Calendar, unit: float) -> TimeScale:
        """The time unit in words, too."""
        return cls(unit, time_scale_text(calendar, unit))


@dataclass(frozen=True)
class FactsProfile:
    """What facts are like."""

    name: str
    facts: int
    entities: int
    """Entities with a fact."""
    relations: int
    """Relations with a fact."""
    rows: int
    """Rows of the source, duplicates included."""
    duplicates: int
    self_loops: int
    mapping: Mapping[str, str] | None
    """Role → column of the source; None if it is not known."""
    columns: str
    """The same in one line, with the columns that are ignored."""
    granularity: Granularity
    time_scale: TimeScale
    """The unit in which models measure time."""
    first_time: str
    last_time: str
    quantiles: tuple[str, str, str]
    """Times of the 1 %, 50 % and 99 % quantiles of the facts."""
    last_busy_time: str
    """The last time with real traffic."""
    outliers: Outliers
    busiest_entities: tuple[Busy, ...]
    busiest_relations: tuple[Busy, ...]
    periods: Periods
    repeats: float
    """Share of facts whose subject, relation and object occurred together at an earlier time."""
    repeated_pairs: float
    """Share of facts whose two entities, in either direction, occurred together at an earlier time."""
    both_sides: float | None
    """Share of the entities with two or more facts that occur as subject and as object; None if there are none."""
    similar_names: SimilarNames
    look_alikes: LookAlikes

    @property
    def two_sided(self) -> bool:
        """Whether the entities form two sides, such as players and clubs: few are both subject and object."""
        return self.both_sides is not None and self.both_sides <= TWO_SIDED

    def to_json(self) -> dict[str, Any]:
        """The profile as plain values."""
        similar = self.similar_names
        return {
            "name": self.name,
            "mapping": None if self.mapping is None else dict(self.mapping),
            "facts": self.facts,
            "total_facts": self.facts,
            "entities": self.entities,
            "relations": self.relations,
            "rows": self.rows,
            "duplicates": self.duplicates,
            "self_loops": self.self_loops,
            "granularity": self.granularity,
            "time_scale": asdict(self.time_scale),
            "time": {
                "granularity": self.granularity,
                "first": self.first_time,
                "last": self.last_time,
                "quantiles": dict(zip(("0.01", "0.5", "0.99"), self.quantiles, strict=True)),
                "last_busy": self.last_busy_time,
                "outliers": {
                    "before": self.outliers.before,
                    "after": self.outliers.after,
                    "distance": self.outliers.distance,
                },
            },
            "busiest": {
                "entities": [vars(busy) for busy in self.busiest_entities],
                "relations": [vars(busy) for busy in self.busiest_relations],
            },
            "periods": self.periods.to_json(),
            "repeats": self.repeats,
            "repeated_pairs": self.repeated_pairs,
            "both_sides": self.both_sides,
            "two_sided": self.two_sided,
            "similar_names": {
                "superfluous": similar.superfluous,
                "entities": [list(group) for group in similar.entities],
                "relations": [list(group) for group in similar.relations],
            },
            "look_alikes": {
                "count": self.look_alikes.count,
                "entities": [list(group) for group in self.look_alikes.entities],
                "relations": [list(group) for group in self.look_alikes.relations],
                "mixed_scripts": list(self.look_alikes.mixed_scripts),
            },
        }

    def render(self) -> str:
        """Human-readable text, one line per topic."""
        rows = [
            ("columns", self.columns),
            ("what", self._what()),
            ("when", self._when()),
            (
                "time unit",
                f"{self.time_scale.text}, the unit of models (a fifth of a typical gap)",
            ),
            ("", self._outliers_text()),
            ("traffic", f"{sparkline(self.periods.facts)}  facts per {self.periods.name}, {self._stretch()}"),
            ("new entities", f"{sparkline(self.periods.new_entities)}  first facts per {self.periods.name}"),
            *_busy_rows("busiest entities", self.busiest_entities),
            *_busy_rows("busiest relations", self.busiest_relations),
            ("repeats", self._repeats_text()),
            ("sides", self._sides()),
            ("similar names", self._similar_text()),
            ("look-alikes", self._look_alike_text()),
        ]
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:<{width}}  {text}".rstrip() for label, text in rows if text)

    def __str__(self) -> str:
        return self.render()

    def _what(self) -> str:
        counts = [_counted(self.facts, "fact"), _counted(self.entities, "entity"), _counted(self.relations, "relation")]
        notes = []
        if self.rows != self.facts:
            notes = [_counted(self.rows, "row"), _counted(self.duplicates, "duplicate")]
        return ", ".join(counts) + (f" ({', '.join(notes)})" if notes else "")

    def _when(self) -> str:
        low, middle, high = self.quantiles
        tick = "integer times" if self.granularity == "integer" else f"by {self.granularity}"
        busy = "" if self.last_busy_time == self.last_time else f"; last busy time {self.last_busy_time}"
        return f"{self.first_time} to {self.last_time}, {tick}; 1 / 50 / 99 %: {low} / {middle} / {high}{busy}"

    def _outliers_text(self) -> str:
        before, after, distance = self.outliers.before, self.outliers.after, self.outliers.distance
        if not before + after:
            return ""
        unit = GRANULARITY_UNITS[self.granularity]
        verb = "lies" if before + after == 1 else "lie"
        return (
            f"{_counted(before + after, 'fact')} {verb} more than {distance:,} {unit} outside the 1 % to 99 % range "
            f"({before:,} before, {after:,} after): check these times"
        )

    def _stretch(self) -> str:
        labels = self.periods.labels
        return labels[0] if len(labels) == 1 else f"{labels[0]} to {labels[-1]}"

    def _repeats_text(self) -> str:
        return (
            f"{self.repeats:.0%} of the facts repeat an earlier one (same subject, relation and object), "
            f"{self.repeated_pairs:.0%} are between two entities with an earlier fact"
        )

    def _sides(self) -> str:
        if self.both_sides is None:
            return "no entity has two facts"
        found = f"{self.both_sides:.0%} of the entities with two or more facts are subjects as well as objects"
        if self.two_sided:
            return f"two-sided: only {found}; paths between entities of one side need an even number of steps"
        return found

    def _similar_text(self) -> str:
        groups = (*self.similar_names.entities, *self.similar_names.relations)
        if not groups:
            return "none: no two names are equal but for case, spaces or Unicode form"
        examples = "; ".join(" = ".join(map(repr, group)) for group in groups[:_EXAMPLES])
        count = _counted(self.similar_names.superfluous, "name")
        return (
            f"{count} equal to another but for case, spaces or Unicode form: "
            f"{examples}{'; …' if len(groups) > _EXAMPLES else ''} (--normalise merges them)"
        )

    def _look_alike_text(self) -> str:
        """Names in ASCII, because they look alike otherwise; empty if there are none."""
        found = self.look_alikes
        groups = [" = ".join(map(ascii, group)) for group in (*found.entities, *found.relations)]
        shown = [*groups, *(f"{name!a} mixes scripts" for name in found.mixed_scripts)]
        if not shown:
            return ""
        examples = "; ".join(shown[:_EXAMPLES]) + ("; …" if len(shown) > _EXAMPLES else "")
        return f"{_counted(found.count, 'name')} that can be taken for another one: {examples}"


def profile_facts(facts: Facts, unit: float | None = None) -> FactsProfile:
    """Describes facts for an analyst.

    Args:
        facts: The facts; at least one.
        unit: The time unit; by default that of all facts. Training estimates it from those of the background.
    """
    known, names, calendar = facts.quadruples, facts.vocabulary, facts.calendar
    entity_facts = _facts_of_entities(known, len(names.entities))
    relation_facts = np.bincount(known.relation, minlength=len(names.relations))
    low, middle, high = quantile_ticks(known.time)
    outliers, busy = find_outliers(known.time), last_busy_tick(known.time)
    first, last = int(known.time.min()), int(known.time.max())
    usual = known.time[(known.time >= low - outliers.distance) & (known.time <= high + outliers.distance)]
    return FactsProfile(
        name=facts.name,
        facts=len(known),
        entities=int(np.count_nonzero(entity_facts)),
        relations=int(np.count_nonzero(relation_facts)),
        rows=facts.rows,
        duplicates=facts.duplicates,
        self_loops=facts.self_loops,
        mapping=facts.mapping,
        columns=facts.reading.text,
        granularity=calendar.granularity,
        time_scale=TimeScale.of(calendar, time_unit(known) if unit is None else unit),
        first_time=calendar.label(first),
        last_time=calendar.label(last),
        quantiles=(calendar.label(low), calendar.label(middle), calendar.label(high)),
        last_busy_time=calendar.label(busy),
        outliers=outliers,
        busiest_entities=_busiest(names.entities, entity_facts, len(known)),
        busiest_relations=_busiest(names.relations, relation_facts, len(known)),
        periods=count_by_period(
            known.time, _arrivals(known, entity_facts), calendar, int(usual.min()), int(usual.max())
        ),
        repeats=_repeated(known.time, known.subject, known.relation, known.object),
        repeated_pairs=_repeated(
            known.time, np.minimum(known.subject, known.object), np.maximum(known.subject, known.object)
        ),
        both_sides=_both_sides(known, entity_facts),
        similar_names=find_similar_names(facts),
        look_alikes=find_look_alikes(names),
    )


def _facts_of_entities(facts: Quadruples, entities: int) -> NDArray[np.int64]:
    """int64 [entities]: number of facts of each entity; a self-loop counts once."""
    others = facts.object[facts.object != facts.subject]
    return np.bincount(facts.subject, minlength=entities) + np.bincount(others, minlength=entities)


def _arrivals(facts: Quadruples, entity_facts: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64 [entities with facts]: the tick of the first fact of each."""
    first = np.full(len(entity_facts), np.iinfo(np.int64).max)
    for ends in (facts.subject, facts.object):
        np.minimum.at(first, ends, facts.time)
    return first[entity_facts > 0]


def _busiest(names: tuple[str, ...], counts: NDArray[np.int64], facts: int) -> tuple[Busy, ...]:
    order = np.argsort(-counts, kind="stable")[:TOP]
    return tuple(Busy(names[i], int(counts[i]), float(counts[i] / facts)) for i in order if counts[i])


def _repeated(time: Ids, *keys: Ids) -> float:
    """Share of rows whose keys occurred together at an earlier time."""
    order = np.lexsort((time, *keys))
    ordered = [column[order] for column in keys]
    same = np.ones(len(time) - 1, dtype=np.bool_)
    for column in ordered:
        same &= column[1:] == column[:-1]
    group = np.concatenate([[0], np.cumsum(~same)])
    first = time[order][np.flatnonzero(np.concatenate([[True], ~same]))]
    return float(np.mean(time[order] > first[group]))


def _both_sides(facts: Quadruples, entity_facts: NDArray[np.int64]) -> float | None:
    """Share of the entities with two or more facts that are subjects of some and objects of others."""
    size = len(entity_facts)
    apart = facts.take(facts.subject != facts.object)
    subject, object = (np.bincount(ends, minlength=size) > 0 for ends in (apart.subject, apart.object))
    enough = np.bincount(apart.subject, minlength=size) + np.bincount(apart.object, minlength=size) >= 2
    return float(np.mean((subject & object)[enough])) if enough.any() else None


def _busy_rows(label: str, busiest: tuple[Busy, ...]) -> list[tuple[str, str]]:
    texts = [f"{busy.name} ({busy.facts:,}, {busy.share:.0%})" for busy in busiest]
    return [(label, ", ".join(texts))]


def _counted(count: int, what: str) -> str:
    plural = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count:,} {what if count == 1 else plural}"
