"""Graph statistics: counts on the background graph, turned into log-rates and indices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.core.arrays import Positions, with_empty_groups
from fitcarl.data.calendar import MAX_SPAN
from fitcarl.data.concepts import Concepts, concept_distribution
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.graph.actions import Nearest, action_space
from fitcarl.graph.kernels import NO_PATCHES, PatchColumns
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.event_index import EVENT_INDEX, MAX_OBJECTS, event_index, frequent_objects
from fitcarl.models.plus.event_order import edges_by_pair
from fitcarl.models.plus.features.inputs import DECAY_SCALES
from fitcarl.models.plus.features.scaling import FeatureScaling
from fitcarl.models.plus.gaps import BUCKETS, WIDTHS
from fitcarl.models.plus.kernels import count_cooccurrences, count_excitation, count_rules
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.spectral import entity_embedding, relation_profile
from fitcarl.tasks.task import NO_LIMIT

RULE_SLOTS = 1 << 22
"""Maximum size of the rule tables; far more than the rules that occur in a graph of some hundred relations."""
_RULE_QUERIES = 60_000
"""Background facts used as queries to count rules."""
_RULE_BATCH = 4096
_RULE_ACTIONS = 50
"""Second hops that are tried per first hop, nearest in time."""
_FIRST_HOPS = 2
"""Random first hops per query."""
_PAIR_REACH = 200
"""Facts of an entity pair before and after a fact that are compared with it by gap."""
_EVENT_REACH = 60
"""Edges of an entity before and after an edge that are compared with it for excitation."""
_MAX_GAP = 400.0
"""Time units after which a past event has no weight."""
_RATE_PRIOR = 5.0
"""Pseudo-facts of each relation, distributed as over all relations: rates of rare relations stay near the mean."""
_EXCITATION_PRIOR = 20.0
"""The same for excitation, which counts many event pairs per fact and is noisier per fact."""
_RULE_PRIOR = 20.0
"""Pseudo-tries of each rule at the mean hit rate: after about this many tries its own rate dominates."""
_RULE_HITS, _RULE_TRIES = 1, 100
"""Pseudo-counts of the mean hit rate, which keep it above 0 on a graph with few paths."""
_MIN_RATE, _MIN_EXCITATION, _MIN_SHARE = 1e-7, 1e-8, 1e-5
"""Added before the logarithm."""
_ACTIVITY_SCALES = (2.0, 14.0, 90.0)
"""Time scales of the activity of an action's target."""

_STORED = (
    *("cooccurrence_rate", "pair_rate", "second_hop_rate", "excitation", "concept_probability"),
    *EVENT_INDEX,
    *("embedding", "entity_factors", "relation_factors", "frequent_offsets", "frequent_objects"),
)
"""Fields of GraphStatistics that are stored unchanged."""


