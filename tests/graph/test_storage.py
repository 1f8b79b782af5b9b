from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import InputError
from fitcarl.graph.actions import Nearest, action_space
from fitcarl.graph.storage import open_graph, save_graph
from fitcarl.graph.temporal import TemporalGraph


@pytest.fixture
def graph() -> TemporalGraph:
    rng = np.random.default_rng(0)
    facts = Quadruples.from_rows(np.unique(rng.integers(0, [50, 4, 50, 30], size=(600, 4)), axis=0))
    return TemporalGraph.index(facts, 50, RelationIds(4))


def test_a_stored_graph_opens_as_it_was(graph: TemporalGraph, tmp_path: Path) -> None:
    opened = open_graph(save_graph(graph, tmp_path / "g"))
    assert opened.base.edges() == graph.base.edges()
    assert opened.relations == graph.relations
    assert opened.base.time_range == graph.base.time_range


def test_columns_stay_on_disk_and_cannot_be_written(graph: TemporalGraph, tmp_path: Path) -> None:
    opened = open_graph(save_graph(graph, tmp_path / "g"))
    for column in (opened.base.relation, opened.base.target, opened.base.time):
        assert isinstance(column.base, np.memmap)
        assert not column.flags.writeable


def test_an_opened_graph_can_be_walked_and_overlaid(graph: TemporalGraph, tmp_path: Path) -> None:
    opened = open_graph(save_graph(graph, tmp_path / "g"))
    support = Quadruples.from_rows([(3, 1, 7, 29), (9, 2, 3, 1)])
    states = np.arange(50, dtype=np.int32), np.full(50, 4, np.int32), np.full(50, 11, np.int32)
    ours = action_space(opened.overlay(support), *states, Nearest(), 10)
    theirs = action_space(graph.overlay(support), *states, Nearest(), 10)
    assert np.array_equal(ours.edge, theirs.edge)
    assert np.array_equal(ours.entity, theirs.entity)


def test_an_overlay_is_not_stored(graph: TemporalGraph, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bare"):
        save_graph(graph.overlay(Quadruples.from_rows([(0, 0, 0, 77)])), tmp_path / "g")


def test_an_existing_folder_is_not_overwritten(graph: TemporalGraph, tmp_path: Path) -> None:
    save_graph(graph, tmp_path / "g")
    with pytest.raises(InputError, match="exists already"):
        save_graph(graph, tmp_path / "g")


def test_a_truncated_column_is_named(graph: TemporalGraph, tmp_path: Path) -> None:
    folder = save_graph(graph, tmp_path / "g")
    column = folder / "time.npy"
    column.write_bytes(column.read_bytes()[:200])
    with pytest.raises(InputError, match=r"time\.npy"):
        open_graph(folder)


def test_a_folder_that_is_no_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a stored graph"):
        open_graph(tmp_path)
