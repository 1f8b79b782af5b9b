"""What usually follows what: counts on the background graph, and on nothing else."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.concepts import Concepts, concept_distribution
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.actions import Nearest, action_space
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.features.accumulate import FADES
from fitcarl.models.plus.kernels import count_excitement, count_followers, count_rules
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.spectral import company, habits

BUCKETS = 9
_WIDTHS = np.array([200, 35, 8, 2, 1, 2, 8, 35, 200], dtype=np.float64)
"""Days that fall into each bucket; the outermost are open and stand for a few hundred."""
_RULE_SLOTS = 1 << 22
_RULE_QUERIES = 60_000
_FIRST_STEPS = 2
_COMPANIONS = 200
"""Facts of a pair before and after one that are looked at for gaps."""
_EVENTS = 60
"""Facts of an entity before and after one that are looked at for what comes with it."""
_LONGEST_GAP = 400.0
"""Days after which what happened is forgotten."""
_PRIOR = 5.0
"""Facts that a relation is taken to have had before any was counted, spread as over all relations."""


_COUNTED = (
    *("follows", "ever", "second", "keys", "key_offsets", "key_times", "relation_offsets", "degree"),
    *("concept_probability", "excites", "day_time", "day_source", "day_relation", "day_target"),
    *("similar", "habit", "habit_of"),
)
"""Parts of GraphStatistics that are stored as they are."""


@dataclass(frozen=True, eq=False)
class GraphStatistics:
    """Counts turned into log-rates, looked up for every choice of an agent."""

    follows: NDArray[np.float32]
    """float32 [9, 2R, 2R]: log-rate per day at which a pair seen with r_s is seen with r_q at a gap t_q - t_s."""
    ever: NDArray[np.float32]
    """float32 [2R, 2R]: log-share of facts of r_s whose pair is seen with r_q at any other time."""
    rule: NDArray[np.float32]
    """float32 [slots]: log-share of second steps r_2 after r_1 that end at the answer to r_q (hashed)."""
    rule_tries: NDArray[np.float32]
    """float32 [slots]: log(1 + how often that was tried)."""
    second: NDArray[np.float32]
    """float32 [2R, 2R]: the same share by r_2 and r_q alone."""
    keys: NDArray[np.int64]
    """int64 [pairs], ascending: r * entities + o for every object o that r ever had."""
    key_offsets: NDArray[np.int64]
    """int64 [pairs + 1] into ``key_times``."""
    key_times: Ids
    """int32 [edges], ascending within a pair."""
    relation_offsets: NDArray[np.int64]
    """int64 [2R + 1] into ``keys``: the objects of each relation."""
    degree: Ids
    """int32 [entities]."""
    concepts: Concepts
    concept_probability: NDArray[np.float64]
    """P(c | r), float64 [2R, concepts]."""
    excites: NDArray[np.float32]
    """float32 [9, 2R, 2R]: log-rate per day at which one who was met through r is met through r_q by somebody else."""
    day_time: Ids
    """int32 [edges], ascending: the background's edges by time, with their ends and relations beside."""
    day_source: Ids
    day_relation: Ids
    day_target: Ids
    similar: NDArray[np.float32]
    """float32 [entities, d], of length 1: entities with the same company point the same way."""
    habit: NDArray[np.float32]
    """float32 [entities, h]; with ``habit_of`` a smooth guess of log(1 + count) of (r, o), met or not."""
    habit_of: NDArray[np.float32]
    """float32 [2R, h]."""
    names: Names
    """Those of nobody unless they are switched on."""
    days_per_tick: float
    """How many days a tick is."""
    scales: NDArray[np.float64]
    """Ticks over which activity fades, three of them."""

    @property
    def entities(self) -> int:
        return len(self.degree)

    @cached_property
    def rate(self) -> NDArray[np.float32]:
        """float32 [2R, 9, 2R]: exp of ``excites`` by r_q, so that what one query looks up lies together."""
        return np.ascontiguousarray(np.exp(self.excites).transpose(2, 0, 1))

    @cached_property
    def fades(self) -> NDArray[np.float32]:
        """float32 [ticks, 6]: exp(-gap / scale) for the scales of ``FADES``; where all is faded, it is 0."""
        gap = np.arange(int(_LONGEST_GAP / self.days_per_tick) + 2) * self.days_per_tick
        table = np.exp(-gap[:, None] / np.array(FADES))
        table[-1] = 0
        return table.astype(np.float32)

    def with_parts(self, **parts: Any) -> GraphStatistics:
        """The same rates with other names or another event index; derived tables are kept."""
        other = replace(self, **parts)
        other.__dict__.update({"rate": self.rate, "fades": self.fades})
        return other

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything that was counted, to be stored; rules as those that were ever tried, which are few."""
        held = {name: getattr(self, name) for name in _COUNTED}
        tried = np.flatnonzero(self.rule_tries)
        usual = self.rule[np.argmin(self.rule_tries)]
        rules = {"tried": tried, "tries": self.rule_tries[tried], "shares": np.append(self.rule[tried], usual)}
        return held | rules | {"days_per_tick": np.array([self.days_per_tick])}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], concepts: Concepts, names: Names) -> GraphStatistics:
        """What ``arrays`` gave; concepts and names come from elsewhere. A missing part raises a KeyError."""
        shares, days = arrays["shares"], float(arrays["days_per_tick"][0])
        rule, tries = np.full(_RULE_SLOTS, shares[-1]), np.zeros(_RULE_SLOTS, dtype=np.float32)
        rule[arrays["tried"]], tries[arrays["tried"]] = shares[:-1], arrays["tries"]
        held = {name: arrays[name] for name in _COUNTED}
        return cls(
            rule=rule,
            rule_tries=tries,
            concepts=concepts,
            names=names,
            days_per_tick=days,
            scales=_scales(days),
            **held,
        )

    def matches(self, graph: TemporalGraph) -> bool:
        """Whether these can be of that graph's background: compiled loops check no bounds."""
        n, entities, edges = graph.relations.directed, graph.entities, len(graph.base)
        square = (n, n)
        return (
            self.follows.shape == self.excites.shape == (BUCKETS, *square)
            and self.ever.shape == self.second.shape == square
            and self.concept_probability.shape == (n, len(self.concepts.names))
            and len(self.degree) == len(self.similar) == len(self.habit) == entities
            and len(self.habit_of) == n
            and self.habit.shape[1] == self.habit_of.shape[1]
            and all(len(part) == edges for part in (self.key_times, self.day_time, self.day_source, self.day_target))
            and len(self.day_relation) == edges
            and len(self.key_offsets) == len(self.keys) + 1
            and len(self.relation_offsets) == n + 1
            and self.relation_offsets[-1] == len(self.keys)
            and self.key_offsets[-1] == edges
            and np.array_equal(self.degree, np.diff(graph.base.offsets))
        )

    def with_capacity(self, extra: int) -> GraphStatistics:
        """The same counts with room for so many more entities, which nobody has met yet."""
        relation, entity = np.divmod(self.keys, self.entities)
        ends = self.concepts.offsets
        return replace(
            self,
            keys=relation * (self.entities + extra) + entity,
            degree=np.append(self.degree, np.zeros(extra, dtype=np.int32)),
            similar=_with_rows(self.similar, extra),
            habit=_with_rows(self.habit, extra),
            concepts=replace(self.concepts, offsets=np.append(ends, np.full(extra, ends[-1]))),
            names=self.names.with_capacity(extra),
        )


