"""What the factorization models see of unseen entities, how they score them, and their training."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.factorization import FactorizationConfig
from fitcarl.config.settings import configure
from fitcarl.core.storage import Artifacts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.models.base import Episode, GraphContext, Preparation
from fitcarl.models.factorization.objective import QueryIds
from fitcarl.models.factorization.seen_facts import SeenFacts, training_facts
from fitcarl.models.factorization.trainable import FactorizationModel
from fitcarl.predict.predictor import Predictor
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.run import Run
from fitcarl.synthetic import generate_world
from fitcarl.tasks.task import Queries, Task, official_task, sampled_task
from fitcarl.testing import check_scorer
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.setup import ignore_progress, never_stop
from tests.small import data, home

__all__ = ["data", "home"]

MODELS = ("complex", "bique", "tntcomplex", "telm", "tero")
SEES = ("paper", "support", "fold-in")
SMALL = ("embedding.dim=16", "training.batch_size=100", "training.negatives=40", "training.validate_every=10")


@pytest.fixture(scope="module")
def dataset(data: Path) -> Dataset:
    return read_dataset(data)


def _model(dataset: Dataset, name: str, sees: str, folder: Path, updates: int = 15) -> FactorizationModel:
    margin = ["training.margin=15"] if name == "tero" else []  # distances are small at this dimension
    config = configure(settings=(*SMALL, f"sees={sees}", *margin), model=name, shots=2)
    context = GraphContext.from_dataset(dataset)
    artifacts = Artifacts(folder)
    model = FactorizationModel.prepare(
        Preparation(dataset, config, context, dataset.background, artifacts, ignore_progress, never_stop)
    )
    optimizer = model.make_optimizer(config.training.learning_rate)
    for number in range(1, updates + 1):
        optimizer.zero_grad()
        model.training_step(Episode(Task.empty(), number, number)).loss.backward()
        optimizer.step()
    return model


def _weights(model: FactorizationModel) -> bytes:
    return b"".join(parameter.detach().numpy().tobytes() for parameter in model.module.parameters())


def _test_task(dataset: Dataset, shots: int = 2) -> Task:
    return official_task(dataset.test, shots, dataset.vocabulary.relation_ids)


def _config(sees: str, shots: int = 2) -> FactorizationConfig:
    config = configure(settings=[f"sees={sees}"], model="complex", shots=shots)
    assert isinstance(config, FactorizationConfig)
    return config


# What is seen


@pytest.mark.parametrize("sees", SEES)
def test_training_facts(dataset: Dataset, sees: str) -> None:
    facts, seen = training_facts(dataset, _config(sees))
    supports = [
        official_task(meta, 2, dataset.vocabulary.relation_ids).support for meta in (dataset.valid, dataset.test)
    ]
    expected = {*dataset.background, *dataset.train.facts}
    if sees == "support":
        expected |= {fact for support in supports for fact in support.facts}
    assert set(facts) == expected
    hidden = {*dataset.valid.facts, *dataset.test.facts} - {fact for support in supports for fact in support.facts}
    assert not hidden & set(facts)
    for support in supports:
        entity = int(support.entities[0])
        own = set(support.facts.take(support.entity_of_fact == entity))
        assert seen.of_entity(entity) == (own if sees == "support" else set())


def _poisoned(dataset: Dataset) -> Dataset:
    """The dataset whose hidden facts of unseen entities state something else."""

    def poison(meta: MetaSet) -> MetaSet:
        position = np.concatenate([np.arange(size) for size in np.diff(meta.offsets)])
        hidden, facts = position >= 2, meta.facts
        owned = facts.subject == meta.entity_of_fact
        changed = Quadruples(
            np.where(hidden & ~owned, 0, facts.subject).astype(np.int32),
            np.where(hidden, 0, facts.relation).astype(np.int32),
            np.where(hidden & owned, 0, facts.object).astype(np.int32),
            facts.time,
        )
        return MetaSet(meta.entity_of_fact, changed)

    return replace(dataset, valid=poison(dataset.valid), test=poison(dataset.test))


@pytest.mark.parametrize("sees", SEES)
@pytest.mark.parametrize("name", MODELS)
def test_hidden_facts_do_not_change_the_trained_state(dataset: Dataset, name: str, sees: str, tmp_path: Path) -> None:
    poisoned = _poisoned(dataset)
    assert poisoned.digest != dataset.digest
    models = [_model(given, name, sees, tmp_path, updates=3) for given in (dataset, poisoned)]
    assert _weights(models[0]) == _weights(models[1])
    task = _test_task(dataset)
    first, second = (model.scorer().score(task, task.queries).score for model in models)
    assert np.array_equal(first, second)


@pytest.mark.parametrize("name", MODELS)
def test_sees_paper_ignores_the_support(dataset: Dataset, name: str, tmp_path: Path) -> None:
    scorer = _model(dataset, name, "paper", tmp_path, updates=3).scorer()
    task = _test_task(dataset)
    other = sampled_task(dataset.test, 3, dataset.vocabulary.relation_ids, np.random.default_rng(1))
    expected = scorer.score(task, task.queries).score
    assert np.array_equal(scorer.score(Task(other.support, task.queries), task.queries).score, expected)
    assert np.array_equal(scorer.score(Task.empty(), task.queries).score, expected)


@pytest.mark.parametrize("name", MODELS)
def test_only_models_with_time_depend_on_the_time_of_a_query(dataset: Dataset, name: str, tmp_path: Path) -> None:
    scorer = _model(dataset, name, "support", tmp_path).scorer()
    task = _test_task(dataset)
    queries = task.queries
    first, last = int(dataset.background.time.min()), int(dataset.background.time.max())

    def at(time: int) -> np.ndarray:
        moved = Queries(queries.entity, queries.relation, np.full_like(queries.time, time), queries.answer)
        return scorer.score(Task(task.support, moved), moved).score

    assert np.array_equal(at(first), at(last)) == (name in ("complex", "bique"))
    # Beyond the trained timestamps, the nearest one counts.
    assert np.array_equal(at(last), at(last + 1000))
    assert np.array_equal(at(first), at(first - 5))


@pytest.mark.parametrize("sees", SEES)
@pytest.mark.parametrize("name", MODELS)
def test_scorers_keep_the_contract(dataset: Dataset, name: str, sees: str, tmp_path: Path) -> None:
    model = _model(dataset, name, sees, tmp_path)
    check_scorer(model.scorer(), dataset, shots=2, tolerance=1e-9, check_other_draw=sees != "support")


# Rows of unseen entities


def _rows(model: FactorizationModel, task: Task) -> torch.Tensor:
    """The rows that are used for the entities of a task."""
    tables, *_ = model.scorer()._task_tables(task.support, limited=False)
    return tables.entity[torch.from_numpy(task.entities.astype(np.int64))]


def _table(model: FactorizationModel, task: Task) -> torch.Tensor:
    return model.module.entity.detach()[torch.from_numpy(task.entities.astype(np.int64))].double()


def test_trained_rows_are_used_for_the_official_support(dataset: Dataset, tmp_path: Path) -> None:
    model, task = _model(dataset, "complex", "support", tmp_path), _test_task(dataset)
    assert torch.equal(_rows(model, task), _table(model, task))


def test_more_support_than_trained_on_is_folded_in(dataset: Dataset, tmp_path: Path) -> None:
    model, task = _model(dataset, "complex", "support", tmp_path), _test_task(dataset, shots=3)
    assert not torch.isclose(_rows(model, task), _table(model, task)).all(dim=1).any()


@pytest.mark.parametrize("sees", SEES)
def test_support_that_lacks_trained_facts_is_rejected(dataset: Dataset, sees: str, tmp_path: Path) -> None:
    model = _model(dataset, "complex", sees, tmp_path)
    # All facts of meta-train entities are trained on; of the others, the official support facts if they are seen.
    tasks = [official_task(dataset.train, 2, dataset.vocabulary.relation_ids)]
    tasks += [_test_task(dataset, shots=1)] if sees == "support" else []
    for task in tasks:
        with pytest.raises(InputError, match="trained on facts of this entity"):
            model.scorer().score(task, task.queries)


def test_fold_in_fits_the_support_facts(dataset: Dataset, tmp_path: Path) -> None:
    """Each support object is ranked higher with the solved row than with the untrained row."""
    for name in MODELS:
        model, task = _model(dataset, name, "fold-in", tmp_path, updates=60), _test_task(dataset)
        seen = task.support.facts.seen_from(task.support.entity_of_fact, dataset.vocabulary.relation_ids)
        queries = Queries(seen.subject, seen.relation, seen.time, seen.object)
        ranks = []
        for sees in ("fold-in", "paper"):
            scorer = model.scorer()
            scorer._sees = sees
            table = scorer.score(Task(task.support, queries), queries).score.reshape(len(queries), -1)
            ranks.append((table > table[np.arange(len(queries)), queries.answer][:, None]).sum(axis=1).mean())
        assert ranks[0] < 0.6 * ranks[1], (name, ranks)


def test_fold_in_does_not_depend_on_the_other_entities(dataset: Dataset, tmp_path: Path) -> None:
    model, task = _model(dataset, "tntcomplex", "fold-in", tmp_path), _test_task(dataset)
    one = task.support.entity_of_fact == task.entities[0]
    alone = Task(MetaSet(task.support.entity_of_fact[one], task.support.facts.take(one)), task.queries)
    assert torch.allclose(_rows(model, alone)[0], _rows(model, task)[0], atol=0.05)


def test_fold_in_starts_at_the_mean_of_entities_with_the_relation(dataset: Dataset, tmp_path: Path) -> None:
    config = configure(settings=(*SMALL, "sees=fold-in", "fold_in.steps=0"), model="complex", shots=1)
    context = GraphContext.from_dataset(dataset)
    preparation = Preparation(
        dataset, config, context, dataset.background, Artifacts(tmp_path), ignore_progress, never_stop
    )
    model = FactorizationModel.prepare(preparation)
    task = _test_task(dataset, shots=1)
    relations = dataset.vocabulary.relation_ids
    seen = task.support.facts.seen_from(task.support.entity_of_fact, relations)
    both = dataset.background.both_directions(relations)
    for row, relation in zip(_rows(model, task), seen.relation, strict=True):
        same = np.unique(both.subject[both.relation == relation]).astype(np.int64)
        expected = model.module.entity.detach()[torch.from_numpy(same)].mean(dim=0)
        assert torch.allclose(row, expected.double(), atol=1e-6)


# Scores and training


@pytest.mark.parametrize("name", MODELS)
def test_relabelling_entities_and_relations_permutes_the_scores(dataset: Dataset, name: str, tmp_path: Path) -> None:
    model = _model(dataset, name, "support", tmp_path)
    tables, random = model.module.tables, np.random.default_rng(0)
    count_ = len(tables.relation) // 2
    entity, relation = (torch.from_numpy(random.permutation(size)) for size in (len(tables.entity), count_))
    directed = torch.cat((relation, relation + count_))
    moved = replace(tables, entity=tables.entity[entity], relation=tables.relation[directed])
    queries = QueryIds(torch.arange(6), torch.arange(6) % (2 * count_), torch.zeros(6, dtype=torch.long))
    renamed = QueryIds(torch.argsort(entity)[queries.entity], torch.argsort(directed)[queries.relation], queries.tick)
    with torch.no_grad():
        expected = model._objective.scores(tables, queries)
        found = model._objective.scores(moved, renamed)
    assert torch.allclose(found, expected[:, entity], atol=1e-6)


def test_sampled_softmax_estimates_the_sum_over_all_entities(dataset: Dataset, tmp_path: Path) -> None:
    model = _model(dataset, "complex", "paper", tmp_path)
    assert model._batches is not None
    batch, tables = model._batches.get(1), model.module.tables
    losses = []
    for negatives in (40, 10_000):
        model._objective._negatives = negatives  # type: ignore[attr-defined]
        seeds = range(60 if negatives == 40 else 1)
        found = [model._objective.loss(tables, batch, torch.Generator().manual_seed(seed))[1] for seed in seeds]
        losses.append(np.mean([values["cross_entropy"] for values in found]))
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


def test_resumed_training_equals_an_uninterrupted_one(data: Path, tmp_path: Path) -> None:
    """TeLM has both stages and everything else that the others have."""
    settings = (*SMALL, "training.first_stage=8", "training.episodes=20")
    arguments = {"shots": 2, "model": "telm", "settings": settings}
    whole = train(data, out=tmp_path / "whole", **arguments)
    for stop_after in (5, 8, 12):
        polls, out = count(1), tmp_path / f"stopped {stop_after}"
        with pytest.raises(TrainingInterrupted):
            train(data, out=out, should_stop=lambda polls=polls, last=stop_after: next(polls) >= last, **arguments)
        resumed = resume(out)
        assert resumed.folder.weights.read_bytes() == whole.folder.weights.read_bytes()
        assert resumed.folder.state.read_bytes()[-1000:] == whole.folder.state.read_bytes()[-1000:]


def test_second_stage_of_telm_trains_the_vector_parts_anew(dataset: Dataset, tmp_path: Path) -> None:
    config = configure(settings=(*SMALL, "training.first_stage=5"), model="telm", shots=2)
    context = GraphContext.from_dataset(dataset)
    preparation = Preparation(
        dataset, config, context, dataset.background, Artifacts(tmp_path), ignore_progress, never_stop
    )
    model = FactorizationModel.prepare(preparation)
    optimizer = model.make_optimizer(0.1)
    for number in range(1, 8):
        optimizer.zero_grad()
        model.training_step(Episode(Task.empty(), number, number)).loss.backward()
        before = optimizer.state[model.module.entity]["sum"].clone()
        gradient = model.module.entity.grad
        assert gradient is not None
        optimizer.step()
        after = optimizer.state[model.module.entity]["sum"]
        expected = gradient.square() if number == 6 else before + gradient.square()
        assert torch.allclose(after, expected)
        assert bool(model.module.entity[:, 4:12].any()) == (number > 5)


# Runs


@pytest.fixture(scope="module")
def runs(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    folder = tmp_path_factory.mktemp("runs")
    settings = (*SMALL, "training.episodes=10")
    return {
        sees: train(data, out=folder / sees, shots=2, model="tntcomplex", settings=(*settings, f"sees={sees}"))
        for sees in SEES
    }


@pytest.mark.parametrize("sees", SEES)
def test_loaded_run_scores_as_the_trained_one(runs: dict[str, Run], dataset: Dataset, sees: str) -> None:
    run = runs[sees]
    reports = [evaluate(given) for given in (run, run.folder.path)]
    assert reports[0].signature == reports[1].signature
    assert f"sees:{sees}" in str(reports[0].signature)
    task = _test_task(dataset)
    loaded = Run.load(run.folder.path)
    scores = [given.scorer_for(dataset).score(task, task.queries).score for given in (run, loaded)]
    assert np.array_equal(*scores)


def test_run_trained_on_supports_refuses_other_draws(runs: dict[str, Run]) -> None:
    with pytest.raises(InputError, match="official draw"):
        evaluate(runs["support"], draws=1)
    evaluate(runs["fold-in"], draws=1)


@pytest.mark.parametrize("sees", ["support", "fold-in"])
def test_new_entities_are_predicted(runs: dict[str, Run], dataset: Dataset, sees: str) -> None:
    predictor, names = Predictor.load(runs[sees]), dataset.vocabulary
    label, later = (dataset.calendar.label(int(dataset.background.time[0]) + days) for days in (0, 5))
    facts = [("New entity", names.relations[0], names.entities[int(dataset.background.object[0])], label)]
    predictor.observe(facts)
    prediction = predictor.ask("New entity", names.relations[1], later, top=5)
    assert len(prediction.answers) == 5
    assert all(not answer.paths for answer in prediction.answers)
    known = names.entities[int(dataset.background.subject[0])]
    assert predictor.ask(known, names.relations[0], later).answers


def test_sees_paper_rejects_new_entities_in_one_line(runs: dict[str, Run], dataset: Dataset) -> None:
    predictor, names = Predictor.load(runs["paper"]), dataset.vocabulary
    label, later = (dataset.calendar.label(int(dataset.background.time[0]) + days) for days in (0, 5))
    predictor.observe([("New entity", names.relations[0], names.entities[0], label)])
    with pytest.raises(InputError, match="no row for an entity") as caught:
        predictor.ask("New entity", names.relations[1], later)
    assert "\n" not in str(caught.value)
    known = names.entities[int(dataset.background.subject[0])]
    assert predictor.ask(known, names.relations[0], later).answers


@pytest.mark.parametrize("sees", ["support", "fold-in"])
def test_plain_facts(sees: str, tmp_path: Path) -> None:
    """Entities that were held out for validation have all their facts in the run, and are folded in from them."""
    facts = generate_world("tiny", seed=7).facts
    settings = (*SMALL, "training.episodes=10", f"sees={sees}")
    run = train(facts, out=tmp_path / "run", shots=2, model="tntcomplex", settings=settings)
    predictor = Predictor.load(run.folder.path)
    example = predictor.example()
    assert example is not None
    predictor.observe(example.facts)
    assert predictor.ask(example.query.subject, example.query.relation, example.query.at).answers
    held_out = read_dataset(run.folder.dataset).valid
    name = facts.vocabulary.entities[int(held_out.entities[0])]
    subject, relation, _, tick = next(iter(held_out.facts))
    sides = {"subject": name} if subject == held_out.entities[0] else {"object": name}
    label = run.calendar.label(tick + 400)
    prediction = predictor.ask(relation=facts.vocabulary.relations[relation], at=label, **sides)
    assert prediction.answers


def test_nearest_trained_timestamp() -> None:
    empty = MetaSet(np.empty(0, np.int32), Quadruples.empty())
    seen = SeenFacts(np.ones(1, dtype=np.bool_), np.array([2, 5, 9]), empty)
    times = np.array([-3, 2, 3, 4, 7, 8, 9, 50], dtype=np.int32)
    assert seen.tick_rows(times).tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
