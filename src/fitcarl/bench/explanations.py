"""Quality of explanations: planted causes, fidelity, coverage and time, beside simple choices of facts.

Planted causes are known on the demo world only. Fidelity and coverage need no ground truth: the answer is recomputed
without the facts that an explanation names, and with nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.bench.explanation_controls import (
    VisibleEdges,
    neighbourhood,
    random_facts,
    random_path_facts,
    recent_facts,
)
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples, Row
from fitcarl.errors import InputError
from fitcarl.evaluation.bootstrap import Interval, mean_interval
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.evaluation.ranks import rank
from fitcarl.predict.explainer import AnswerContext, facts_of_path, propose_facts
from fitcarl.predict.explanation import Explanation
from fitcarl.predict.fact import CheckedFact, Fact
from fitcarl.predict.planner import QueryPlanner
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.query import Query
from fitcarl.runs.run import Run
from fitcarl.synthetic import World, generate_world
from fitcarl.synthetic.verbs import NAMES as RELATION_NAMES
from fitcarl.tasks.task import Queries, Task, official_task

SIZES = (1, 3, 5)
"""Numbers of facts that are left out, or kept."""
_FIRST = 3
"""Facts that are compared with the planted causes."""
_DRAWS = 4
"""Random choices per answer, whose values are averaged."""
_TOP = 10
"""Answers per query whose explanations are counted."""
OURS = "explanation"


@dataclass(frozen=True)
class PlantedCauses:
    """How well the first three facts match the planted causes of events that were predicted correctly."""

    asked: int
    """Test queries about events that a rule generated."""
    right: int
    """Those answered correctly: realistic rank 1 under the time-aware filter."""
    visible: int
    """Right answers to events with a cause among the facts that may be used: the answers that are counted."""
    recall: dict[str, Interval]
    """Choice of facts → share of the visible causes among its first three facts."""
    precision: dict[str, float]
    """Choice of facts → share of its first three facts that are causes."""
    hit: dict[str, float]
    """Choice of facts → share of answers with a cause among its first three facts."""
    difference: dict[str, Interval]
    """Choice of facts → recall of the explanation minus its recall, paired over answers."""
    by_rule: dict[str, dict[str, float]]
    """Rule → number of answers, and recall of the explanation and of the first three paths."""


@dataclass(frozen=True)
class Fidelity:
    """What the answer loses without the first facts of each choice, and what it keeps with nothing else."""

    answers: int
    comprehensiveness: dict[str, dict[str, float]]
    """Choice of facts → number of facts (or ``area``, the mean) → nats of the share that are lost without them."""
    sufficiency: dict[str, dict[str, float]]
    """Choice of facts → number of facts → share of the answer with only them, relative to its share with all."""
    necessary_share: float
    """Answers with a necessary set of at most three facts."""
    additivity_error: float
    """Largest difference between the sum of all contributions and the score."""


@dataclass(frozen=True)
class ExplanationQuality:
    """The result of the benchmark."""

    data: str
    split: str
    """``test``, or ``valid`` if the dataset has no test entities."""
    setting: str
    planted: PlantedCauses | None
    """None unless the run was trained on the demo world."""
    fidelity: Fidelity
    coverage: dict[str, float]
    """Kind of explanation → share of the first ten answers; ``total`` is the share with any of them."""
    ms_per_explanation: float
    """Median wall-clock time of one full explanation."""
    cpu_ms_per_explanation: float
    """Median processor time of it."""
    ms_top_10: float
    """Median wall-clock time of a query with ten answers and three paths each, without measured effects."""

    def to_json(self) -> dict[str, Any]:
        """Plain values; those of the explanation first, those of the other choices in ``controls``."""
        planted, fidelity = self.planted, self.fidelity
        names = [name for name in fidelity.comprehensiveness if name != OURS]
        controls: dict[str, Any] = {
            name: {
                "comprehensiveness": fidelity.comprehensiveness[name],
                "sufficiency": fidelity.sufficiency[name],
                **({} if planted is None else _planted_of(planted, name)),
            }
            for name in names
        }
        return {
            "data": self.data,
            "split": self.split,
            "setting": self.setting,
            "recall_at_3": None if planted is None else planted.recall[OURS].mean,
            "planted": None if planted is None else {**_planted_of(planted, OURS), **_counts(planted)},
            "controls": controls,
            "answers": fidelity.answers,
            "comprehensiveness": fidelity.comprehensiveness[OURS],
            "sufficiency": fidelity.sufficiency[OURS],
            "necessary_share": fidelity.necessary_share,
            "additivity_error": fidelity.additivity_error,
            "coverage": self.coverage,
            "ms_per_explanation": self.ms_per_explanation,
            "cpu_ms_per_explanation": self.cpu_ms_per_explanation,
            "ms_top_10": self.ms_top_10,
        }


def _planted_of(planted: PlantedCauses, name: str) -> dict[str, Any]:
    difference = {} if name == OURS else {"difference": asdict(planted.difference[name])}
    return {
        "recall_at_3": planted.recall[name].mean,
        "interval": [planted.recall[name].low, planted.recall[name].high],
        "precision_at_3": planted.precision[name],
        "hit_at_3": planted.hit[name],
        **difference,
    }


def _counts(planted: PlantedCauses) -> dict[str, Any]:
    counts = {"asked": planted.asked, "right": planted.right, "right_with_visible_cause": planted.visible}
    return {**counts, "by_rule": planted.by_rule}


def measure_explanations(
    run: str | Path | Run,
    world: World | None = None,
    answers: int = 200,
    seed: int = 7,
    on_progress: OnProgress | None = None,
) -> ExplanationQuality:
    """Measures the explanations of a run on test queries of its dataset (meta-validation if it has no test entities).

    Args:
        run: A run, or its folder.
        world: The demo world that the run was trained on; recognised by default if it is the one of ``fitcarl demo``.
        answers: Number of test queries whose first answer is explained; drawn with a fixed seed.
        seed: Seed of the world of ``fitcarl demo``.
        on_progress: Called after every explanation.
    """
    run = run if isinstance(run, Run) else Run.load(run)
    dataset, setting = run.dataset(), run.config.setting
    split, task = _test_task(run, dataset)
    bench = _Bench(run, dataset, task)
    planted = _planted(bench, world or _demo_world(dataset, seed), on_progress)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.permutation(len(task.queries))[:answers])
    top_10 = []
    coverage: dict[str, float] = dict.fromkeys(("path", "peers", "base rate", "none"), 0.0)
    total, times, cpu, cases = 0, [], [], []
    for done, number in enumerate(chosen.tolist()):
        query = bench.query(number)
        began = perf_counter()
        [prediction] = bench.predictor.answer_checked([query], bench.facts)
        top_10.append(perf_counter() - began)
        for answer in prediction:
            coverage[_coverage_kind(answer.paths[0].kind if answer.paths else None)] += 1
            total += 1
        if not len(prediction):
            continue
        began, cpu_began = perf_counter(), process_time()
        context, explanation = bench.explain(query, prediction[0].entity)
        times.append(perf_counter() - began)
        cpu.append(process_time() - cpu_began)
        cases.append(_fidelity_case(context, explanation, np.random.default_rng(number)))
        if on_progress is not None:
            on_progress(Progress("explanations", done + 1, len(chosen), "answers"))
    shares = {kind: count / max(total, 1) for kind, count in coverage.items()}
    missing = shares.pop("none")
    return ExplanationQuality(
        dataset.name,
        split,
        setting,
        planted,
        _fidelity(cases),
        {**shares, "total": 1 - missing if total else 0.0},
        1000 * _median(times),
        1000 * _median(cpu),
        1000 * _median(top_10),
    )


def _test_task(run: Run, dataset: Dataset) -> tuple[str, Task]:
    """The official test task; that of meta-validation if the dataset has no test entities, as of a file of facts."""
    arguments = run.config.shots, dataset.vocabulary.relation_ids, run.config.setting
    for split, meta in (("test", dataset.test), ("valid", dataset.valid)):
        if len(meta):
            task = official_task(meta, *arguments)
            if len(task.queries):
                return split, task
    raise InputError("has no queries to explain", file=run.folder.path, expected="a dataset with evaluation entities")


@dataclass(frozen=True, eq=False)
class _Bench:
    """A run with the official test task: all support facts are given, as in an evaluation."""

    run: Run
    dataset: Dataset
    task: Task
    predictor: Predictor = field(init=False)
    facts: tuple[CheckedFact, ...] = field(init=False)
    planner: QueryPlanner = field(init=False)

    def __post_init__(self) -> None:
        names, label = self.dataset.vocabulary, self.dataset.calendar.label
        predictor = Predictor(self.run)
        facts = [
            predictor.check(Fact(names.entities[s], names.relations[r], names.entities[o], label(t)))
            for s, r, o, t in self.task.support.facts
        ]
        object.__setattr__(self, "predictor", predictor)
        object.__setattr__(self, "facts", tuple(dict.fromkeys(facts)))
        object.__setattr__(self, "planner", predictor.planner(self.facts))

    def query(self, number: int) -> Query:
        """A test query by name."""
        queries, names = self.task.queries, self.dataset.vocabulary
        relation, entity = int(queries.relation[number]), names.entities[int(queries.entity[number])]
        inverse = names.relation_ids.is_inverse(relation)
        subject, object = (None, entity) if inverse else (entity, None)
        asked = names.relations[names.relation_ids.base(relation)]
        at = self.dataset.calendar.label(int(queries.time[number]))
        return Query(subject, object, asked, at, _TOP, 3, hindsight=self.run.config.setting == "completion")

    def explain(self, query: Query, entity: str) -> tuple[AnswerContext, Explanation]:
        """The explanation of an answer, as a predictor gives it, and its context."""
        return self.predictor.explain_with(self.planner, query, entity)


def _demo_world(dataset: Dataset, seed: int) -> World | None:
    """The world of ``fitcarl demo`` if the dataset was made from it."""
    if not set(dataset.vocabulary.relations) <= set(RELATION_NAMES):
        return None
    world = generate_world(seed=seed)
    rows = world.rows_of(dataset.background, dataset.vocabulary, dataset.calendar)
    return world if len(rows) and (rows >= 0).all() else None


def _planted(bench: _Bench, world: World | None, on_progress: OnProgress | None) -> PlantedCauses | None:
    if world is None:
        return None
    dataset, task = bench.dataset, bench.task
    rows = world.rows_of(_events(task.queries, dataset), dataset.vocabulary, dataset.calendar)
    has_causes = np.array([row >= 0 and len(world.truth.causes_of(row)) > 0 for row in rows.tolist()], dtype=np.bool_)
    masked = Task(task.support, hide_answers(task.queries))
    scores = bench.run.model.scorer().score(masked, masked.queries)
    ranks = rank(scores, task.queries, KnownAnswers.of(dataset), len(dataset.vocabulary.entities), "time-aware")
    right = np.flatnonzero(has_causes & (ranks.of("realistic") == 1))
    graph = bench.run.context.graph.with_facts(task.support.facts)
    found: list[tuple[int, str, int, dict[str, list[tuple[int, int]]]]] = []
    for done, number in enumerate(right.tolist()):
        causes = planted_causes(world, dataset, int(rows[number]))
        before = int(task.queries.visible_before[number])
        visible = set(causes.take(graph.contains(causes) & (causes.time < before)))
        if visible:
            entity = dataset.vocabulary.entities[int(task.queries.answer[number])]
            context, explanation = bench.explain(bench.query(number), entity)
            choices = _choices(context, explanation, np.random.default_rng(number))
            hits = {
                name: [(len(visible.intersection(facts[:_FIRST])), len(facts[:_FIRST])) for facts in lists]
                for name, lists in choices.items()
            }
            rule = world.truth.rule_of(int(rows[number])).title
            found.append((int(task.queries.entity[number]), rule, len(visible), hits))
        if on_progress is not None:
            on_progress(Progress("planted causes", done + 1, len(right), "answers"))
    return _planted_summary(int(has_causes.sum()), len(right), found)


def _planted_summary(
    asked: int, right: int, found: Sequence[tuple[int, str, int, dict[str, list[tuple[int, int]]]]]
) -> PlantedCauses | None:
    """Means over answers; values of random choices are averaged first."""
    if not found:
        return None
    owner = np.array([entity for entity, _, _, _ in found], dtype=np.int32)
    names = list(found[0][3])

    def values(name: str, of: Callable[[int, int, int], float]) -> NDArray[np.float64]:
        return np.array([np.mean([of(hit, size, causes) for hit, size in hits[name]]) for _, _, causes, hits in found])

    recall = {name: values(name, lambda hit, _, causes: hit / causes) for name in names}
    rules = sorted({rule for _, rule, _, _ in found})
    of_rule = np.array([rule for _, rule, _, _ in found])
    return PlantedCauses(
        asked,
        right,
        len(found),
        {name: mean_interval(owner, recall[name]) for name in names},
        {name: float(values(name, lambda hit, _, __: hit / _FIRST).mean()) for name in names},
        {name: float(values(name, lambda hit, _, __: hit > 0).mean()) for name in names},
        {name: mean_interval(owner, recall[OURS] - recall[name]) for name in names if name != OURS},
        {
            rule: {
                "answers": int((of_rule == rule).sum()),
                "recall_at_3": float(recall[OURS][of_rule == rule].mean()),
                "first_paths": float(recall["first_paths"][of_rule == rule].mean()),
            }
            for rule in rules
        },
    )


def _choices(context: AnswerContext, explanation: Explanation, rng: np.random.Generator) -> dict[str, list[list[Row]]]:
    """Choice of facts → lists of facts, best first; several lists for random choices.

    ``first_paths`` are the facts of the three most probable paths, in the order of the paths.
    """
    facts, visible = neighbourhood(context), VisibleEdges.of(context.graph, context.before)
    by_probability = sorted(explanation.paths, key=lambda path: -path.log_prob)
    on_paths = [fact for path in by_probability for fact in facts_of_path(context, path, repeats=False)]
    return {
        OURS: [context.rows([fact.fact for fact in explanation.facts])],
        "first_paths": [list(dict.fromkeys(on_paths))],
        "recent_facts": [recent_facts(facts)],
        "random_facts": [random_facts(facts, rng) for _ in range(_DRAWS)],
        "random_paths": [random_path_facts(visible, context, rng, max(SIZES)) for _ in range(_DRAWS)],
    }


@dataclass(frozen=True)
class _FidelityCase:
    lost: dict[str, dict[int, float]]
    kept: dict[str, dict[int, float]]
    necessary: int | None
    error: float


def _fidelity_case(context: AnswerContext, explanation: Explanation, rng: np.random.Generator) -> _FidelityCase:
    """Left out and kept facts of one answer.

    At least one fact of the query entity is always kept: without any there is no answer, whatever the choice of facts.
    """
    own = list(context.support)
    universe = frozenset([*neighbourhood(context), *propose_facts(context)])
    [full] = context.answers.without([()])
    lost: dict[str, dict[int, float]] = {}
    kept: dict[str, dict[int, float]] = {}
    for name, lists in _choices(context, explanation, rng).items():
        removed = [[_leaving_one(facts, own)[:size] for size in SIZES] for facts in lists]
        alone = [[universe.difference(_with_one(facts[:size], own)) for size in SIZES] for facts in lists]
        without = [context.answers.without(sets) for sets in removed]
        with_only = [context.answers.without(sets) for sets in alone]
        lost[name] = {
            size: float(np.mean([full.log_ratio(row[place]) for row in without])) for place, size in enumerate(SIZES)
        }
        kept[name] = {
            size: float(np.mean([row[place].share / max(full.share, 1e-12) for row in with_only]))
            for place, size in enumerate(SIZES)
        }
    error = abs(sum(one.contribution for one in explanation.evidence) - (explanation.score or 0.0))
    necessary = len(explanation.necessary) if explanation.without_necessary is not None else None
    return _FidelityCase(lost, kept, necessary, error)


def _leaving_one(facts: Sequence[Row], own: Sequence[Row]) -> list[Row]:
    """The facts without those that would leave nothing known about the query entity."""
    spare, out = len(set(own)) - 1, []
    for fact in facts:
        if fact in own:
            if not spare:
                continue
            spare -= 1
        out.append(fact)
    return out


def _with_one(facts: Sequence[Row], own: Sequence[Row]) -> list[Row]:
    """The facts and, if none of them is about the query entity, its latest fact."""
    return list(facts) if set(facts) & set(own) or not own else [*facts, max(own, key=lambda fact: (fact[3], fact))]


def _fidelity(cases: Sequence[_FidelityCase]) -> Fidelity:
    names = list(cases[0].lost) if cases else [OURS]

    def means(of: Callable[[_FidelityCase], dict[str, dict[int, float]]], name: str) -> dict[str, float]:
        by_size = (
            {str(size): float(np.mean([of(case)[name][size] for case in cases])) for size in SIZES} if cases else {}
        )
        return {**by_size, "area": float(np.mean(list(by_size.values()))) if by_size else 0.0}

    small = [case.necessary is not None and case.necessary <= _FIRST for case in cases]
    return Fidelity(
        len(cases),
        {name: means(lambda case: case.lost, name) for name in names},
        {name: means(lambda case: case.kept, name) for name in names},
        float(np.mean(small)) if small else 0.0,
        max((case.error for case in cases), default=0.0),
    )


def _coverage_kind(kind: str | None) -> str:
    return {"path": "path", "peers": "peers", "context": "base rate", None: "none"}[kind]


def _events(queries: Queries, dataset: Dataset) -> Quadruples:
    """The hidden facts of the queries in their original direction."""
    hidden = Quadruples(queries.entity, queries.relation, queries.answer, queries.time)
    return hidden.in_real_direction(dataset.vocabulary.relation_ids)


def planted_causes(world: World, dataset: Dataset, row: int) -> Quadruples:
    """The planted causes of an event, with the ids of the dataset."""
    facts, names = world.facts.quadruples.take(world.truth.causes_of(row)), world.facts.vocabulary
    index, relations = dataset.vocabulary.entity_index, dataset.vocabulary.relation_index
    tick, label = dataset.calendar.tick, world.facts.calendar.label
    return Quadruples.from_rows(
        [
            (index[names.entities[s]], relations[names.relations[r]], index[names.entities[o]], tick(label(t)))
            for s, r, o, t in facts
        ]
    )


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else 0.0