@dataclass(frozen=True, eq=False)
class GraphStatistics:
    """Log-rates and indices of a background graph, looked up by the features of candidates and actions."""

    cooccurrence_rate: NDArray[np.float32]
    """float32 [9, 2R, 2R]: log-rate per time unit of r_q for a pair seen with r_s, by bucket of the gap t_q - t_s."""
    pair_rate: NDArray[np.float32]
    """float32 [2R, 2R]: log-share of facts of r_s whose pair is seen with r_q at any other time."""
    rule_rate: NDArray[np.float32]
    """float32 [slots]: log-share of second hops r_2 after r_1 that end at the answer to r_q; see ``rule_slot``."""
    rule_tries: NDArray[np.float32]
    """float32 [slots]: log(1 + tries) of the same rule."""
    second_hop_rate: NDArray[np.float32]
    """float32 [2R, 2R]: the same share by r_2 and r_q only."""
    object_entity: Ids
    """int32 [pairs]: o for every pair (r, o) of a relation and an object; sorted by r, then o."""
    object_offsets: NDArray[np.int64]
    """int64 [pairs + 1] into ``object_times``."""
    object_times: Ids
    """int32 [edges], ascending within a pair."""
    relation_offsets: NDArray[np.int64]
    """int64 [2R + 1] into ``object_entity``: the objects of each relation."""
    object_first: Ids
    """int32 [pairs]: the first times of the pairs of each relation, ascending."""
    relation_event_offsets: NDArray[np.int64]
    """int64 [2R + 1] into the next two fields: the events of each relation with more than ``MAX_OBJECTS`` objects."""
    relation_event_pair: Ids
    """int32 [events]: the position of the pair (r, o) of each event."""
    relation_event_time: Ids
    """int32 [events], ascending within a relation."""
    frequent_offsets: NDArray[np.int64]
    """int64 [2R + 1] into ``frequent_objects``."""
    frequent_objects: Ids
    """int32: the most frequent objects of relations with many; see ``event_index.py``."""
    degree: Ids
    """int32 [entities]."""
    first_time: Ids
    """int32 [entities]: the time of the first edge of each entity; ``NO_LIMIT`` for entities without edges."""
    concepts: Concepts
    concept_probability: NDArray[np.float64]
    """P(c | r), float64 [2R, concepts]."""
    excitation: NDArray[np.float32]
    """float32 [9, 2R, 2R]: log-rate per time unit of r_q, with another subject, for an object seen with r at a gap."""
    event_time: Ids
    """int32 [edges], ascending: the edges of the background by time; the next three fields are parallel to it."""
    event_source: Ids
    event_relation: Ids
    event_target: Ids
    embedding: NDArray[np.float32]
    """float32 [entities, d], rows of length 1: the spectral embedding; entities with the same neighbours are close."""
    entity_factors: NDArray[np.float32]
    """float32 [entities, h]; the product with ``relation_factors`` approximates log(1 + count) of (r, o)."""
    relation_factors: NDArray[np.float32]
    """float32 [2R, h]."""
    names: Names
    """Empty unless names are switched on."""
    units_per_tick: float
    scaling: FeatureScaling = field(default_factory=FeatureScaling.unfitted)
    """Shift, scale and preselection weights of the candidate features, which stay the same on every graph of a run."""
    max_objects: int = MAX_OBJECTS
    """Objects of a relation up to which a query visits all of them."""
    object_patches: PatchColumns = NO_PATCHES
    """Times of pairs (r, o), by their position in ``object_keys``, that single queries read instead."""
    event_patches: PatchColumns = NO_PATCHES
    """Events around t_q that single queries read instead of all events (group 0); see ``plus/hidden_facts.py``."""

    @property
    def entities(self) -> int:
        return len(self.degree)

    @property
    def activity_scales(self) -> NDArray[np.float64]:
        """float64 [3]: time scales of the activity of an action's target, in ticks."""
        return np.array(_ACTIVITY_SCALES) / self.units_per_tick

    @cached_property
    def excitation_rate(self) -> NDArray[np.float32]:
        """float32 [2R, 9, 2R]: exp of ``excitation`` with r_q first, so that the entries of a query are contiguous."""
        return np.ascontiguousarray(np.exp(self.excitation).transpose(2, 0, 1))

    @cached_property
    def decay(self) -> NDArray[np.float32]:
        """float32 [ticks, scales]: exp(-gap / scale) for the scales of ``DECAY_SCALES``; the last row is 0."""
        ticks = min(int(_MAX_GAP / self.units_per_tick), MAX_SPAN)
        gap = np.arange(ticks + 2) * self.units_per_tick
        table = np.exp(-gap[:, None] / np.array(DECAY_SCALES))
        table[-1] = 0
        return table.astype(np.float32)

    def with_parts(self, **parts: Any) -> GraphStatistics:
        """The same rates with other names, another event index or another scaling; derived tables are kept."""
        other = replace(self, **parts)
        other.__dict__.update({"excitation_rate": self.excitation_rate, "decay": self.decay})
        return other

    def with_capacity(self, extra: int) -> GraphStatistics:
        """The same statistics with rows for ``extra`` more entities, which have no edges."""
        return self.with_parts(
            degree=np.append(self.degree, np.zeros(extra, dtype=np.int32)),
            first_time=np.append(self.first_time, np.full(extra, NO_LIMIT, dtype=np.int32)),
            embedding=_pad_rows(self.embedding, extra),
            entity_factors=_pad_rows(self.entity_factors, extra),
            concepts=replace(self.concepts, offsets=with_empty_groups(self.concepts.offsets, extra)),
            names=self.names.with_capacity(extra),
        )

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All statistics as named arrays, to be stored; of the rule tables only the slots that were tried."""
        stored = {name: getattr(self, name) for name in _STORED}
        tried = np.flatnonzero(self.rule_tries)
        default = self.rule_rate[np.argmin(self.rule_tries)]
        rules = {
            "rule_table_size": np.array([len(self.rule_tries)]),
            "rule_slots": tried,
            "rule_tries": self.rule_tries[tried],
            "rule_rates": np.append(self.rule_rate[tried], default),
        }
        return stored | rules

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, NDArray[Any]], concepts: Concepts, names: Names, units_per_tick: float
    ) -> GraphStatistics:
        """The inverse of ``arrays``; concepts, names, the time unit and feature scaling are stored elsewhere.

        Args:
            arrays: The stored arrays by name.
            concepts: Concepts of the entities.
            names: Words of the entity names.
            units_per_tick: Time units per tick.

        Raises:
            KeyError: If an array is missing.
            ValueError: If the rule tables have a wrong size.
        """
        none = {
            "frequent_offsets": np.zeros_like(arrays["relation_offsets"]),
            "frequent_objects": np.empty(0, np.int32),
        }
        stored: dict[str, Any] = {name: (none | arrays)[name] for name in _STORED}
        rates, slots = arrays["rule_rates"], arrays["rule_slots"]
        size = rule_table_size(arrays)
        rule, tries = np.full(size, rates[-1]), np.zeros(size, dtype=np.float32)
        rule[slots], tries[slots] = rates[:-1], arrays["rule_tries"]
        return cls(
            rule_rate=rule,
            rule_tries=tries,
            concepts=concepts,
            names=names,
            units_per_tick=units_per_tick,
            **stored,
        )

    def matches(self, graph: TemporalGraph) -> bool:
        """Whether the shapes are those of the graph's background; compiled loops check no bounds."""
        n, entities, edges = graph.relations.directed, graph.entities, len(graph.base)
        events = (self.event_time, self.event_source, self.event_relation, self.event_target)
        return (
            self.rates_match(graph)
            and len(self.degree) == len(self.first_time) == entities
            and all(len(part) == edges for part in (self.object_times, *events))
            and len(self.object_offsets) == len(self.object_entity) + 1
            and len(self.object_first) == len(self.object_entity) == self.relation_offsets[-1]
            and len(self.relation_offsets) == len(self.relation_event_offsets) == n + 1
            and len(self.relation_event_pair) == len(self.relation_event_time) == self.relation_event_offsets[-1]
            and self.object_offsets[-1] == edges
            and np.array_equal(self.degree, np.diff(graph.base.offsets))
        )

    def rates_match(self, graph: TemporalGraph) -> bool:
        """Whether the shapes of rates and embeddings are those of the graph's entities and relations."""
        n, entities = graph.relations.directed, graph.entities
        return (
            self.cooccurrence_rate.shape == self.excitation.shape == (BUCKETS, n, n)
            and self.pair_rate.shape == self.second_hop_rate.shape == (n, n)
            and self.concept_probability.shape == (n, len(self.concepts.names))
            and len(self.embedding) == len(self.entity_factors) == entities
            and len(self.relation_factors) == n
            and self.entity_factors.shape[1] == self.relation_factors.shape[1]
            and len(self.frequent_offsets) == n + 1
            and len(self.frequent_objects) == self.frequent_offsets[-1]
        )