def compute_statistics(
    background: Quadruples,
    graph: TemporalGraph,
    concepts: Concepts,
    days: float = 1.0,
    seed: int = 0,
    names: Names | None = None,
) -> GraphStatistics:
    """All statistics of a background, whose graph is given bare and whose tick is so many days."""
    relations = graph.relations
    both = background.both_directions(relations)
    follows, ever = _followers(both, graph.entities, relations, days)
    rule, rule_tries, second = _rules(both, graph, seed)
    habit, habit_of = habits(graph)
    return GraphStatistics(
        follows=follows,
        ever=ever,
        rule=rule,
        rule_tries=rule_tries,
        second=second,
        concepts=concepts,
        concept_probability=concept_distribution(background, concepts, relations),
        excites=_excitement(graph, days),
        similar=company(graph),
        habit=habit,
        habit_of=habit_of,
        names=names or Names.empty(graph.entities),
        days_per_tick=days,
        scales=_scales(days),
        **event_index(graph),
    )


def event_index(graph: TemporalGraph) -> dict[str, Any]:
    """Parts of GraphStatistics that are read off a graph: the times of each (relation, object), and edges by time."""
    edges, entities = graph.base.edges(), graph.entities
    key = edges.relation.astype(np.int64) * entities + edges.object
    order = np.lexsort((edges.time, key))
    keys, starts = np.unique(key[order], return_index=True)
    by_time = np.argsort(edges.time, kind="stable")
    return {
        "keys": keys,
        "key_offsets": np.append(starts, len(order)).astype(np.int64),
        "key_times": edges.time[order],
        "relation_offsets": np.searchsorted(keys, np.arange(graph.relations.directed + 1, dtype=np.int64) * entities),
        "degree": np.diff(graph.base.offsets).astype(np.int32),
        "day_time": edges.time[by_time],
        "day_source": edges.subject[by_time],
        "day_relation": edges.relation[by_time],
        "day_target": edges.object[by_time],
    }


