"""Paths as people read them: facts in their real direction, with dates and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fitcarl.data.calendar import Calendar
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.scoring.scores import Scorer
from fitcarl.tasks.task import Queries, Task


class Explainer(Scorer, Protocol):
    """A scorer that can say why."""

    def explain(
        self, task: Task, query: Queries, entity: int, vocabulary: Vocabulary, calendar: Calendar, most: int = 3
    ) -> list[Path]:
        """The most probable paths of one query that end at an entity, best first."""
        ...

    def explain_all(
        self,
        task: Task,
        query: Queries,
        entities: Sequence[int],
        vocabulary: Vocabulary,
        calendar: Calendar,
        most: int = 3,
    ) -> list[list[Path]]:
        """The same for several entities; the search is made once."""
        ...


@dataclass(frozen=True)
class Step:
    """A fact that a path goes along, as it stands in the data, whichever way the path takes it."""

    subject: str
    relation: str
    object: str
    time: str
    probability: float
    """π of the step."""
    confidence: float | None
    """conf of the step; None where the confidence learner is off."""
    forward: bool
    """Whether the path goes from subject to object."""

    def to_json(self) -> dict[str, Any]:
        return {
            "subject": self.subject,
            "relation": self.relation,
            "object": self.object,
            "time": self.time,
            "probability": self.probability,
            "confidence": self.confidence,
            "forward": self.forward,
        }

    @property
    def text(self) -> str:
        """The fact in plain words."""
        return f"“{self.relation}” by {self.subject} towards {self.object} {_when(self.time)}"

    def __str__(self) -> str:
        return f"{self.subject} —{self.relation}→ {self.object} ({self.time})"


@dataclass(frozen=True)
class Path:
    """How the agent came from the new entity to an answer; steps at which it stayed are left out."""

    start: str
    end: str
    log_prob: float
    steps: tuple[Step, ...]
    by_crowd: bool = False
    """Whether this is no path from the start, but what happened between the answer and others."""

    @property
    def text(self) -> str:
        """One sentence; relations are quoted, because nobody knows how to conjugate them."""
        if not self.steps:
            return f"The agent stays at {self.start}."
        deeds = " and ".join(step.text for step in self.steps)
        if self.by_crowd:
            return f"What happened between {self.end} and others speaks for it: {deeds}."
        between = self.nodes[1:-1]
        by_way = f" by way of {' and '.join(between)}" if between else " directly"
        return f"{self.start} is linked to {self.end}{by_way}: {deeds}."

    @property
    def nodes(self) -> tuple[str, ...]:
        """Whom the path passes, from where its first step begins to where its last one ends."""
        if not self.steps:
            return (self.start,)
        first = self.steps[0]
        begin = first.subject if first.forward else first.object
        return (begin, *(step.object if step.forward else step.subject for step in self.steps))

    def to_json(self) -> dict[str, Any]:
        steps = [step.to_json() for step in self.steps]
        return {"log_prob": self.log_prob, "steps": steps, "by_crowd": self.by_crowd, "text": self.text}


def _when(time: str) -> str:
    """A calendar's label as part of a sentence."""
    if re.fullmatch(r"[0-9]{4}(-[0-9]{2})?", time):
        return f"in {time}"
    if re.fullmatch(r"-?[0-9]+", time):
        return f"at time {time}"
    return f"at {time}" if "T" in time else f"on {time}"


def step_of(
    here: int,
    relation: int,
    there: int,
    time: int,
    probability: float,
    confidence: float | None,
    vocabulary: Vocabulary,
    calendar: Calendar,
) -> Step:
    """A step along a directed edge, told as the fact it goes along."""
    relations, names = vocabulary.relation_ids, vocabulary.entities
    forward = not relations.is_inverse(relation)
    subject, object = (here, there) if forward else (there, here)
    return Step(
        names[subject],
        vocabulary.relations[relations.base(relation)],
        names[object],
        calendar.label(time),
        probability,
        confidence,
        forward,
    )