def rule_table_size(arrays: Mapping[str, NDArray[Any]]) -> int:
    """The size of the rule tables of stored statistics; older runs have the maximum.

    Args:
        arrays: The stored arrays by name.

    Raises:
        ValueError: If it is not the size for the number of relations.
    """
    size, n = arrays.get("rule_table_size"), len(arrays["second_hop_rate"])
    if size is None:
        return RULE_SLOTS
    if size.shape != (1,) or int(size[0]) not in (min(n**3, RULE_SLOTS), RULE_SLOTS):
        raise ValueError("has rule tables of a wrong size")
    return int(size[0])


def compute_statistics(
    background: Quadruples,
    graph: TemporalGraph,
    concepts: Concepts,
    units_per_tick: float = 1.0,
    seed: int = 0,
    names: Names | None = None,
    setting: Setting = "completion",
) -> GraphStatistics:
    """All statistics of a background.

    Args:
        background: The facts, each once.
        graph: The same facts, indexed, without an overlay.
        concepts: Concepts of the entities.
        units_per_tick: Time units per tick, see ``data/time_scale.py``.
        seed: Seed of the queries on which rules are counted.
        names: Words of the entity names; none by default.
        setting: In the setting ``forecast``, paths of rules use facts before the query only.
    """
    rule_rate, rule_tries, second_hop_rate = _rules(background, graph, seed, setting)
    concept_probability = concept_distribution(background, concepts, graph.relations)
    del background  # what follows reads the graph; callers that keep no reference need less memory
    cooccurrence_rate, pair_rate = _cooccurrence(graph, units_per_tick)
    entity_factors, relation_factors = relation_profile(graph)
    embedding = entity_embedding(graph)
    index = event_index(graph)  # last: it is larger than all before
    frequent_offsets, frequent = frequent_objects(index)
    return GraphStatistics(
        cooccurrence_rate=cooccurrence_rate,
        pair_rate=pair_rate,
        rule_rate=rule_rate,
        rule_tries=rule_tries,
        second_hop_rate=second_hop_rate,
        concepts=concepts,
        concept_probability=concept_probability,
        excitation=_excitation(graph, units_per_tick),
        embedding=embedding,
        entity_factors=entity_factors,
        relation_factors=relation_factors,
        names=names or Names.empty(graph.entities),
        units_per_tick=units_per_tick,
        frequent_offsets=frequent_offsets,
        frequent_objects=frequent,
        **index,
    )


