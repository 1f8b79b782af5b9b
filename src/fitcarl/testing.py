"""Contract tests for scorers, for use in the test suites of custom scorers. Needs no test framework.

from fitcarl.testing import check_scorer

def test_my_scorer():
    dataset = fitcarl.load_dataset("demo")
    check_scorer(MyScorer(dataset), dataset, make=MyScorer)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.core.arrays import Positions
from fitcarl.data.dataset import SPLITS, Dataset, MetaSet, Split
from fitcarl.data.quadruples import Quadruples
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.scoring.scorer import Scorer
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task, official_task, sampled_task

_SUMMATION_ERROR = 1e-9
"""Sums over support facts in another order may differ by rounding."""


class ContractError(AssertionError):
    """A scorer violates the contract of ``fitcarl.Scorer``."""


def check_scorer(
    scorer: Scorer,
    dataset: Dataset,
    shots: int = 3,
    *,
    split: Split = "test",
    setting: Setting = "completion",
    make: Callable[[Dataset], Scorer] | None = None,
    tolerance: float = 0.0,
    check_support_order: bool = True,
    check_other_draw: bool = True,
) -> None:
    """Checks everything that ``evaluate_scorer`` expects of a scorer.

    - It has a name and returns ``Scores`` of all queries: distinct entities in range, finite scores, int32 and float64.
    - It is deterministic, keeps no state between tasks, and does not modify its arguments.
    - The scores of a query depend neither on the other queries of the batch nor on their order.
    - The answers of the queries are not used.
    - The order of the support facts of an entity does not matter.
    - With ``make``: of the unseen entities, no fact beyond the support is used.
    - In the setting ``forecast``: support facts of other entities and, with ``make``, background facts that are not
      before the query are not used. Replacing all of them changes no score.

    Args:
        scorer: The scorer, fitted to the dataset.
        dataset: A dataset with unseen entities in ``split``.
        shots: Support facts per unseen entity (K).
        split: The group of unseen entities.
        setting: What the queries may use.
        make: Builds the same scorer from a dataset, such as its class; it is called with a dataset without the hidden
            facts of the unseen entities.
        tolerance: Largest tolerated difference of scores that should be equal, relative to the score if it is above 1.
            Models whose matrix products depend on the batch size need a value such as 1e-5.
        check_support_order: Whether to check that the order of the support facts does not matter.
        check_other_draw: Whether to score another draw of support facts in between. A scorer that was trained on those
            of the official draw rejects other draws.

    Raises:
        ContractError: If a check fails, with the first query and entity that show it.
    """
    relations, entities = dataset.vocabulary.relation_ids, len(dataset.vocabulary.entities)
    task = official_task(dataset.meta(split), shots, relations, setting)
    if not len(task.queries):
        raise ValueError(f"{dataset.name} has no query in meta-{split} at {shots} shots")
    masked = Task(task.support, hide_answers(task.queries))
    expected = _check_output(scorer, masked, entities)
    compare = _Comparison(entities, task.queries, expected)

    if check_other_draw:
        other = sampled_task(dataset.meta(split), shots, relations, np.random.default_rng(0), setting=setting)
        scorer.score(Task(other.support, hide_answers(other.queries)), hide_answers(other.queries))
    compare(scorer.score(masked, masked.queries), "it is not deterministic or keeps state between tasks", 0.0)
    compare(scorer.score(task, task.queries), "it uses the answers of the queries", 0.0)
    moved = _with_answers(task.queries, np.roll(task.queries.answer, 1))
    compare(scorer.score(Task(task.support, moved), moved), "it uses the answers of the queries", 0.0)
    _check_batches(scorer, masked, compare, tolerance)
    if check_support_order:
        reordered = Task(_reversed_support(task.support), masked.queries)
        found = scorer.score(reordered, reordered.queries)
        compare(found, "scores depend on the order of the support facts", max(tolerance, _SUMMATION_ERROR))
    if make is not None:
        without = _without_hidden_facts(dataset, split, task)
        compare(make(without).score(masked, masked.queries), "it uses hidden facts of unseen entities", tolerance)
    if setting == "forecast":
        _check_future(scorer, dataset, masked, make, check_other_draw)


def _check_future(
    scorer: Scorer, dataset: Dataset, task: Task, make: Callable[[Dataset], Scorer] | None, replace_support: bool
) -> None:
    """Checks that facts which are not before a query do not change its scores."""
    if replace_support:  # those of entities that appear after the first queries
        asked, compare, tick = _early_queries(scorer, dataset, task, 0.05)
        late = np.flatnonzero(task.support.facts.time >= tick)
        late = late[~np.isin(task.support.entity_of_fact[late], asked.queries.entity)]
        facts = _with_other_objects(task.support.facts, late, task.support.entity_of_fact)
        changed = Task(MetaSet(task.support.entity_of_fact, facts), asked.queries)
        found = scorer.score(changed, asked.queries)
        compare(found, "it uses support facts of other entities that are not before the query", 0.0)
    if make is not None:
        asked, compare, tick = _early_queries(scorer, dataset, task, 0.5)
        background = dataset.background
        late = np.flatnonzero(background.time >= tick)
        changed_facts = _with_other_objects(background, late, background.subject)
        kept = np.ones(len(background), dtype=np.bool_)
        kept[late[::3]] = False
        other = make(replace(dataset, background=changed_facts.take(kept)))
        compare(other.score(asked, asked.queries), "it uses facts that are not before the query", 0.0)


def _early_queries(scorer: Scorer, dataset: Dataset, task: Task, share: float) -> tuple[Task, _Comparison, int]:
    """The first queries of a task by time, what to compare scores with, and the tick of the last of them."""
    tick = int(np.quantile(task.queries.visible_before, share))
    queries = task.queries.take(task.queries.visible_before <= tick)
    asked = Task(task.support, queries)
    return asked, _Comparison(len(dataset.vocabulary.entities), queries, scorer.score(asked, queries)), tick


def _with_other_objects(facts: Quadruples, chosen: NDArray[np.int64], owner: NDArray[np.int32]) -> Quadruples:
    """The facts with exchanged relations, and exchanged entities other than the owner, at some positions."""
    order = np.roll(chosen, 1)
    relation, subject, object = facts.relation.copy(), facts.subject.copy(), facts.object.copy()
    relation[chosen] = facts.relation[order]
    is_subject = facts.subject == owner
    other = np.where(is_subject, facts.object, facts.subject)[order]
    object[chosen] = np.where(is_subject[chosen], other, object[chosen])
    subject[chosen] = np.where(is_subject[chosen], subject[chosen], other)
    return Quadruples(subject, relation, object, facts.time)


def _check_output(scorer: Scorer, task: Task, entities: int) -> Scores:
    """The scores of a task, after checks of their form and of the arguments."""
    if not isinstance(scorer.name, str) or not scorer.name:
        raise ContractError("the name of a scorer must be a non-empty string")
    before = [array.copy() for array in _arrays(task)]
    scores = scorer.score(task, task.queries)
    if not isinstance(scores, Scores):
        raise ContractError(f"score() returned {type(scores).__name__} instead of Scores")
    try:
        scores.check(len(task.queries), entities)
    except ValueError as error:
        raise ContractError(str(error)) from None
    if scores.entity.dtype != np.int32 or scores.score.dtype != np.float64:
        raise ContractError(
            f"entities must be int32 and scores float64, not {scores.entity.dtype}, {scores.score.dtype}"
        )
    if not np.all(np.isfinite(scores.score)):
        raise ContractError("scores must be finite")
    if not all(map(np.array_equal, before, _arrays(task))):
        raise ContractError("it modifies its arguments")
    empty = scorer.score(task, task.queries.take(slice(0, 0)))
    if len(empty) or len(empty.entity):
        raise ContractError("an empty batch of queries must have empty scores")
    return scores


def _check_batches(scorer: Scorer, task: Task, compare: _Comparison, tolerance: float) -> None:
    queries = task.queries
    for size in (1, 7):
        parts = [scorer.score(task, queries.take(slice(i, i + size))) for i in range(0, len(queries), size)]
        compare(Scores.concat(parts), f"scores depend on the batch (batches of {size})", tolerance)
    backwards = np.arange(len(queries))[::-1]
    found = scorer.score(task, queries.take(backwards))
    ordered = Scores.concat([found.take(slice(int(i), int(i) + 1)) for i in backwards])
    compare(ordered, "scores depend on the order of the queries", tolerance)


class _Comparison:
    """Compares scores with those of the first call."""

    def __init__(self, entities: int, queries: Queries, expected: Scores) -> None:
        self._entities, self._queries, self._expected = entities, queries, expected

    def __call__(self, found: Scores, problem: str, tolerance: float) -> None:
        if len(found) != len(self._expected):
            raise ContractError(f"{problem}: scores of {len(found)} queries instead of {len(self._expected)}")
        expected, actual = self._sorted(self._expected), self._sorted(found)
        pair = np.union1d(expected[0], actual[0])
        expected_score, actual_score = _lookup(pair, *expected), _lookup(pair, *actual)
        # A shortlist may be cut off between two (almost) equal scores: its last place counts for those not listed.
        query = pair // self._entities
        if tolerance > 0:
            expected_score = np.where(
                np.isnan(expected_score), np.fmin(actual_score, _lowest(self._expected)[query]), expected_score
            )
            actual_score = np.where(
                np.isnan(actual_score), np.fmin(expected_score, _lowest(found)[query]), actual_score
            )
        scale = np.fmax(1.0, np.fmax(np.abs(expected_score), np.abs(actual_score)))
        different = ~(np.abs(expected_score - actual_score) <= tolerance * scale)
        if different.any():
            first = int(np.flatnonzero(different)[0])
            number, entity = divmod(int(pair[first]), self._entities)
            about = (int(getattr(self._queries, name)[number]) for name in ("entity", "relation", "time"))
            description = "query {} (entity {}, relation {}, time {})".format(number, *about)
            raise ContractError(
                f"{problem}: in {description}, entity {entity} scores {expected_score[first]:.9g} "
                f"and then {actual_score[first]:.9g} (nan: not listed); {int(different.sum())} scores differ"
            )

    def _sorted(self, scores: Scores) -> tuple[Positions, NDArray[np.float64]]:
        pair = scores.query * self._entities + scores.entity
        order = np.argsort(pair, kind="stable")
        return pair[order], scores.score[order]


def _lookup(all_pairs: Positions, pair: Positions, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64 [wanted]: scores by pair, nan where a pair is not listed."""
    found = np.full(len(all_pairs), np.nan)
    found[np.searchsorted(all_pairs, pair)] = score
    return found


