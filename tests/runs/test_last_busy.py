"""Defaults of times are after the last busy time, not after a stray fact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.calendar import Calendar
from fitcarl.data.facts import Facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.predict import Predictor
from fitcarl.serve.catalog import Catalog
from fitcarl.serve.limits import Limits
from fitcarl.synthetic import generate_world
from fitcarl.training.api import train
from tests.small import SMALL, home

__all__ = ["home"]


def with_stray_fact(facts: Facts, years: int) -> Facts:
    """The facts and a copy of the first one, some years after the last."""
    known, calendar = facts.quadruples, facts.calendar
    late = calendar.span + 365 * years
    stray = replace(known.take(slice(0, 1)), time=np.array([late], dtype=np.int32))
    granules = calendar.origin + np.append(known.time, late)
    return replace(facts, quadruples=Quadruples.concat([known, stray]), calendar=Calendar.of_granules("day", granules))


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    facts = with_stray_fact(generate_world("tiny").facts, 30)
    out: Path = tmp_path_factory.mktemp("stray") / "run"
    return Predictor.load(train(facts, out=out, shots=2, episodes=2, settings=SMALL))


def test_next_time_ignores_a_stray_fact(predictor: Predictor) -> None:
    assert predictor.calendar.label(predictor.run.context.graph.time_range[1]).startswith("2053")
    assert predictor.next_time() == "2024-01-01"


def test_next_time_is_after_the_given_facts(predictor: Predictor) -> None:
    names, relation = predictor.entities, predictor.relations[0]
    fact = predictor.check((names[0], relation, names[1], "2024-03-05"))
    assert predictor.next_time([fact]) == "2024-03-06"


def test_service_names_the_last_busy_time(predictor: Predictor) -> None:
    assert Catalog(predictor).describe_model(Limits()).last_time == "2023-12-31"
