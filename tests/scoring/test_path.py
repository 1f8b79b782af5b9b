"""Explanation paths: facts in their original direction, texts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.models.paths import BeamPaths, BeamStep, best_paths_to, explanation_path
from fitcarl.scoring.path import ExplanationPath, PathStep, make_step

VOCABULARY = Vocabulary(("Ann", "Bob", "Cy"), ("meets", "sues"))
CALENDAR = Calendar.of_granules("day", [19_000, 19_001, 19_009])


def beam_step(relation: list[int], entity: list[int], time: list[int], log_probability: float) -> BeamStep:
    ids = (np.array([column], dtype=np.int32) for column in (relation, entity, time))
    return BeamStep(*ids, np.full((1, len(relation)), log_probability), np.array([[0.25] * len(relation)]))


@pytest.fixture
def paths() -> BeamPaths:
    """Two paths from Ann: 'meets' to Bob, inverse 'sues' to Cy, self-loop; and self-loops only."""
    steps = [
        beam_step([0, 4], [1, 0], [0, 9], -1.0),
        beam_step([3, 4], [2, 0], [1, 9], -2.0),
        beam_step([4, 4], [2, 0], [1, 9], -0.5),
    ]
    return BeamPaths(np.array([[-3.5, -9.0]]), steps)


def test_steps_have_original_direction_and_self_loops_are_omitted(paths: BeamPaths) -> None:
    path = explanation_path(paths, 0, 0, 0, VOCABULARY, CALENDAR)
    assert [(s.subject, s.relation, s.object, s.forward) for s in path.steps] == [
        ("Ann", "meets", "Bob", True),
        ("Cy", "sues", "Bob", False),
    ]
    assert [s.time for s in path.steps] == ["2022-01-08", "2022-01-09"]
    assert [s.probability for s in path.steps] == pytest.approx([math.exp(-1), math.exp(-2)])
    assert (path.start, path.end, path.log_prob) == ("Ann", "Cy", -3.5)
    assert path.nodes == ("Ann", "Bob", "Cy")
    assert path.text == (
        "Ann is linked to Cy by way of Bob: “meets” by Ann towards Bob on 2022-01-08 "
        "and “sues” by Cy towards Bob on 2022-01-09."
    )


def test_text_of_path_without_steps(paths: BeamPaths) -> None:
    assert explanation_path(paths, 0, 1, 0, VOCABULARY, CALENDAR).text == "The path stays at Ann."


def test_text_of_context_path() -> None:
    step = make_step(1, 0, 2, 1, 0.5, None, VOCABULARY, CALENDAR)
    path = ExplanationPath("Ann", "Cy", -1.0, (step,), "context")
    assert (
        path.text == "Facts between Cy and other entities support this answer: “meets” by Bob towards Cy on 2022-01-09."
    )


def test_text_of_context_path_with_inverse_step() -> None:
    step = make_step(1, 2, 2, 1, 0.5, None, VOCABULARY, CALENDAR)
    path = ExplanationPath("Ann", "Cy", -1.0, (step,), "context")
    assert (
        path.text == "Facts between Cy and other entities support this answer: “meets” by Cy towards Bob on 2022-01-09."
    )


@pytest.mark.parametrize(
    ("time", "phrase"),
    [
        ("2022-01-09", "on 2022-01-09"),
        ("2022-01-09T13", "at 2022-01-09T13"),
        ("2022-01", "in 2022-01"),
        ("2022", "in 2022"),
        ("37", "at time 37"),
    ],
)
def test_time_phrase_depends_on_granularity(time: str, phrase: str) -> None:
    step = PathStep("Ann", "meets", "Bob", time, 0.5, None, True)
    assert ExplanationPath("Ann", "Bob", -1.0, (step,)).text == (
        f"Ann is linked to Bob directly: “meets” by Ann towards Bob {phrase}."
    )


def test_paths_to_entity_are_sorted_best_first(paths: BeamPaths) -> None:
    assert best_paths_to(paths, 0, 2, 5) == [0]
    assert best_paths_to(paths, 0, 0, 5) == [1]
    assert best_paths_to(paths, 0, 1, 5) == []
