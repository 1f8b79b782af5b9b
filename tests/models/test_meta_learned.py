"""GEN and FILT in training and prediction: what they may see, resuming, data without concepts, and new entities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.config.settings import configure
from fitcarl.core.progress import ShouldStop
from fitcarl.core.storage import Artifacts, read_tensors
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.base import Episode, GraphContext, Preparation
from fitcarl.models.filt.trainable import FiltModel
from fitcarl.models.registry import trainable_class
from fitcarl.predict import Fact, Predictor, Query
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.synthetic import generate_world
from fitcarl.testing import check_scorer
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.setup import ignore_progress, never_stop, prepare_data
from tests.small import SMALL_MODELS, data, home

__all__ = ["data", "home"]

SHOTS = 2
MODELS = "gen", "filt"


@pytest.fixture(scope="module")
def tiny(data: Path) -> Dataset:
    return load_dataset(data)


def trained_weights(dataset: Dataset, name: str, folder: Path, steps: int = 3) -> dict[str, Tensor]:
    """The weights after some steps, without validation."""
    setup = prepare_data(dataset, configure(settings=SMALL_MODELS[name], model=name, shots=SHOTS), "data")
    folder.mkdir()
    artifacts, context = Artifacts(folder), GraphContext.from_dataset(dataset)
    visible = setup.sampler.always_visible_facts
    model = trainable_class(name).prepare(
        Preparation(dataset, setup.config, context, visible, artifacts, ignore_progress, never_stop)
    )
    optimizer = model.make_optimizer(0.01)
    for number in range(1, steps + 1):
        optimizer.zero_grad()
        model.training_step(Episode(setup.sampler.sample(number).task, number, number)).loss.backward()
        optimizer.step()
    return dict(model.module.state_dict())


def equal(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def poisoned(meta: MetaSet, kept: int) -> MetaSet:
    """The same unseen entities with other facts, apart from the first ``kept`` of each."""
    own = np.repeat(meta.offsets[:-1], np.diff(meta.offsets))
    hidden = np.arange(len(meta)) - own >= kept
    facts, owner = meta.facts, meta.entity_of_fact
    neighbour = np.where(facts.subject == owner, facts.object, facts.subject)
    other = np.where(hidden, np.roll(neighbour, 1), neighbour)
    relation = np.where(hidden, np.roll(facts.relation, 1), facts.relation)
    subject_is_owner = facts.subject == owner
    subject, object = np.where(subject_is_owner, owner, other), np.where(subject_is_owner, other, owner)
    return MetaSet(owner, Quadruples.of(subject, relation, object, facts.time))


@pytest.mark.parametrize("name", MODELS)
def test_facts_of_validation_and_test_entities_do_not_change_the_trained_state(
    tiny: Dataset, tmp_path: Path, name: str
) -> None:
    changed = replace(tiny, valid=poisoned(tiny.valid, SHOTS), test=poisoned(tiny.test, 0), dropped=Quadruples.empty())
    assert changed.valid != tiny.valid
    expected = trained_weights(tiny, name, tmp_path / "a")
    assert equal(trained_weights(changed, name, tmp_path / "b"), expected)
    other = replace(tiny, train=poisoned(tiny.train, SHOTS))
    assert not equal(trained_weights(other, name, tmp_path / "c"), expected)


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_validation_and_test_entities_stay_zero(tiny: Dataset, tmp_path: Path, name: str) -> None:
    rows = trained_weights(tiny, name, tmp_path / "a", steps=6)["entity_rows"]
    unseen = np.concatenate([tiny.valid.entities, tiny.test.entities]).astype(np.int64)
    assert not rows[torch.from_numpy(unseen)].any()
    assert rows[torch.from_numpy(tiny.train.entities.astype(np.int64))].any(dim=1).all()


@pytest.mark.parametrize("name", MODELS)
def test_resumed_training_equals_an_uninterrupted_one(data: Path, tmp_path: Path, name: str) -> None:
    settings = (*SMALL_MODELS[name], "training.validate_every=8")
    folder, calls, interruptions = tmp_path / "b", 0, 0

    def stop() -> bool:
        nonlocal calls
        calls += 1
        return (folder / "trace.jsonl").exists() and calls % 3 == 0

    def train_in(out: Path, should_stop: ShouldStop = never_stop) -> Run:
        return train(data, out=out, shots=SHOTS, model=name, episodes=8, settings=settings, should_stop=should_stop)

    whole = train_in(tmp_path / "a")
    while True:
        try:
            resumed = resume(folder, should_stop=stop) if interruptions else train_in(folder, stop)
            break
        except TrainingInterrupted:
            interruptions += 1
    assert interruptions >= 2
    states = [read_tensors(RunFolder(run.folder.path).state)[0] for run in (whole, resumed)]
    assert equal(*states)


def test_filt_leaves_the_concept_part_out_of_data_without_concepts(tiny: Dataset, tmp_path: Path) -> None:
    assert len(tiny.concepts)
    without = replace(tiny, concepts=Concepts.none(len(tiny.vocabulary.entities)))
    run = train(without, out=tmp_path / "run", shots=SHOTS, model="filt", episodes=2, settings=SMALL_MODELS["filt"])
    assert isinstance(run.model, FiltModel)
    assert run.model.module.concept_encoder is None
    off = (*SMALL_MODELS["filt"], "network.concepts=off")
    other = train(tiny, out=tmp_path / "off", shots=SHOTS, model="filt", episodes=2, settings=off)
    assert equal(dict(run.model.module.state_dict()), dict(other.model.module.state_dict()))


@pytest.mark.parametrize("name", MODELS)
def test_plain_facts_are_enough_and_new_entities_are_answered(tmp_path: Path, name: str) -> None:
    facts = generate_world("tiny", seed=7).facts
    train(facts, out=tmp_path / "run", shots=SHOTS, model=name, episodes=2, settings=SMALL_MODELS[name])
    run = Run.load(tmp_path / "run")
    names, (last, later) = run.vocabulary, (run.calendar.label(run.calendar.span + days) for days in (-1, 0))
    predictor = Predictor(run)
    support = [Fact("New Entity", names.relations[0], entity, last) for entity in names.entities[:2]]
    query = Query("New Entity", None, names.relations[1], later, 5, 2)
    [prediction] = predictor.answer([query], support)
    assert len(list(prediction)) == 5
    others = [Fact("New Entity", names.relations[2], entity, last) for entity in names.entities[5:7]]
    [other] = predictor.answer([query], others)
    assert [answer.score for answer in other] != [answer.score for answer in prediction]
    [known] = predictor.answer([Query(names.entities[0], None, names.relations[1], later, 5, 2)], [])
    assert len(list(known)) == 5


def test_transductive_gen_keeps_the_contract_of_scorers(data: Path, tiny: Dataset, tmp_path: Path) -> None:
    settings = (*SMALL_MODELS["gen"], "network.transductive=on")
    run = train(data, out=tmp_path / "run", shots=SHOTS, model="gen", episodes=2, settings=settings)
    check_scorer(run.scorer_for(tiny), tiny, shots=SHOTS, make=run.scorer_for, tolerance=1e-5)
