"""Two minutes of chaos; ``make chaos`` takes half an hour."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fitcarl.training.api import train
from tests.chaos.phase import QUIET_SECONDS, Phase, run_phase
from tests.chaos.run import run_all, summary
from tests.small import SMALL, write_tiny

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]

FORGETFUL = """
import itertools
from fitcarl.serve.store import Store
add, number = Store.add, itertools.count()

def forgetful(self, facts, *arguments):
    found = add(self, facts, *arguments)
    if next(number) % 20 == 19:
        self.remove(found[0][0].id)
    return found

Store.add = forgetful
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = write_tiny(tmp_path_factory.mktemp("world") / "tiny")
    out = tmp_path_factory.mktemp("runs") / "tiny"
    train(data, out=out, shots=2, episodes=1, settings=(*SMALL, "training.validate_every=1"))
    return out


def test_nothing_acknowledged_is_lost(run: Path, tmp_path: Path) -> None:
    results = run_all(
        float(os.environ.get("CHAOS_SECONDS", "120")), int(os.environ.get("CHAOS_SEED", "0")), run, tmp_path
    )
    assert "sqlite" in results
    assert not any(found.problems for found in results.values()), summary(results)


def test_store_that_loses_facts_is_noticed(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service removes every twentieth fact that it acknowledges."""
    (tmp_path / "sitecustomize.py").write_text(FORGETFUL)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT / "src"), str(ROOT)]))
    results = run_phase(Phase("sqlite", QUIET_SECONDS + 5, 0), run, tmp_path)
    assert any("lost: " in problem for problem in results.problems)
