"""Fitting of shift, scale and preselection weights: what they are, and which facts they depend on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fitcarl.config.settings import configure
from fitcarl.core.storage import Artifacts
from fitcarl.data.dataset import SPLITS, Dataset
from fitcarl.data.io.dataset_folder import write_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.candidates import Shortlist, collect_candidates
from fitcarl.models.plus.features.fitting import _fit_preselection, _shift_and_scale, fit_scaling
from fitcarl.models.plus.features.scaling import FeatureScaling
from fitcarl.models.plus.features.table import FEATURES, Log, column, columns_of
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.runs.run import Run
from fitcarl.tasks.task import Task
from fitcarl.training.api import train

SHORTLIST = Shortlist(20, 10)


@pytest.fixture(scope="module")
def scaling(context: GraphContext, statistics: GraphStatistics) -> FeatureScaling:
    return fit_scaling(context.facts, context.graph, statistics, None, 3, SHORTLIST)


def equal(one: FeatureScaling, other: FeatureScaling) -> bool:
    return all(np.array_equal(one.arrays()[name], other.arrays()[name]) for name in one.arrays())


def test_scaling_does_not_depend_on_meta_sets(dataset: Dataset, scaling: FeatureScaling) -> None:
    """Facts of meta-train, meta-validation and meta-test entities do not change shift, scale or weights."""
    changed = {}
    for split in SPLITS:
        meta = dataset.meta(split)
        changed[split] = replace(meta, facts=replace(meta.facts, relation=meta.facts.relation[::-1].copy()))
    other = GraphContext.from_dataset(replace(dataset, **changed))
    model = PlusModel(configure("plus", ["policy.train_candidates=20"]), other)
    assert equal(model.statistics.scaling, scaling)


def test_scaling_depends_on_the_background(
    context: GraphContext, statistics: GraphStatistics, scaling: FeatureScaling
) -> None:
    facts = context.facts.take(np.arange(len(context.facts)) % 5 > 0)
    graph = TemporalGraph.from_facts(facts, context.graph.entities, context.graph.relations)
    assert not equal(fit_scaling(facts, graph, statistics, None, 3, SHORTLIST), scaling)


def test_equal_seeds_give_equal_scalings(
    context: GraphContext, statistics: GraphStatistics, scaling: FeatureScaling
) -> None:
    given = context.facts, context.graph, statistics, None, 3, SHORTLIST
    assert equal(fit_scaling(*given), scaling)
    assert not equal(fit_scaling(*given, seed=1), scaling)


def test_normalised_features_have_moderate_values(
    context: GraphContext, statistics: GraphStatistics, task: Task, scaling: FeatureScaling
) -> None:
    graph = context.graph.with_facts(task.support.facts)
    fitted = statistics.with_parts(scaling=scaling)
    found = collect_candidates(graph, task.support, fitted, task.queries, Shortlist(20)).features
    spread = found.std(0)
    assert np.abs(found.mean(0)).max() < 2
    assert (spread[spread > 0] < 4).all()
    assert np.median(spread[spread > 0]) == pytest.approx(1, abs=0.5)


def test_scale_gives_answers_half_of_the_weight() -> None:
    values = np.array([[0.0, 0.0, 0.0, 4.0], [np.nan, 1.0, 3.0, np.nan], [2.0, 2.0, 2.0, 2.0]])
    found = _shift_and_scale(values, np.array([False, False, False, True]))
    assert found["shift"].tolist() == pytest.approx([0, 2, 2])
    assert found["scale"].tolist() == pytest.approx([np.sqrt(8), 1, 1])  # a constant feature is not scaled


def test_preselection_ranks_answers_first() -> None:
    """The answer has the highest value of one feature; the others are noise."""
    rng = np.random.default_rng(0)
    samples = []
    for _ in range(50):
        rows = rng.normal(size=(30, len(FEATURES)))
        rows[0, column("rule_near")] = rows[:, column("rule_near")].max() + rng.normal() / 2
        samples.append((rows, 0.0))
    weights = _fit_preselection(samples, ())
    assert weights[column("rule_near")] > 3 * np.abs(np.delete(weights, column("rule_near"))).max()
    assert not weights[[place for place, feature in enumerate(FEATURES) if not feature.preselects]].any()
    assert not _fit_preselection(samples, ("neighbours",))[columns_of("neighbours")].any()


def test_preselected_features_can_be_computed_by_the_kernel() -> None:
    for feature in FEATURES:
        if feature.preselects and feature.name not in ("degree", "encoder_with_events"):
            assert isinstance(feature.transform, Log), feature.name
    arrays = FeatureScaling.unfitted().preselection_arrays()
    assert len(arrays.accumulator) == len(arrays.epsilon) == len(arrays.weight) > 5


def test_fitted_preselection_lists_more_answers(
    context: GraphContext, statistics: GraphStatistics, task: Task, scaling: FeatureScaling
) -> None:
    graph, shares = context.graph.with_facts(task.support.facts), []
    no_preselection = replace(scaling, preselection=np.zeros(len(FEATURES)))
    for which in (no_preselection, scaling):
        found = collect_candidates(
            graph, task.support, statistics.with_parts(scaling=which), task.queries, Shortlist(10)
        )
        query = np.repeat(np.arange(len(task.queries)), np.diff(found.offsets))
        shares.append((found.entity == task.queries.answer[query]).sum() / len(task.queries))
    assert shares[1] > shares[0]


def test_background_that_is_too_small_is_not_scaled(statistics: GraphStatistics) -> None:
    facts = Quadruples.from_rows([(0, 0, 1, 1), (1, 0, 2, 2)])
    graph = TemporalGraph.from_facts(facts, 3, RelationIds(1))
    assert equal(fit_scaling(facts, graph, statistics, None, 3, SHORTLIST), FeatureScaling.unfitted())


def test_scaling_stays_the_same_on_other_graphs(context: GraphContext) -> None:
    model = PlusModel(configure("plus"), context)
    facts = context.facts.take(slice(0, len(context.facts) // 2))
    graph = TemporalGraph.from_facts(facts, context.graph.entities, context.graph.relations)
    extended = context.with_capacity(2)
    for other in (model.refit_statistics(graph), model.with_graph(graph), model.with_capacity(extended)):
        assert other.statistics.scaling is model.statistics.scaling


def test_scaling_is_stored_with_the_run(dataset: Dataset, tmp_path: Path) -> None:
    write_dataset(dataset, tmp_path / "data")
    settings = ["features.encoder=off", "policy.queries_per_episode=20"]
    run = train(tmp_path / "data", out=tmp_path / "run", episodes=1, settings=settings)
    artifacts = Artifacts(run.folder.path)
    stored, about = artifacts.read("scaling")
    stored["feature.degree"] = stored["feature.degree"] * 2
    artifacts.write("scaling", stored, about)
    run.folder.write_manifest()
    again = Run.load(run.folder.path)
    assert isinstance(again.model, PlusModel)
    found = again.model.statistics.scaling
    assert found.scale[column("degree")] == float(stored["feature.degree"][1])
    del stored["feature.edges"]
    artifacts.write("scaling", stored, about)
    run.folder.write_manifest()
    with pytest.raises(InputError, match=r"scaling.safetensors.*train it again"):
        Run.load(run.folder.path)
    artifacts.path("scaling").unlink()
    with pytest.raises(InputError, match=r"scaling.safetensors.*missing"):
        Run.load(run.folder.path)
