"""What usually follows what: counts on the background graph, and on nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.concepts import Concepts, concept_distribution
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.actions import Nearest, action_space
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.plus.kernels import count_followers, count_rules

BUCKETS = 9
_WIDTHS = np.array([200, 35, 8, 2, 1, 2, 8, 35, 200], dtype=np.float64)
"""Days that fall into each bucket; the outermost are open and stand for a few hundred."""
_RULE_SLOTS = 1 << 22
_RULE_QUERIES = 60_000
_FIRST_STEPS = 2
_COMPANIONS = 200
"""Facts of a pair before and after one that are looked at for gaps."""
_PRIOR = 5.0
"""Facts that a relation is taken to have had before any was counted, spread as over all relations."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """Counts turned into log-rates, looked up for every choice of an agent."""

    follows: NDArray[np.float32]
    """float32 [9, 2R, 2R]: log-rate per tick at which a pair seen with r_s is seen with r_q at a gap t_q - t_s."""
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
    days: float
    """How many days a tick is."""
    scales: NDArray[np.float64]
    """Ticks over which activity fades, three of them."""

    @property
    def entities(self) -> int:
        return len(self.degree)


def count(
    background: Quadruples, graph: TemporalGraph, concepts: Concepts, days: float = 1.0, seed: int = 0
) -> Statistics:
    """All statistics of a background, whose graph is given bare and whose tick is so many days."""
    relations, entities = graph.relations, graph.entities
    both = Quadruples.concat([background, background.inverted(relations)])
    follows, ever = _followers(both, entities, relations, days)
    rule, rule_tries, second = _rules(both, graph, seed)
    key = both.relation.astype(np.int64) * entities + both.object
    order = np.lexsort((both.time, key))
    keys, starts = np.unique(key[order], return_index=True)
    return Statistics(
        follows,
        ever,
        rule,
        rule_tries,
        second,
        keys,
        np.append(starts, len(order)).astype(np.int64),
        both.time[order],
        np.searchsorted(keys, np.arange(relations.directed + 1, dtype=np.int64) * entities),
        np.diff(graph.base.offsets).astype(np.int32),
        concepts,
        concept_distribution(background, concepts, relations),
        days,
        np.array([2.0, 14.0, 90.0]) / days,
    )


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
