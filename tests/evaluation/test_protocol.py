"""The evaluation protocol: hidden answers, chunks, draws, extreme scorers."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.core.progress import Progress
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.evaluation import evaluate_scorer
from fitcarl.evaluation.filtering import FILTERS, KnownAnswers
from fitcarl.evaluation.plan import draw_tasks
from fitcarl.evaluation.protocol import peak_mb
from fitcarl.evaluation.ranks import RANK_TYPES
from fitcarl.models.heuristics import AllEqual, CopySupport
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries, Task, official_task
from tests.evaluation.reference import dataset_of, meta_set, random_dataset

DATASET = random_dataset()
RELATIONS = DATASET.vocabulary.relation_ids
ENTITIES = len(DATASET.vocabulary.entities)


class Perfect:
    """Lists the true answers, which it gets in the order of the queries."""

    name = "perfect"

    def __init__(self, answer: np.ndarray) -> None:
        self.answer_to = iter(answer.tolist())

    def score(self, task: Task, queries: Queries) -> Scores:  # noqa: ARG002
        answers = [next(self.answer_to) for _ in range(len(queries))]
        return Scores(np.arange(len(queries) + 1), np.array(answers, np.int32), np.zeros(len(queries)))


class Recorder(CopySupport):
    """Records all tasks and queries that it receives."""

    def __init__(self, dataset: Dataset) -> None:
        super().__init__(dataset)
        self.seen: list[tuple[Task, Queries]] = []

    def score(self, task: Task, queries: Queries) -> Scores:
        self.seen.append((task, queries))
        return super().score(task, queries)


def test_answers_are_hidden_from_scorer():
    recorder = Recorder(DATASET)
    evaluate_scorer(recorder, DATASET, "test", 3, draws=2, chunk=5)
    assert len(recorder.seen) > 3
    for task, queries in recorder.seen:
        assert set(queries.answer.tolist()) == set(task.queries.answer.tolist()) == {-1}


def test_scorer_receives_support_and_queries_only():
    recorder = Recorder(DATASET)
    evaluate_scorer(recorder, DATASET, "test", 3)
    official = official_task(DATASET.test, 3, RELATIONS)
    for task, _ in recorder.seen:
        assert task.support == official.support
        assert set(vars(task)) == {"support", "queries"}


def test_chunks_cover_every_query_once_in_order():
    recorder = Recorder(DATASET)
    report = evaluate_scorer(recorder, DATASET, "test", 3, chunk=7)
    sizes = [len(queries) for _, queries in recorder.seen]
    assert max(sizes) == 7
    assert sum(sizes) == report.realistic.queries
    joined = np.concatenate([queries.time for _, queries in recorder.seen])
    np.testing.assert_array_equal(joined, report.official.queries.time)


@pytest.mark.parametrize("chunk", [1, 7])
def test_chunk_size_does_not_change_ranks(chunk):
    report = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3)
    parts = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3, chunk=chunk)
    for filter in FILTERS:
        np.testing.assert_array_equal(report.official.ranks[filter].greater, parts.official.ranks[filter].greater)
        np.testing.assert_array_equal(report.official.ranks[filter].equal, parts.official.ranks[filter].equal)


def test_perfect_scorer_has_all_metrics_1():
    report = evaluate_scorer(Perfect(official_task(DATASET.test, 3, RELATIONS).queries.answer), DATASET, "test", 3)
    for row in (*report.results.values(), report.paper):
        assert (row.mrr, row.amri, row.ci_low, row.ci_high) == (1, 1, 1, 1)
        assert set(row.hits.values()) == {1}
    assert report.coverage == 1
    assert not report.tie_alarm.alarm


def test_equal_scores_have_amri_0_and_tie_alarm():
    report = evaluate_scorer(AllEqual(DATASET), DATASET, "test", 3)
    for filter in FILTERS:
        assert report.results["realistic", filter].amri == pytest.approx(0, abs=1e-12)
        assert report.results["optimistic", filter].mrr == 1
    assert report.realistic.mrr < 0.06
    assert report.tie_alarm.alarm
    assert report.tie_alarm.tied == 1
    assert report.paper.mrr == 1  # optimistic ranks reward ties


def test_empty_scores_are_ranked_like_equal_scores():
    class Silent(AllEqual):
        def score(self, task: Task, queries: Queries) -> Scores:  # noqa: ARG002
            return Scores.summed([], [], [], len(queries), self.entities)

    silent, equal = (evaluate_scorer(scorer(DATASET), DATASET, "test", 1) for scorer in (Silent, AllEqual))
    assert silent.results == equal.results
    assert silent.coverage == 0
    assert silent.paper.mrr == pytest.approx(1 / ENTITIES)


def test_relabelling_entities_does_not_change_metrics():
    order = np.random.default_rng(1).permutation(ENTITIES).astype(np.int32)

    def moved(facts: Quadruples) -> Quadruples:
        return Quadruples(order[facts.subject], facts.relation, order[facts.object], facts.time)

    sets = {split: MetaSet(order[meta.entity_of_fact], moved(meta.facts)) for split, meta in _sets(DATASET).items()}
    other = Dataset(
        "small",
        DATASET.vocabulary,
        DATASET.calendar,
        moved(DATASET.background),
        **sets,
        dropped=moved(DATASET.dropped),
        concepts=DATASET.concepts,
    )
    first_report, second_report = (
        evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3),
        evaluate_scorer(CopySupport(other), other, "test", 3),
    )
    for key, row in first_report.results.items():
        assert second_report.results[key].mrr == pytest.approx(row.mrr)
        assert second_report.results[key].hits == row.hits
        assert second_report.results[key].amri == pytest.approx(row.amri)


def _sets(dataset: Dataset) -> dict[str, MetaSet]:
    return {"train": dataset.train, "valid": dataset.valid, "test": dataset.test}


def test_draws_are_reproducible_and_independent_of_their_number():
    three = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3, draws=3, seed=5)
    five = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3, draws=5, seed=5)
    other = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3, draws=3, seed=6)
    assert three.mrr_by_draw == five.mrr_by_draw[:4]
    assert three.mrr_by_draw[0] == other.mrr_by_draw[0]
    assert three.mrr_by_draw[1:] != other.mrr_by_draw[1:]
    assert len(set(five.mrr_by_draw)) > 1


def test_every_draw_has_other_supports():
    tasks = draw_tasks(DATASET.test, 3, RELATIONS, draws=3, seed=0)
    supports = [tuple(map(tuple, task.support.facts.rows().tolist())) for task in tasks]
    assert len(set(supports)) == len(tasks)


def test_results_are_those_of_the_official_draw():
    without_known = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3)
    more = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3, draws=4)
    assert [without_known.results[kind, filter].mrr for kind in RANK_TYPES for filter in FILTERS] == [
        more.results[kind, filter].mrr for kind in RANK_TYPES for filter in FILTERS
    ]


def test_progress_counts_up_to_all_queries():
    updates: list[Progress] = []
    report = evaluate_scorer(AllEqual(DATASET), DATASET, "test", 3, draws=1, chunk=10, on_progress=updates.append)
    total = sum(len(draw.queries) for draw in report.draws)
    assert (updates[-1].done, updates[-1].total) == (total, total)
    done = [update.done for update in updates]
    assert done == sorted(set(done))


def test_known_answers_can_be_shared_between_evaluations():
    known = KnownAnswers.of(DATASET)
    shared = evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3, known=known)
    assert shared.results == evaluate_scorer(CopySupport(DATASET), DATASET, "test", 3).results


def test_split_without_queries_is_input_error():
    dataset = dataset_of([(0, 0, 1, 0)], entities=4, relations=1, test=meta_set([(3, 3, 0, 1, 0)]))
    with pytest.raises(InputError, match="no query at 3 shots"):
        evaluate_scorer(AllEqual(dataset), dataset, "test", 3)
    with pytest.raises(InputError, match="shots"):
        evaluate_scorer(AllEqual(dataset), dataset, "test", 0)


def test_peak_memory_is_in_megabytes():
    held = np.ones(40_000_000, dtype=np.int8)  # 40 MB
    assert 40 < peak_mb() < 100_000
    del held
