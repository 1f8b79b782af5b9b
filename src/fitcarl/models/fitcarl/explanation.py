"""Beam-search paths as explanations: the facts they follow, with names and dates."""

from __future__ import annotations

import math

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.models.fitcarl.beam import BeamPaths
from fitcarl.scoring.path import ExplanationPath, PathStep, make_step


def explanation_path(
    paths: BeamPaths, query: int, place: int, start: int, vocabulary: Vocabulary, calendar: Calendar
) -> ExplanationPath:
    """The path at ``place`` (0 is the best) of a query that started at entity ``start``."""
    here = start
    steps: list[PathStep] = []
    for step in paths.steps:
        relation, there, time = (int(part[query, place]) for part in (step.relation, step.entity, step.time))
        if relation != vocabulary.relation_ids.self_loop:
            probability = math.exp(step.log_probability[query, place])
            confidence = float(step.confidence[query, place])
            known = None if math.isnan(confidence) else confidence
            steps.append(make_step(here, relation, there, time, probability, known, vocabulary, calendar))
        here = there
    names = vocabulary.entities
    return ExplanationPath(names[start], names[here], float(paths.score[query, place]), tuple(steps))


def best_paths_to(paths: BeamPaths, query: int, entity: int, most: int) -> list[int]:
    """Places of a query's best paths that end at an entity, best first."""
    there = np.flatnonzero((paths.entity[query] == entity) & np.isfinite(paths.score[query]))
    return [int(place) for place in there[:most]]