def _excitement(graph: TemporalGraph, days: float) -> NDArray[np.float32]:
    n, base = graph.relations.directed, graph.base
    near, facts = np.zeros((BUCKETS, n, n), dtype=np.float32), np.zeros(n)
    count_excitement(base.offsets, base.relation, base.target, base.time, days, _EVENTS, near, facts)
    usual = near.sum(1, keepdims=True) / max(facts.sum(), 1)
    rate = (near + 4 * _PRIOR * usual) / (facts[:, None] + 4 * _PRIOR) / _WIDTHS[:, None, None]
    return np.log(rate + 1e-8).astype(np.float32)


def _followers(
    both: Quadruples, entities: int, relations: RelationIds, days: float
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    both = both.take(both.subject != both.object)  # a self-loop is its own inverse's companion
    pair = both.subject.astype(np.int64) * entities + both.object
    order = np.lexsort((both.time, pair))
    offsets = np.append(np.unique(pair[order], return_index=True)[1], len(order)).astype(np.int64)
    n = relations.directed
    near, ever, facts = np.zeros((BUCKETS, n, n)), np.zeros((n, n)), np.zeros(n)
    count_followers(offsets, both.relation[order], both.time[order], days, _COMPANIONS, near, ever, facts)
    usual = near.sum(1, keepdims=True) / max(facts.sum(), 1)
    rate = (near + _PRIOR * usual) / (facts[:, None] + _PRIOR) / _WIDTHS[:, None, None]
    usual_ever = ever.sum(0, keepdims=True) / max(facts.sum(), 1)
    share = (ever + _PRIOR * usual_ever) / (facts[:, None] + _PRIOR)
    return np.log(rate + 1e-7).astype(np.float32), np.log(share + 1e-5).astype(np.float32)


def _rules(
    both: Quadruples, graph: TemporalGraph, seed: int
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Tries second steps on facts of the background, each time as if the fact were asked for.

    The first step leads away from the fact's own pair, so the fact itself is on no path.
    """
    n = graph.relations.directed
    rng = np.random.default_rng(seed)
    tries, hits = np.zeros(_RULE_SLOTS), np.zeros(_RULE_SLOTS)
    pair_tries, pair_hits = np.zeros((n, n)), np.zeros((n, n))
    chosen = rng.permutation(len(both))[:_RULE_QUERIES]
    for low in range(0, len(chosen), 4096):
        asked = both.take(chosen[low : low + 4096])
        for _ in range(_FIRST_STEPS):
            # One edge of the asking entity at random; those to the answer itself would be copies.
            start = graph.base.offsets[asked.subject]
            edge = start + rng.integers(0, np.maximum(graph.base.degree(asked.subject), 1))
            middle, first = graph.base.target[edge], graph.base.relation[edge]
            fine = (middle != asked.object) & (middle != asked.subject)
            query = asked.take(fine)
            space = action_space(graph, middle[fine], query.time, query.time, Nearest(), 50)
            back = space.entity == query.subject[:, None]
            entity = np.where(back, -1, space.entity).astype(np.int32)
            count_rules(
                *(query.relation, query.object, first[fine], space.relation, entity, space.mask.sum(1)),
                *(tries, hits, pair_tries, pair_hits, n),
            )
    usual = (hits.sum() + 1) / (tries.sum() + 100)  # never 0, however few paths there are
    second = (pair_hits + 20 * usual) / (pair_tries + 20)
    share = (hits + 20 * usual) / (tries + 20)
    return (
        np.log(share).astype(np.float32),
        np.log1p(tries).astype(np.float32),
        np.log(second).astype(np.float32),
    )


def _with_rows(table: NDArray[np.float32], extra: int) -> NDArray[np.float32]:
    return np.concatenate([table, np.zeros((extra, table.shape[1]), dtype=table.dtype)])


def _scales(days: float) -> NDArray[np.float64]:
    return np.array([2.0, 14.0, 90.0]) / days
