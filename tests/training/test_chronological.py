"""Training for forecasts on a chronological split: no weight depends on a fact after the validation cut."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fitcarl.config.settings import configure
from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.facts import Facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.split import split_facts
from fitcarl.errors import InputError
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.run import Run
from fitcarl.synthetic import generate_world
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.setup import make_task_sampler, training_part
from tests.small import SMALL, SMALL_MODELS, SMALL_PAPER
from tests.training.test_loop import assert_same_weights

EPISODES = 3
MODELS = {
    "plus": SMALL,
    "paper": SMALL_PAPER,
    "complex": (*SMALL_MODELS["complex"], "sees=fold-in"),
    **{name: SMALL_MODELS[name] for name in ("lan", "mean", "gen", "filt", "titer")},
}


@pytest.fixture(scope="module")
def facts() -> Facts:
    return generate_world("tiny").facts


@pytest.fixture(scope="module")
def dataset(facts: Facts) -> Dataset:
    return split_facts(facts, name="tiny", chronological=True)


def poisoned(dataset: Dataset) -> Dataset:
    """All facts at or after the validation cut are replaced, some are removed; entities, groups and cuts stay."""
    assert dataset.cuts is not None
    rng = np.random.default_rng(0)
    cut, relations = dataset.cuts.valid, len(dataset.vocabulary.relations)
    known = np.unique(dataset.background.subject)

    def garbage(facts: Quadruples, kept: np.ndarray) -> Quadruples:
        late = facts.time >= cut
        other = rng.choice(known, len(facts)).astype(np.int32)
        subject = np.where(late & (facts.subject != kept), other, facts.subject)
        object = np.where(late & (facts.object != kept), other, facts.object)
        return Quadruples(
            subject, np.where(late, rng.integers(relations, size=len(facts)), facts.relation).astype(np.int32),
            object, facts.time,
        )  # fmt: skip

    background = garbage(dataset.background, dataset.background.subject).distinct()
    removed = (background.time >= cut) & (rng.random(len(background)) < 0.3)
    metas = {}
    for split in ("valid", "test"):
        meta = dataset.meta(split)
        found = MetaSet(meta.entity_of_fact, garbage(meta.facts, meta.entity_of_fact))
        _, first = np.unique(found.facts.rows(), axis=0, return_index=True)
        first.sort()
        metas[split] = MetaSet(found.entity_of_fact[first], found.facts.take(first))
    return replace(dataset, background=background.take(~removed), dropped=Quadruples.empty(), **metas)


def trained(data: Dataset | Facts, out: Path, name: str, setting: str = "forecast") -> Run:
    # A single validation at the end: the checkpoint is chosen by facts after the cut, the weights are not.
    settings = [*MODELS[name], f"training.validate_every={EPISODES}"]
    which = {"preset": name} if name in ("plus", "paper") else {"model": name}
    return train(data, out=out, shots=2, seed=1, episodes=EPISODES, setting=setting, settings=settings, **which)


@pytest.mark.parametrize("name", MODELS)
def test_no_weight_depends_on_facts_after_the_validation_cut(name: str, dataset: Dataset, tmp_path: Path) -> None:
    for data, folder in ((dataset, "a"), (poisoned(dataset), "b")):
        trained(data, tmp_path / folder, name)
    assert_same_weights(tmp_path / "a", tmp_path / "b")
    fitted = [file.name for file in (tmp_path / "a").glob("*.safetensors") if file.stem in ("encoder", "scaling")]
    for file in (*fitted, *(name for name in ("embeddings.safetensors",) if (tmp_path / "a" / name).exists())):
        assert tensors(tmp_path / "a" / file) == tensors(tmp_path / "b" / file)


def tensors(file: Path) -> dict[str, bytes]:
    from safetensors.numpy import load_file

    return {name: array.tobytes() for name, array in load_file(file).items()}


def test_weights_for_completion_depend_on_all_facts(dataset: Dataset, tmp_path: Path) -> None:
    for data, folder in ((dataset, "a"), (poisoned(dataset), "b")):
        trained(data, tmp_path / folder, "plus", "completion")
    assert tensors(tmp_path / "a" / "weights.safetensors") != tensors(tmp_path / "b" / "weights.safetensors")


def test_training_part_ends_at_the_validation_cut(dataset: Dataset) -> None:
    assert dataset.cuts is not None
    config = configure("plus", ["training.tasks=both"], shots=2, setting="forecast")
    part = training_part(dataset, config)
    assert part.everything == dataset.before(dataset.cuts.valid).everything
    assert len(part.train) == len(dataset.train)
    assert not len(part.valid)
    assert not len(part.test)
    assert (part.everything.time < dataset.cuts.valid).all()
    sampler = make_task_sampler(dataset, config)
    assert (sampler.always_visible_facts.time < dataset.cuts.valid).all()
    for episode in range(6):
        sampled = sampler.sample(episode)
        assert (sampled.task.support.facts.time < dataset.cuts.valid).all()
        assert (sampled.task.queries.time < dataset.cuts.valid).all()


def test_random_splits_and_completion_use_the_dataset_itself(facts: Facts, dataset: Dataset) -> None:
    random = split_facts(facts, bounds=BENCHMARK_BOUNDS)
    for data, setting in ((random, "forecast"), (random, "completion"), (dataset, "completion")):
        assert training_part(data, configure("plus", setting=setting)) is data


def test_trained_run_uses_the_whole_background(dataset: Dataset, tmp_path: Path) -> None:
    run = trained(dataset, tmp_path / "run", "plus")
    assert sorted(run.context.facts) == sorted(dataset.background)
    live, loaded = (evaluate(which, data=dataset, split="test") for which in (run, tmp_path / "run"))
    assert live.to_json()["results"] == loaded.to_json()["results"]


def test_interrupted_training_resumes_with_equal_weights(dataset: Dataset, tmp_path: Path) -> None:
    options = {"shots": 2, "episodes": 4, "setting": "forecast", "settings": SMALL}
    train(dataset, out=tmp_path / "whole", **options)
    seen: list[int] = []
    with pytest.raises(TrainingInterrupted):
        train(
            dataset,
            out=tmp_path / "run",
            **options,
            on_progress=lambda now: seen.append(now.done) if now.stage == "training" else None,
            should_stop=lambda: len(seen) == 2,
        )
    resume(tmp_path / "run", data=dataset)
    assert_same_weights(tmp_path / "whole", tmp_path / "run")


def test_plain_facts_are_forecast_from_the_past(facts: Facts, tmp_path: Path) -> None:
    """No weight depends on facts after the first emerging entity that the run is validated on."""
    run = trained(facts, tmp_path / "a", "plus")
    cuts = run.dataset().cuts
    assert cuts is not None
    late = facts.quadruples.time >= cuts.valid
    relation = np.where(late, (facts.quadruples.relation + 1) % 30, facts.quadruples.relation).astype(np.int32)
    other = replace(facts, quadruples=replace(facts.quadruples, relation=relation))
    assert trained(other, tmp_path / "b", "plus").dataset().cuts == cuts
    assert_same_weights(tmp_path / "a", tmp_path / "b")
    assert sorted(run.context.facts) == sorted(facts.quadruples)


def test_support_facts_of_the_future_are_not_trained_on(dataset: Dataset, tmp_path: Path) -> None:
    settings = SMALL_MODELS["complex"]
    with pytest.raises(InputError, match="sees=fold-in"):
        train(dataset, out=tmp_path / "run", model="complex", setting="forecast", settings=settings)
    assert not (tmp_path / "run").exists()
