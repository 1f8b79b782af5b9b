"""Predictions on the demo world, explained, and held against the rule that really made the event."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scorer import Explainer
from fitcarl.synthetic import World
from fitcarl.tasks.task import Queries, Task

Fact = tuple[str, str, str, str]
_SHOWN = 5


@dataclass(frozen=True)
class Case:
    """One question about a newcomer, what the agent says, why it says so, and what was behind it."""

    actor: str
    relation: str
    forward: bool
    """Whether the actor is the subject; otherwise the subject is asked for."""
    time: str
    known: list[Fact]
    answers: list[tuple[str, float]]
    """The best entities and their shares."""
    truth: str
    rank: int
    """The place of the truth among the agent's answers; 0 if it is not among them."""
    path: ExplanationPath | None
    """The best path to the first answer."""
    rule: str
    """What made the event, in plain words."""
    causes: list[Fact]
    cause_visible: bool
    """Whether any of the causes is in the observed graph; others are among the actor's hidden facts."""

    @property
    def question(self) -> str:
        fact = (self.actor, self.relation, "who?") if self.forward else ("who", self.relation, f"{self.actor}?")
        return sentence((*fact, self.time))

    @property
    def confirmed(self) -> bool:
        """Whether the answer is right and a fact on the path is one that made the event happen."""
        walked = set() if self.path is None else {(s.subject, s.relation, s.object, s.time) for s in self.path.steps}
        return self.rank == 1 and bool(walked & set(self.causes))

    def lines(self) -> list[str]:
        """The case for a terminal."""
        lines = [f"Known of {self.actor}:", *(f"  {sentence(fact)}" for fact in self.known)]
        lines += [f"Question: {self.question}"]
        lines += ["Answers: " + ", ".join(f"{name} ({share:.0%})" for name, share in self.answers[:3])]
        if self.path is not None:
            lines += ["Why: " + "; ".join(str(step) for step in self.path.steps)]
        verdict = "right" if self.rank == 1 else f"wrong, the truth is {self.truth}" + self._place()
        lines += [f"The answer is {verdict}. {self.rule}"]
        if self.confirmed:
            lines += ["The path goes along a fact that really made the event happen."]
        return lines

    def html(self) -> str:
        """The case for a page."""
        known = "".join(f"<li>{escape(sentence(fact))}</li>" for fact in self.known)
        steps = "" if self.path is None else "".join(f"<li>{escape(str(step))}</li>" for step in self.path.steps)
        shown = [
            (f'<span class="answer">{escape(name)}</span>' if name == self.truth else escape(name), share)
            for name, share in self.answers
        ]
        answers = ", ".join(f"{name} {share:.0%}" for name, share in shown)
        verdict = "right" if self.rank == 1 else f"wrong: the truth is {escape(self.truth)}{self._place()}"
        found = " The path goes along a fact that really made the event happen." if self.confirmed else ""
        return (
            f'<div class="case"><strong>{escape(self.question)}</strong>'
            f"<p>Known:</p><ol>{known}</ol><p>Answers: {answers}</p><p>Why:</p><ol>{steps}</ol>"
            f"<p>The first answer is {verdict}. {escape(self.rule)}{found}</p></div>"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "actor": self.actor,
            "relation": self.relation,
            "forward": self.forward,
            "time": self.time,
            "known": self.known,
            "answers": [{"entity": name, "share": share} for name, share in self.answers],
            "truth": self.truth,
            "rank": self.rank,
            "path": None if self.path is None else self.path.to_json(),
            "rule": self.rule,
            "cause_visible": self.cause_visible,
            "confirmed": self.confirmed,
        }

    def _place(self) -> str:
        return f" (place {self.rank})" if self.rank else " (not found)"


def cases(
    scorer: Explainer, task: Task, dataset: Dataset, world: World, calibration: Calibration | None = None
) -> list[Case]:
    """A case for every query of a task whose event a rule made."""
    queries, relations = task.queries, dataset.vocabulary.relation_ids
    facts = _facts_of(queries, dataset)
    rows = world.rows_of(facts, dataset.vocabulary, dataset.calendar)
    seen = Quadruples.concat([dataset.background, task.support.facts])
    visible = np.zeros(len(world.truth), dtype=np.bool_)
    visible[world.rows_of(seen, dataset.vocabulary, dataset.calendar)] = True
    told = []
    blind = Task(task.support, hide_answers(queries))
    answers = (calibration or UNCALIBRATED).shares(scorer.score(blind, blind.queries))
    for number, row in enumerate(rows.tolist()):
        if row < 0 or not len(world.truth.causes_of(row)):
            continue
        part = slice(answers.offsets[number], answers.offsets[number + 1])
        entity, share = answers.entity[part], answers.score[part]
        order = np.lexsort((entity, -share))
        where = np.flatnonzero(entity[order] == queries.answer[number])
        asked = blind.queries.take(slice(number, number + 1))
        names, calendar = dataset.vocabulary.entities, dataset.calendar
        paths = scorer.explain(blind, asked, int(entity[order[0]]), dataset.vocabulary, calendar, 1)
        known = task.support.facts.take(task.support.entity_of_fact == queries.entity[number])
        told.append(
            Case(
                names[queries.entity[number]],
                dataset.vocabulary.relations[relations.base(int(queries.relation[number]))],
                not relations.is_inverse(int(queries.relation[number])),
                calendar.label(int(queries.time[number])),
                _named(known, dataset),
                [(names[entity[i]], float(share[i])) for i in order[:_SHOWN]],
                names[queries.answer[number]],
                int(where[0]) + 1 if len(where) else 0,
                paths[0] if paths else None,
                world.truth.describe(world.truth.rule_of(row)),
                _named_world(world, world.truth.causes_of(row)),
                bool(visible[world.truth.causes_of(row)].any()),
            )
        )
    return told


def sentence(fact: Fact) -> str:
    subject, relation, object, time = fact
    return f"{subject} —{relation}→ {object} ({time})"


def _facts_of(queries: Queries, dataset: Dataset) -> Quadruples:
    """The hidden facts in their real direction."""
    hidden = Quadruples.of(queries.entity, queries.relation, queries.answer, queries.time)
    return hidden.in_real_direction(dataset.vocabulary.relation_ids)


def _named(facts: Quadruples, dataset: Dataset) -> list[Fact]:
    names, relations = dataset.vocabulary.entities, dataset.vocabulary.relations
    return [(names[s], relations[r], names[o], dataset.calendar.label(t)) for s, r, o, t in facts]


def _named_world(world: World, rows: Any) -> list[Fact]:
    facts = world.facts.quadruples.take(np.asarray(rows, dtype=np.int64))
    names, relations = world.facts.vocabulary.entities, world.facts.vocabulary.relations
    return [(names[s], relations[r], names[o], world.facts.calendar.label(t)) for s, r, o, t in facts]
