"""The demo's report: how good the agent is, how it learned, and some predictions with their reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fitcarl.core.storage import write_json
from fitcarl.data.dataset import Dataset
from fitcarl.evaluation.protocol import evaluate_scorer
from fitcarl.evaluation.report import Report
from fitcarl.experiments.demo_cases import Case, cases
from fitcarl.models.heuristics import HEURISTICS
from fitcarl.predict import Example, Fact, Predictor, Query
from fitcarl.reporting.figures import performance_over_time, reliability
from fitcarl.reporting.html import page, paragraph, picture, table
from fitcarl.runs.run import Run
from fitcarl.synthetic import World
from fitcarl.tasks.task import official_task

_HEAD = ("scorer", "MRR", "low", "high", "Hits@1", "Hits@10", "MRR as in the paper")
_SHOWN = 5
_LEAD = "The demo world: invented events, each made by a known rule; some actors were hidden but for three facts."


@dataclass(frozen=True)
class Story:
    """What the demo found."""

    file: Path
    """The HTML report."""
    reports: list[Report]
    """The agent's, then those of the trivial scorers."""
    chosen: list[Case]
    confirmed: int
    """Right answers whose best path goes along a planted cause."""
    visible: int
    """Right answers to events of which a cause could be seen at all: others lie among the actor's hidden facts."""
    right: int
    asked: int
    """Questions about events that a rule made."""
    example: Case | None
    """The run's example question: the first that is answered for the right reason by three facts alone."""

    def rows(self) -> list[tuple[str, float, float, float, float, float, float]]:
        """One row a scorer, under ``_HEAD``."""
        return [_row(report) for report in self.reports]

    def table(self) -> list[str]:
        """The short table for a terminal."""
        lines = [f"{'scorer':<18}   MRR  95 % interval  Hits@1  Hits@10"]
        for name, mrr, low, high, first, tenth, _ in self.rows():
            lines.append(f"{name:<18}  {mrr:.3f}   {low:.3f} – {high:.3f}   {first:.3f}    {tenth:.3f}")
        lines += ["", "Ranks are realistic (ties shared), the filter is time-aware, candidates are all entities."]
        return lines

    def case_lines(self) -> list[str]:
        """The chosen cases for a terminal."""
        lines: list[str] = []
        for case in self.chosen:
            lines += [*case.lines(), ""]
        return [*lines, self.causes_line()]

    def causes_line(self) -> str:
        return (
            f"Of {self.asked} questions about events that a rule made, {self.right} are answered rightly. A cause of "
            f"{self.visible} of these could be seen (the others were caused by facts that were hidden); for "
            f"{self.confirmed} the best path goes along it."
        )

    def example_lines(self) -> list[str]:
        """The example and why its explanation holds, for a terminal."""
        if self.example is None:
            return ["No question is answered for the right reason yet; train for more episodes."]
        case = self.example
        lines = [f"{case.question}", f"Answer: {case.truth}"]
        lines += [f"Why: {case.path.text}"] if case.path is not None else []
        return [
            *lines,
            f"The world's truth confirms it: this path holds a fact that made the event happen. {case.rule}",
            "It was chosen because it is confirmed; how often that is so is counted above.",
        ]

    def to_json(self) -> dict[str, Any]:
        return {
            "report": str(self.file),
            "results": {report.scorer: report.to_json()["results"] for report in self.reports},
            "cases": [case.to_json() for case in self.chosen],
            "example": None if self.example is None else self.example.to_json(),
            "rule_made": {
                "asked": self.asked,
                "right": self.right,
                "right_with_visible_cause": self.visible,
                "right_with_cause_on_path": self.confirmed,
            },
        }


