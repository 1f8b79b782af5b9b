"""Paths of a beam search as explanations: the facts they follow, with names and dates."""

from __future__ import annotations

import math

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.models.fitcarl.beam import BeamPaths
from fitcarl.scoring.path import ExplanationPath, PathStep, make_step


def explanation_path(
    paths: BeamPaths, query: int, rank: int, start: int, vocabulary: Vocabulary, calendar: Calendar
) -> ExplanationPath:
    """One path of a query as an explanation; self-loops are left out.

    Args:
        paths: The result of a beam search.
        query: Row of the query in ``paths``.
        rank: Column of the path in ``paths``; 0 is the best.
        start: The query entity.
        vocabulary: Names of entities and relations.
        calendar: Names of ticks.
    """
    source = start
    steps: list[PathStep] = []
    for step in paths.steps:
        relation, target, time = (int(part[query, rank]) for part in (step.relation, step.entity, step.time))
        if relation != vocabulary.relation_ids.self_loop:
            probability = math.exp(step.log_probability[query, rank])
            confidence = float(step.confidence[query, rank])
            optional_confidence = None if math.isnan(confidence) else confidence
            steps.append(
                make_step(source, relation, target, time, probability, optional_confidence, vocabulary, calendar)
            )
        source = target
    names = vocabulary.entities
    return ExplanationPath(names[start], names[source], float(paths.score[query, rank]), tuple(steps))


def best_paths_to(paths: BeamPaths, query: int, entity: int, limit: int) -> list[int]:
    """Columns of the best paths of a query that end at an entity, best first; at most ``limit``."""
    found = np.flatnonzero((paths.entity[query] == entity) & np.isfinite(paths.score[query]))
    return [int(rank) for rank in found[:limit]]
