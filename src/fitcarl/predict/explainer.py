"""Explains one answer: proposes facts by the evidence, measures their effects, and names everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.facts import named_facts
from fitcarl.data.quadruples import Quadruples, Row
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import Adjacency, TemporalGraph
from fitcarl.predict.counterfactuals import Counterfactuals
from fitcarl.predict.effects import PAIRED, FactSet, MeasuredFact, measure_effects, necessary_set, sufficient_set
from fitcarl.predict.explanation import SOURCE_LABELS, Evidence, Explanation, ExplanationKind, FactEffect, Place
from fitcarl.predict.fact import Fact
from fitcarl.scoring.evidence import BASE, FACT, PATH, EvidenceSource, facts_of
from fitcarl.scoring.path import ExplanationPath
from fitcarl.tasks.task import Queries

MAX_POOL, _SLOW_POOL = 56, 16
"""Facts whose effects are measured, and those of a scorer that needs a new graph for each."""
_SLOW_PAIRED = 4
"""Facts of which such a scorer leaves out all pairs."""
_PER_SOURCE = 8
"""Facts that one source of evidence proposes at most."""
_ANSWER_FACTS, _CONTACT_FACTS = 12, 6
"""Facts of the answer and of each contact, those nearest to the query, that are proposed."""
_SHOWN_FACTS, _SOURCE_FACTS = 10, 5
"""Facts in the explanation, and per source of evidence."""
_FALLBACK_STEPS = 8
"""Facts among which the score is divided if the scorer has no evidence of its own."""

_KINDS: dict[str, ExplanationKind] = {
    **dict.fromkeys(("path", "other_paths", "copy_support", "neighbours", "reach"), "path"),
    **dict.fromkeys(("similar_entities", "same_day", "similarity"), "peers"),
    **dict.fromkeys(("relation_popularity", "relation_profile", "activity", "excitation", "concepts"), "base rate"),
    **dict.fromkeys(("encoder", "names"), "learned"),
}
"""Source of evidence → the kind of explanation it speaks for."""


@dataclass(frozen=True, eq=False)
class AnswerContext:
    """One query and one of its answers, with everything that is needed to explain it."""

    graph: TemporalGraph
    """All facts that the query may use, apart from its time limit."""
    query: Queries
    """The query, a batch of length 1."""
    entity: int
    support: Quadruples
    """The support facts of the query entity."""
    sources: list[EvidenceSource]
    """The evidence of the scorer; empty if it has none."""
    answers: Counterfactuals
    fast: bool
    """Whether answers without facts are recomputed in batches."""
    vocabulary: Vocabulary
    calendar: Calendar

    @property
    def before(self) -> int:
        return int(self.query.visible_before[0])

    def nearness(self, fact: Row) -> tuple[int, Row]:
        """Orders facts by their distance in time from the query, then in a fixed order."""
        return abs(fact[3] - int(self.query.time[0])), fact

    @property
    def contacts(self) -> list[int]:
        """The entities of the support facts."""
        entity = np.full(len(self.support), self.query.entity[0], dtype=np.int32)
        return np.unique(self.support.seen_from(entity, self.graph.relations).object).tolist()

    def rows(self, facts: Sequence[Fact]) -> list[Row]:
        """Facts by their ids."""
        entities, relations, tick = self.vocabulary.entity_index, self.vocabulary.relation_index, self.calendar.tick
        return [(entities[s], relations[r], entities[o], tick(t)) for s, r, o, t in facts]

    def named(self, rows: Sequence[Row]) -> tuple[Fact, ...]:
        """Facts by name."""
        found = named_facts(Quadruples.from_rows(list(rows)), self.vocabulary, self.calendar)
        return tuple(Fact(*fact) for fact in found)


def explain_in_context(context: AnswerContext, explanation: Explanation) -> Explanation:
    """Fills in evidence, effects, sets and the effects of paths.

    Args:
        context: The query and the answer.
        explanation: The answer and its paths.
    """
    pool = propose_facts(context)
    paired = PAIRED if context.fast else _SLOW_PAIRED
    measured = measure_effects(context.answers, pool, paired)
    own = set(context.support)
    necessary = necessary_set(context.answers, measured, own, paired)
    sufficient = sufficient_set(context.answers, measured, own)
    evidence = _evidence(context, measured, explanation.score or 0.0)
    paths = _measured_paths(context, explanation.paths)
    found = replace(
        explanation,
        kind=explanation_kind(evidence),
        evidence=evidence,
        facts=tuple(_named_effect(context, one) for one in measured[:_SHOWN_FACTS]),
        considered=len(pool),
        necessary=_named_set(context, necessary),
        without_necessary=_place(necessary),
        sufficient=_named_set(context, sufficient),
        with_sufficient=_place(sufficient),
        paths=paths,
    )
    named = [*(one.fact for one in found.facts), *found.necessary, *found.sufficient]
    named += [fact for one in found.evidence for fact in one.facts] + [f for one in found.facts for f in one.together]
    asked, tick = int(context.query.time[0]), context.calendar.tick
    return replace(found, later=tuple(fact for fact in dict.fromkeys(named) if tick(fact.time) > asked))


def propose_facts(context: AnswerContext) -> list[Row]:
    """The facts whose effects are measured: support facts, facts behind the evidence, and the facts of the answer and
    of the contacts that are nearest to the query, in this order. Support facts take at most half of the places, unless
    there are not enough others."""
    relations = context.graph.relations
    speaking = [source for source in context.sources if source.contribution > 0 and source.chains]
    by_source = [list(facts_of(source.chains, relations))[:_PER_SOURCE] for source in speaking]
    interleaved = [fact for turn in zip_longest(*by_source) for fact in turn if fact is not None]
    size = MAX_POOL if context.fast else _SLOW_POOL
    own = sorted(context.support, key=context.nearness)
    of_contacts = [fact for contact in context.contacts for fact in nearest_of(context, contact, _CONTACT_FACTS)]
    of_answer = nearest_of(context, context.entity, _ANSWER_FACTS)
    return list(dict.fromkeys([*own[: size // 2], *interleaved, *of_answer, *of_contacts, *own]))[:size]


def nearest_of(context: AnswerContext, entity: int, count: int) -> list[Row]:
    """The facts of an entity that the query may use and that are nearest to it, in their original direction."""
    parts = [_nearest(part, entity, context, count) for part in (context.graph.base, context.graph.overlay)]
    facts = set(Quadruples.concat(parts).in_real_direction(context.graph.relations))
    return sorted(facts, key=context.nearness)[:count]


def _nearest(adjacency: Adjacency, entity: int, context: AnswerContext, count: int) -> Quadruples:
    """Visible edges of an entity: at least the nearest ``count``, with all that are equally near."""
    part = np.arange(adjacency.offsets[entity], adjacency.offsets[entity + 1])
    part = part[adjacency.time[part] < context.before]
    gap = np.abs(adjacency.time[part].astype(np.int64) - int(context.query.time[0]))
    if len(part) > count:
        part = part[gap <= np.partition(gap, count - 1)[count - 1]]
    source = np.full(len(part), entity, dtype=np.int32)
    return Quadruples(source, adjacency.relation[part], adjacency.target[part], adjacency.time[part])


def base_rate(graph: TemporalGraph, query: Queries, entity: int) -> float:
    """The share of an entity among the objects of r_q in visible background facts without the query entity."""
    relation, before = int(query.relation[0]), int(query.visible_before[0])
    base = graph.base
    used = (base.relation == relation) & (base.time < before) & (base.target != query.entity[0])
    own = slice(int(base.offsets[query.entity[0]]), int(base.offsets[query.entity[0] + 1]))
    used[own] = False
    total = int(used.sum())
    return float((used & (base.target == entity)).sum() / total) if total else 0.0


def explanation_kind(evidence: Sequence[Evidence]) -> ExplanationKind:
    """What most of the evidence speaks for, by the sums of contributions; ``facts`` if no source speaks for a kind."""
    total: dict[ExplanationKind, float] = {}
    for one in evidence:
        if one.source in _KINDS:
            kind = _KINDS[one.source]
            total[kind] = total.get(kind, 0.0) + one.contribution
    return max(total, key=lambda kind: total[kind]) if total else "facts"


def _evidence(context: AnswerContext, measured: Sequence[MeasuredFact], score: float) -> tuple[Evidence, ...]:
    if not context.sources:
        return _divided(context, measured, score)
    relations = context.graph.relations
    return tuple(
        Evidence(
            source.source,
            source.contribution,
            context.named(list(facts_of(source.chains, relations))[:_SOURCE_FACTS]),
            _label(context, source),
        )
        for source in context.sources
    )


def _label(context: AnswerContext, source: EvidenceSource) -> str:
    """The source in words; a path is named by the entities between its ends, or by the relation of its only fact."""
    if source.source != PATH:
        return SOURCE_LABELS.get(source.source, source.source)
    first, *further = source.chains[0].edges
    if further:
        return "path by way of " + " and ".join(context.vocabulary.entities[edge[0]] for edge in further)
    relation = context.vocabulary.relations[context.graph.relations.base(first[1])]
    return f"{SOURCE_LABELS[PATH]}: {relation}"


def _divided(context: AnswerContext, measured: Sequence[MeasuredFact], score: float) -> tuple[Evidence, ...]:
    """Evidence for any scorer: facts are left out one after the other, and each gets what the score loses."""
    ordered = [one.fact for one in measured if one.effect > 0][:_FALLBACK_STEPS]
    outcomes = context.answers.without([ordered[: size + 1] for size in range(len(ordered))])
    found, last = [], score
    for fact, outcome in zip(ordered, outcomes, strict=True):
        if outcome.score is None:  # it is no answer any more
            break
        [named] = context.named([fact])
        found.append(Evidence(FACT, last - outcome.score, (named,), str(named)))
        last = outcome.score
    return (*found, Evidence(BASE, last, (), "without these facts"))


def _measured_paths(context: AnswerContext, paths: Sequence[ExplanationPath]) -> tuple[ExplanationPath, ...]:
    """The paths with the answer recomputed without all their facts, largest effect first."""
    sets = [facts_of_path(context, path) for path in paths]
    outcomes = context.answers.without(sets)
    measured = [
        replace(path, share_without=outcome.share, rank_without=outcome.rank)
        for path, outcome in zip(paths, outcomes, strict=True)
    ]
    return tuple(sorted(measured, key=lambda path: (path.share_without or 0.0, -path.log_prob)))


def facts_of_path(context: AnswerContext, path: ExplanationPath, repeats: bool = True) -> list[Row]:
    """The facts of a path, at all its times or at those of the most probable path."""
    times = [tuple(step.time for step in path.steps), *(path.also if repeats else ())]
    return context.rows(
        [
            Fact(step.subject, step.relation, step.object, time)
            for at in times
            for step, time in zip(path.steps, at, strict=True)
        ]
    )


def _named_effect(context: AnswerContext, one: MeasuredFact) -> FactEffect:
    [fact] = context.named([one.fact])
    without = one.without.share, one.without.rank
    return FactEffect(*fact, *without, one.effect, context.named(one.together))


def _named_set(context: AnswerContext, found: FactSet | None) -> tuple[Fact, ...]:
    return () if found is None else context.named(found.facts)


def _place(found: FactSet | None) -> Place | None:
    return None if found is None else Place(found.outcome.share, found.outcome.rank)