def tell(run: Run, dataset: Dataset, world: World, file: Path) -> Story:
    """Judges the run and the trivial scorers on the test queries, explains some answers, and writes the page."""
    scorer = run.model.scorer()
    reports = [evaluate_scorer(scorer, dataset, "test", run.config.shots, calibration=run.calibration)]
    reports += [evaluate_scorer(make(dataset), dataset, "test", run.config.shots) for make in HEURISTICS.values()]
    task = official_task(dataset.test, run.config.shots, dataset.vocabulary.relation_ids)
    told = cases(scorer, task, dataset, world, run.calibration)
    right = [case for case in told if case.rank == 1]
    confirmed = [case for case in right if case.confirmed]
    visible = sum(case.cause_visible for case in right)
    example = _example(run, confirmed)
    story = Story(file, reports, _choose(told), len(confirmed), visible, len(right), len(told), example)
    over_time = file.with_name("over_time.svg")
    performance_over_time(reports[0], over_time)
    file.write_text(_html(story, run, over_time), encoding="utf-8")
    return story


def _choose(told: list[Case]) -> list[Case]:
    """Three that went well, each by another rule where there are so many, and one that did not."""
    chosen: list[Case] = []
    for case in sorted(told, key=lambda case: -len(case.path.steps) if case.path else 0):
        if case.confirmed and case.rule not in {other.rule for other in chosen} and len(chosen) < 3:
            chosen.append(case)
    return chosen + [case for case in told if case.rank > 1][:1]


def _example(run: Run, confirmed: list[Case]) -> Case | None:
    """The first case, longer paths first, that a predictor answers for the right reason too; kept as the run's example.

    A predictor is told of this actor alone, while the cases above were asked with all newcomers known together.
    """
    predictor = Predictor(run)
    for case in sorted(confirmed, key=lambda case: -len(case.path.steps) if case.path else 0):
        facts = tuple(Fact(*fact) for fact in case.known)
        subject, object = (case.actor, None) if case.forward else (None, case.actor)
        question = Query(subject, object, case.relation, case.time, top=_SHOWN, paths=1)
        [prediction] = predictor.answer([question], facts)
        best = prediction[0]
        asked = replace(
            case,
            answers=[(answer.entity, answer.share) for answer in prediction],
            rank=next((answer.rank for answer in prediction if answer.entity == case.truth), 0),
            path=best.paths[0] if best.paths else None,
        )
        if asked.confirmed:
            write_json(run.folder.example, Example(facts, question).to_json())
            return asked
    return None


def _row(report: Report) -> tuple[str, float, float, float, float, float, float]:
    honest = report.realistic
    hits = honest.hits
    return report.scorer, honest.mrr, honest.ci_low, honest.ci_high, hits[1], hits[10], report.paper.mrr


def _html(story: Story, run: Run, over_time: Path) -> str:
    about = (
        "Ranks are realistic: entities with equal scores share their places. The last column counts as published "
        "tables do, with ties in the answer's favour; it flatters scorers that cannot tell entities apart. "
        f"`{story.reports[0].signature}`"
    )
    return page(
        "A new actor: whom will it deal with, and why?",
        _LEAD,
        [
            ("How good the answers are", table(_HEAD, story.rows(), strong=[0]) + paragraph(about)),
            ("Some questions, answers and reasons", "".join(case.html() for case in story.chosen)),
            ("Do the reasons hold?", paragraph(story.causes_line())),
            *_trust(story.reports[0], story.file.with_name("reliability.svg")),
            ("How it learned", picture(run.folder.curve, "Loss, likelihood and validation MRR by episode")),
            ("Over time", picture(over_time, "MRR of the questions of each month")),
        ],
    )


def _trust(report: Report, file: Path) -> list[tuple[str, str]]:
    """Whether shares keep their word: nothing where the run gives none."""
    if report.calibration_report is None:
        return []
    reliability(report, file)
    trust = report.calibration_report
    about = (
        "Shares are calibrated on meta-validation. Each dot stands for a tenth of the test questions, by the share of "
        "the first answer; on the line, shares keep their word. The mean distance (expected calibration error) is "
        f"{trust.ece:.3f}; perfect shares would show about {trust.ece_by_chance:.3f} by chance on so few questions."
    )
    shown = picture(file, "How often the first answer is right, by its share")
    return [("Can the shares be trusted?", paragraph(about) + shown)]