def _excitation(graph: TemporalGraph, units_per_tick: float) -> NDArray[np.float32]:
    n, base = graph.relations.directed, graph.base
    near, facts = np.zeros((BUCKETS, n, n), dtype=np.float32), np.zeros(n)
    offsets, relation, target, time, _ = base.columns
    count_excitation(offsets, relation, target, time, units_per_tick, _EVENT_REACH, near, facts)
    mean = near.sum(1, keepdims=True) / max(facts.sum(), 1)
    rate = (near + _EXCITATION_PRIOR * mean) / (facts[:, None] + _EXCITATION_PRIOR) / WIDTHS[:, None, None]
    return np.log(rate + _MIN_EXCITATION).astype(np.float32)


def _cooccurrence(graph: TemporalGraph, units_per_tick: float) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """``cooccurrence_rate`` and ``pair_rate``."""
    n = graph.relations.directed
    near, ever, facts = np.zeros((BUCKETS, n, n)), np.zeros((n, n)), np.zeros(n)
    count_cooccurrences(*edges_by_pair(graph.base.columns), units_per_tick, _PAIR_REACH, near, ever, facts)
    mean = near.sum(1, keepdims=True) / max(facts.sum(), 1)
    rate = (near + _RATE_PRIOR * mean) / (facts[:, None] + _RATE_PRIOR) / WIDTHS[:, None, None]
    mean_ever = ever.sum(0, keepdims=True) / max(facts.sum(), 1)
    share = (ever + _RATE_PRIOR * mean_ever) / (facts[:, None] + _RATE_PRIOR)
    return np.log(rate + _MIN_RATE).astype(np.float32), np.log(share + _MIN_SHARE).astype(np.float32)


def _rules(
    background: Quadruples, graph: TemporalGraph, seed: int, setting: Setting
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """``rule_rate``, ``rule_tries`` and ``second_hop_rate``, counted with background facts as queries.

    The first hop leads away from the pair of the fact, so the fact itself is on no path.
    """
    n = graph.relations.directed
    rng = np.random.default_rng(seed)
    tries, hits = (np.zeros(min(n**3, RULE_SLOTS)) for _ in range(2))
    pair_tries, pair_hits = np.zeros((n, n)), np.zeros((n, n))
    chosen = rng.permutation(2 * len(background))[:_RULE_QUERIES].copy()
    for low in range(0, len(chosen), _RULE_BATCH):
        queries = _directed(background, chosen[low : low + _RULE_BATCH], graph)
        for _ in range(_FIRST_HOPS):
            # One random edge of the query entity; an edge to the answer would be a copy.
            start = graph.base.offsets[queries.subject]
            before = np.full_like(queries.time, NO_LIMIT) if setting == "completion" else queries.time
            degree = graph.base.count_before(queries.subject, before)
            edge = start + rng.integers(0, np.maximum(degree, 1))
            middle, first = graph.base.target[edge], graph.base.relation[edge]
            valid = (degree > 0) & (middle != queries.object) & (middle != queries.subject)
            query = queries.take(valid)
            arguments = Nearest(), _RULE_ACTIONS, before[valid]
            space = action_space(graph, middle[valid], query.time, query.time, *arguments)
            back = space.entity == query.subject[:, None]
            entity = np.where(back, -1, space.entity).astype(np.int32)
            count_rules(
                *(query.relation, query.object, first[valid], space.relation, entity, space.mask.sum(1)),
                *(tries, hits, pair_tries, pair_hits, n),
            )
    mean = (hits.sum() + _RULE_HITS) / (tries.sum() + _RULE_TRIES)
    second_hop = (pair_hits + _RULE_PRIOR * mean) / (pair_tries + _RULE_PRIOR)
    log_tries = np.log1p(tries).astype(np.float32)
    hits += _RULE_PRIOR * mean  # in place: these tables are large
    tries += _RULE_PRIOR
    share = np.log(np.divide(hits, tries, out=hits), out=hits)
    return share.astype(np.float32), log_tries, np.log(second_hop).astype(np.float32)


def _directed(facts: Quadruples, position: Positions, graph: TemporalGraph) -> Quadruples:
    """``facts.both_directions(graph.relations).take(position)``."""
    found = facts.take(position % max(len(facts), 1))
    turned, is_inverse = found.inverted(graph.relations), position >= len(facts)
    return Quadruples(
        np.where(is_inverse, turned.subject, found.subject),
        np.where(is_inverse, turned.relation, found.relation),
        np.where(is_inverse, turned.object, found.object),
        found.time,
    )


def _pad_rows(table: NDArray[np.float32], extra: int) -> NDArray[np.float32]:
    return np.concatenate([table, np.zeros((extra, table.shape[1]), dtype=table.dtype)])