def _lowest(scores: Scores) -> NDArray[np.float64]:
    """float64 [queries]: the lowest listed score, nan for queries without entities."""
    lowest = np.full(len(scores), np.inf)
    np.minimum.at(lowest, scores.query, scores.score)
    return np.where(np.isinf(lowest), np.nan, lowest)


def _arrays(task: Task) -> list[NDArray[np.int32]]:
    facts, queries = task.support.facts, task.queries
    return [
        *(task.support.entity_of_fact, facts.subject, facts.relation, facts.object, facts.time),
        *(queries.entity, queries.relation, queries.time, queries.answer),
    ]


def _with_answers(queries: Queries, answer: NDArray[np.int32]) -> Queries:
    return replace(queries, answer=answer)


def _reversed_support(support: MetaSet) -> MetaSet:
    """The same facts of each entity in reverse order."""
    parts = [np.arange(first, end)[::-1] for first, end in zip(support.offsets[:-1], support.offsets[1:], strict=True)]
    order = np.concatenate(parts)
    return MetaSet(support.entity_of_fact[order], support.facts.take(order))


def _without_hidden_facts(dataset: Dataset, split: Split, task: Task) -> Dataset:
    """The dataset whose unseen entities of a split have their support facts only, without dropped facts."""
    sets = {name: task.support if name == split else dataset.meta(name) for name in SPLITS}
    nothing = Quadruples.empty()
    return replace(dataset, train=sets["train"], valid=sets["valid"], test=sets["test"], dropped=nothing)
