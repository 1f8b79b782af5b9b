"""The benchmark of tables of queries."""

from __future__ import annotations

from pathlib import Path

from fitcarl.bench.batch import many_queries, time_batch
from fitcarl.runs.run import Run
from fitcarl.training.api import train
from tests.small import SMALL, data, home

__all__ = ["data", "home"]


def test_batch_equals_single_queries(data: Path, tmp_path: Path) -> None:
    train(data, out=tmp_path / "run", shots=3, preset="plus", episodes=2, settings=SMALL)
    found = time_batch(tmp_path / "run", questions=30, entities=8, top=4)
    assert (found.questions, found.entities, found.top) == (30, 8, 4)
    assert found.times > 1
    assert found.batch_ms > 0
    assert found.same_answers == 1
    assert found.max_difference < 1e-5
    facts, queries = many_queries(Run.load(tmp_path / "run"), 30, 8, 4, 1, 0)
    assert len(facts) == 8 * 3
    assert len({query.entity for query in queries}) == 8
