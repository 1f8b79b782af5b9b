"""Explanation paths in readable form: facts in their original direction, with names and dates."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary

PathKind = Literal["path", "peers", "context"]
"""``path``: facts from the query entity to the answer; ``peers``: facts from the query entity over an entity with a
fact like its own to the answer; ``context``: facts between the answer and other entities. The search of model ``plus``
does not follow peers, context facts and paths whose steps have no probability."""

_PEER_STEPS = 3
_SHOWN_REPEATS = 5
AFTER_QUESTION = "[after the question]"
"""Marks a fact that is later than the time of the query, in texts and drawings."""


@dataclass(frozen=True)
class PathStep:
    """One fact on a path, in its original direction."""

    subject: str
    relation: str
    object: str
    time: str
    probability: float | None
    """π of the step; None for facts that the search does not follow."""
    confidence: float | None
    """Confidence of the step; None if the model has no confidence learner."""
    forward: bool
    """Whether the path goes from subject to object."""
    after_question: bool = False
    """Whether the fact is later than the time of the query."""

    @property
    def text(self) -> str:
        """The fact as part of a sentence."""
        return f"“{self.relation}” by {self.subject} towards {self.object} {_time_phrase(self.time)}{self._mark}"

    def __str__(self) -> str:
        return f"{self.subject} —{self.relation}→ {self.object} ({self.time}{self._mark})"

    @property
    def _mark(self) -> str:
        return f" {AFTER_QUESTION}" if self.after_question else ""


@dataclass(frozen=True)
class ExplanationPath:
    """A path from the query entity to an answer, without the steps at which the search stays in place."""

    start: str
    end: str
    log_prob: float
    steps: tuple[PathStep, ...]
    kind: PathKind = "path"
    also: tuple[tuple[str, ...], ...] = ()
    """The times of the steps of further paths with the same facts at other times."""
    share_without: float | None = None
    """The share of the answer if all facts of the path, at all their times, are left out; None if not measured."""
    rank_without: int | None = None
    """The rank of the answer then; None if it has none, or if it is not measured."""
    later_times: tuple[str, ...] = ()
    """Times of ``also`` that are later than the query."""

    @property
    def is_context(self) -> bool:
        """Whether the steps are facts between the answer and other entities instead of a path from the start."""
        return self.kind == "context"

    @property
    def text(self) -> str:
        """One sentence; relations are quoted because they cannot be inflected."""
        if not self.steps:
            return f"The path stays at {self.start}."
        facts = " and ".join(step.text for step in self.steps)
        if self.is_context:
            return f"Facts between {self.end} and other entities support this answer: {facts}."
        if self.kind == "peers" and len(self.steps) == _PEER_STEPS:
            shared, peer = self.nodes[1:3]
            own, theirs, further = (step.text for step in self.steps)
            return f"{peer} is linked to {shared} as {self.start} is, and to {self.end}: {own}, {theirs} and {further}."
        between = self.nodes[1:-1]
        via = f" by way of {' and '.join(between)}" if between else " directly"
        return f"{self.start} is linked to {self.end}{via}: {facts}.{self._repeats}"

    @property
    def _repeats(self) -> str:
        """A sentence about further times of the same facts."""
        if not self.also:
            return ""
        marks = {time: f"{time} {AFTER_QUESTION}" for time in self.later_times}
        times = ", ".join(" / ".join(marks.get(time, time) for time in times) for times in self.also[:_SHOWN_REPEATS])
        more = f" and {len(self.also) - _SHOWN_REPEATS} more" if len(self.also) > _SHOWN_REPEATS else ""
        return f" The same facts at other times: {times}{more}."

    def marked(self, is_later: Callable[[str], bool]) -> ExplanationPath:
        """The same path with the steps marked that are later than the query.

        Args:
            is_later: Whether a time, in the notation of the calendar, is later than the query.
        """
        steps = tuple(replace(step, after_question=is_later(step.time)) for step in self.steps)
        later = {time for times in self.also for time in times if is_later(time)}
        return replace(self, steps=steps, later_times=tuple(sorted(later)))

    @property
    def nodes(self) -> tuple[str, ...]:
        """The entities of the path, from the beginning of the first step to the end of the last one."""
        if not self.steps:
            return (self.start,)
        first = self.steps[0]
        begin = first.subject if first.forward else first.object
        return (begin, *(step.object if step.forward else step.subject for step in self.steps))


def _time_phrase(time: str) -> str:
    """A calendar label with its preposition."""
    if re.fullmatch(r"[0-9]{4}(-[0-9]{2})?", time):
        return f"in {time}"
    if re.fullmatch(r"-?[0-9]+", time):
        return f"at time {time}"
    return f"at {time}" if "T" in time else f"on {time}"


def make_step(
    source: int,
    relation: int,
    target: int,
    time: int,
    probability: float | None,
    confidence: float | None,
    vocabulary: Vocabulary,
    calendar: Calendar,
) -> PathStep:
    """The step along a directed edge (source, relation, target, time), as the fact in its original direction."""
    relations, names = vocabulary.relation_ids, vocabulary.entities
    forward = not relations.is_inverse(relation)
    subject, object = (source, target) if forward else (target, source)
    return PathStep(
        names[subject],
        vocabulary.relations[relations.base(relation)],
        names[object],
        calendar.label(time),
        probability,
        confidence,
        forward,
    )
