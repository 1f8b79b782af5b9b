"""Predictions on the demo world with explanations, compared with the rules that generated the events."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import named_facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.evaluation.calibration import UNCALIBRATED, Calibration
from fitcarl.evaluation.protocol import hide_answers
from fitcarl.predict.explanation import Explanation, FactEffect
from fitcarl.predict.schemas import PathSchema
from fitcarl.reporting.html import inline_svg_text
from fitcarl.reporting.path_svg import draw_paths
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scorer import Explainer
from fitcarl.synthetic import World
from fitcarl.tasks.task import Queries, Task

NamedFact = tuple[str, str, str, str]
_SHOWN, _EFFECTS = 5, 5
_MIN_EFFECT = 0.05
"""Nats: facts with a smaller effect are not shown."""


@dataclass(frozen=True)
class DemoCase:
    """One query about an unseen entity: predictions, explanation, and the rule that generated the event."""

    entity: str
    relation: str
    forward: bool
    """Whether the entity is the subject; otherwise the subject is predicted."""
    time: str
    support: list[NamedFact]
    answers: list[tuple[str, float]]
    """Top predictions and their shares."""
    truth: str
    rank: int
    """Rank of the true answer; 0 if it is not listed."""
    path: ExplanationPath | None
    """The best path to the top prediction."""
    rule: str
    """Description of the rule that generated the event."""
    causes: list[NamedFact]
    cause_visible: bool
    """Whether any of the causes is in the observed graph; the others are hidden facts of the entity."""
    explanation: Explanation | None = None
    """The explanation of the top prediction, if the case is shown."""

    @property
    def query(self) -> str:
        fact = (self.entity, self.relation, "?") if self.forward else ("?", self.relation, self.entity)
        return format_fact((*fact, self.time))

    @property
    def confirmed(self) -> bool:
        """Whether the top prediction is right and its path contains a fact that caused the event."""
        on_path = set() if self.path is None else {(s.subject, s.relation, s.object, s.time) for s in self.path.steps}
        return self.rank == 1 and bool(on_path & set(self.causes))

    def lines(self) -> list[str]:
        """Lines for a terminal."""
        lines = [f"Support facts of {self.entity}:", *(f"  {format_fact(fact)}" for fact in self.support)]
        lines += [f"Query: {self.query}"]
        lines += ["Predictions: " + ", ".join(f"{name} ({share:.0%})" for name, share in self.answers[:3])]
        if self.path is not None:
            lines += ["Path: " + "; ".join(str(step) for step in self.path.steps)]
        lines += self._effect_lines()
        verdict = "right" if self.rank == 1 else f"wrong; the true answer is {self.truth}" + self._rank_note()
        lines += [f"The top prediction is {verdict}. {self.rule}"]
        if self.confirmed:
            lines += ["The path contains a fact that caused the event."]
        return lines

    def html(self) -> str:
        """A block of HTML."""
        support = "".join(f"<li>{escape(format_fact(fact))}</li>" for fact in self.support)
        steps = "" if self.path is None else "".join(f"<li>{escape(str(step))}</li>" for step in self.path.steps)
        shown = [
            (f'<span class="answer">{escape(name)}</span>' if name == self.truth else escape(name), share)
            for name, share in self.answers
        ]
        answers = ", ".join(f"{name} {share:.0%}" for name, share in shown)
        verdict = "right" if self.rank == 1 else f"wrong; the true answer is {escape(self.truth)}{self._rank_note()}"
        confirmed = " The path contains a fact that caused the event." if self.confirmed else ""
        return (
            f'<div class="case"><strong>{escape(self.query)}</strong>'
            f"<p>Support facts:</p><ol>{support}</ol><p>Predictions: {answers}</p>{self._explanation_html(steps)}"
            f"<p>The top prediction is {verdict}. {escape(self.rule)}{confirmed}</p></div>"
        )

    def _shown_facts(self) -> list[FactEffect]:
        facts = () if self.explanation is None else self.explanation.facts[:_EFFECTS]
        return [fact for fact in facts if fact.effect >= _MIN_EFFECT]

    def _effect_lines(self) -> list[str]:
        """The facts that matter most, as lines for a terminal."""
        if self.explanation is None:
            return []
        lines = [f"Facts that matter most (with all facts the share is {self.explanation.share:.0%}):"]
        for fact in self._shown_facts():
            mark = "  [a cause]" if tuple(fact.fact) in self.causes else ""
            lines.append(f"  {fact}: {fact.share_without:.0%} without it{mark}")
        return lines

    def _explanation_html(self, steps: str) -> str:
        """A picture of the paths and the facts that matter most; the steps of the best path if there is no more."""
        if self.explanation is None:
            return f"<p>Path:</p><ol>{steps}</ol>"
        found = self.explanation
        rows = "".join(
            f"<tr><td>{escape(str(fact))}{' <strong>a cause</strong>' if tuple(fact.fact) in self.causes else ''}</td>"
            f'<td class="number">{fact.share_without:.1%}</td>'
            f'<td class="number">{"–" if fact.rank_without is None else fact.rank_without}</td></tr>'
            for fact in self._shown_facts()
        )
        evidence = ", ".join(f"{one.label} {one.contribution:+.1f}" for one in found.evidence[:_EFFECTS])
        picture = inline_svg_text(draw_paths(found.query, [found]), f"Paths to {found.entity}")
        return (
            f"<p>{escape(found.summary)}</p>{picture}<p>Evidence, in nats: {escape(evidence)} …</p>"
            "<table><thead><tr><th>fact</th><th class='number'>share without it</th><th class='number'>rank</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "entity": self.entity,
            "relation": self.relation,
            "forward": self.forward,
            "time": self.time,
            "support": self.support,
            "answers": [{"entity": name, "share": share} for name, share in self.answers],
            "truth": self.truth,
            "rank": self.rank,
            "path": None if self.path is None else PathSchema.model_validate(self.path).to_json(),
            "rule": self.rule,
            "cause_visible": self.cause_visible,
            "confirmed": self.confirmed,
            "explanation": None if self.explanation is None else self.explanation.to_json(),
        }

    def _rank_note(self) -> str:
        return f" (rank {self.rank})" if self.rank else " (not listed)"


def demo_cases(
    scorer: Explainer, task: Task, dataset: Dataset, world: World, calibration: Calibration | None = None
) -> list[DemoCase]:
    """A case for every query of a task whose event was generated by a rule with causes."""
    queries, relations = task.queries, dataset.vocabulary.relation_ids
    facts = _facts_of(queries, dataset)
    rows = world.rows_of(facts, dataset.vocabulary, dataset.calendar)
    seen = Quadruples.concat([dataset.background, task.support.facts])
    visible = np.zeros(len(world.truth), dtype=np.bool_)
    visible[world.rows_of(seen, dataset.vocabulary, dataset.calendar)] = True
    times = _ticks(world, dataset)
    found = []
    masked = Task(task.support, hide_answers(queries))
    shares = (calibration or UNCALIBRATED).shares(scorer.score(masked, masked.queries))
    for number, row in enumerate(rows.tolist()):
        if row < 0 or not len(world.truth.causes_of(row)):
            continue
        part = slice(shares.offsets[number], shares.offsets[number + 1])
        entity, share = shares.entity[part], shares.score[part]
        order = np.lexsort((entity, -share))
        positions = np.flatnonzero(entity[order] == queries.answer[number])
        query = masked.queries.take(slice(number, number + 1))
        names, calendar = dataset.vocabulary.entities, dataset.calendar
        [paths] = scorer.explain(masked, query, [int(entity[order[0]])], dataset.vocabulary, calendar, 1)
        support = task.support.facts.take(task.support.entity_of_fact == queries.entity[number])
        found.append(
            DemoCase(
                names[queries.entity[number]],
                dataset.vocabulary.relations[relations.base(int(queries.relation[number]))],
                not relations.is_inverse(int(queries.relation[number])),
                calendar.label(int(queries.time[number])),
                _named(support, dataset),
                [(names[entity[i]], float(share[i])) for i in order[:_SHOWN]],
                names[queries.answer[number]],
                int(positions[0]) + 1 if len(positions) else 0,
                paths[0] if paths else None,
                world.truth.describe(world.truth.rule_of(row)),
                _named_world(world, world.truth.causes_of(row)),
                bool((visible & (times < queries.visible_before[number]))[world.truth.causes_of(row)].any()),
            )
        )
    return found


def _ticks(world: World, dataset: Dataset) -> NDArray[np.int64]:
    """int64 [facts of the world]: their times in ticks of the dataset."""
    tick, label = dataset.calendar.tick, world.facts.calendar.label
    of_world = np.array([tick(label(time)) for time in range(world.facts.calendar.span)])
    return of_world[world.facts.quadruples.time]


def format_fact(fact: NamedFact) -> str:
    subject, relation, object, time = fact
    return f"{subject} —{relation}→ {object} ({time})"


def _facts_of(queries: Queries, dataset: Dataset) -> Quadruples:
    """The hidden facts in their original direction."""
    hidden = Quadruples.of(queries.entity, queries.relation, queries.answer, queries.time)
    return hidden.in_real_direction(dataset.vocabulary.relation_ids)


def _named(facts: Quadruples, dataset: Dataset) -> list[NamedFact]:
    return named_facts(facts, dataset.vocabulary, dataset.calendar)


def _named_world(world: World, rows: Any) -> list[NamedFact]:
    facts = world.facts.quadruples.take(np.asarray(rows, dtype=np.int64))
    return named_facts(facts, world.facts.vocabulary, world.facts.calendar)
