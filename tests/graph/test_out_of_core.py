"""Facts on disk: reading, sampling, and partitions of bounded size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.out_of_core import StoredFacts, build_graph
from fitcarl.graph.storage import open_graph
from fitcarl.graph.temporal import TemporalGraph


def stored(rows: np.ndarray, file: Path) -> StoredFacts:
    rows.astype(np.int32).tofile(file)
    highest = [int(rows[:, column].max()) + 1 for column in range(4)]
    entities = max(highest[0], highest[2])
    return StoredFacts(file, len(rows), *(np.arange(n, dtype=np.int32) for n in (entities, highest[1], highest[3])))


@pytest.mark.parametrize("chunk_rows", [1, 3, 7, 100])
@pytest.mark.parametrize("size", [1, 4, 10, 23, 50])
def test_sample_is_every_nth_fact(tmp_path: Path, chunk_rows: int, size: int) -> None:
    rows = np.arange(4 * 23).reshape(23, 4)
    facts = stored(rows, tmp_path / "facts")
    step = max(1, 23 // size)
    assert facts.sample(size, chunk_rows) == Quadruples.from_rows(rows[::step])
    assert Quadruples.concat(list(facts.read(chunk_rows))) == Quadruples.from_rows(rows)


@pytest.mark.parametrize("is_sorted", [True, False])
def test_partitions_are_near_the_requested_size(
    tmp_path: Path, is_sorted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fitcarl.graph.out_of_core._SAMPLE", 500)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, [50, 4, 50, 3000], size=(5000, 4))
    rows[::3, 0] = 7  # a third of the facts have one subject
    rows = np.unique(rows, axis=0) if is_sorted else rng.permutation(np.unique(rows, axis=0))
    (tmp_path / "graph").mkdir()
    relations = RelationIds(4)
    facts = stored(rows, tmp_path / "facts")
    built = build_graph(facts, 50, relations, tmp_path / "graph", tmp_path, chunk_rows=700, partition_edges=1000)
    assert built.facts == len(rows)
    assert built.partitions == 10
    assert built.largest_partition < 1500
    expected = TemporalGraph.from_facts(Quadruples.from_rows(rows), 50, relations)
    assert open_graph(tmp_path / "graph", thorough=True).base.edges() == expected.base.edges()
    assert [path.name for path in tmp_path.iterdir()] == ["graph"]
