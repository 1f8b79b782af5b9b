"""Time scales of model ``plus`` are multiples of the time unit, whatever the granularity of the data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import named_facts
from fitcarl.data.io.reader import read_facts
from fitcarl.data.split import split_facts
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.action_features import action_features
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.features.inputs import DECAY_SCALES
from fitcarl.models.plus.features.scaling import FeatureScaling
from fitcarl.models.plus.features.table import FEATURES
from fitcarl.models.plus.gaps import ticks_within
from fitcarl.models.plus.statistics import GraphStatistics, compute_statistics
from fitcarl.synthetic import generate_world
from fitcarl.tasks.task import official_task


def statistics_of(context: GraphContext) -> GraphStatistics:
    return compute_statistics(context.facts, context.graph, context.concepts, context.units_per_tick)


@pytest.fixture(scope="module")
def by_year(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny world with a year for every week."""
    facts = generate_world("tiny").facts
    named = named_facts(facts.quadruples, facts.vocabulary, facts.calendar)
    ticks = facts.quadruples.time // 7
    rows = [(*fact[:3], 1900 + int(tick)) for fact, tick in zip(named, ticks, strict=True)]
    file = tmp_path_factory.mktemp("years") / "facts.tsv"
    file.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")
    return file


def split(file: Path, granularity: str) -> Dataset:
    return split_facts(read_facts(file, granularity=granularity), name="world")


def features(dataset: Dataset) -> list[np.ndarray]:
    """Everything that the policy reads, for queries about meta-validation."""
    context = GraphContext.from_dataset(dataset)
    task = official_task(dataset.valid, 3, dataset.vocabulary.relation_ids)
    graph = context.graph.with_facts(task.support.facts)
    queries = task.queries.take(slice(0, 40))
    found = action_features(graph, task.support, statistics_of(context), queries, 50, Shortlist(100))
    return [found.first_hop, found.second_hop, found.query, found.candidates.entity, found.candidates.features]


def test_years_and_integers_have_the_same_features(by_year: Path) -> None:
    years, integers = split(by_year, "year"), split(by_year, "auto")
    assert (years.calendar.granularity, integers.calendar.granularity) == ("year", "integer")
    assert years.calendar.days_per_tick == 365
    for one, other in zip(features(years), features(integers), strict=True):
        assert one.size
        np.testing.assert_array_equal(one, other)


def test_facts_of_last_year_have_weight(by_year: Path) -> None:
    context = GraphContext.from_dataset(split(by_year, "year"))
    table = statistics_of(context).decay
    assert context.time_unit == 1
    np.testing.assert_allclose(table[1], np.exp(-1 / np.array(DECAY_SCALES)), rtol=1e-6)
    assert (table[0] - table[1] > 0.01).all()  # this year and last year differ on every scale
    assert (table[10][-3:] > 0.5).all()  # and ten years ago still counts


def test_scales_of_days_with_a_unit_of_a_day(context: GraphContext) -> None:
    statistics = statistics_of(context)
    assert (context.days_per_tick, context.units_per_tick) == (1, 1)
    assert statistics.activity_scales.tolist() == [2, 14, 90]
    assert len(statistics.decay) == 402
    assert not statistics.decay[-1].any()
    np.testing.assert_allclose(statistics.decay[3], np.exp(-3 / np.array([1, 3, 7, 20, 60, 90])), rtol=1e-6)


def test_a_longer_unit_stretches_all_scales(dataset: Dataset) -> None:
    day, week = (statistics_of(GraphContext.from_dataset(dataset, unit)) for unit in (1.0, 7.0))
    np.testing.assert_allclose(week.activity_scales, 7 * day.activity_scales)
    np.testing.assert_allclose(week.decay[:-1:7], day.decay[: len(week.decay[:-1:7])], rtol=1e-5)
    assert not np.array_equal(week.cooccurrence_rate, day.cooccurrence_rate)
    assert not np.array_equal(week.excitation, day.excitation)


def test_table_of_decays_is_bounded(dataset: Dataset) -> None:
    assert len(statistics_of(GraphContext.from_dataset(dataset, 10_000.0)).decay) == 2_000_002


@pytest.mark.parametrize(("unit", "ticks"), [(1, 2), (7, 14), (365, 730), (93, 186), (2.55, 5), (0.2, 1)])
def test_windows_are_whole_ticks(unit: float, ticks: int) -> None:
    assert ticks_within(2.0, 1 / unit) == ticks


def test_names_of_features_before_time_units_are_read() -> None:
    scaling = FeatureScaling.unfitted()
    arrays = scaling.arrays()
    earlier = {"object_3", "object_20", "object_90", "activity_1", "activity_7", "activity_60"}
    assert earlier < {feature.name for feature in FEATURES}
    renamed = {name + "d" if name.removeprefix("feature.") in earlier else name: arrays[name] for name in arrays}
    np.testing.assert_array_equal(FeatureScaling.from_arrays(renamed).preselection, scaling.preselection)
    with pytest.raises(KeyError):
        FeatureScaling.from_arrays({name: array for name, array in renamed.items() if "object_20" not in name})
