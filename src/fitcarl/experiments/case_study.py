"""Figure 5 of the paper: one query explained with and without the confidence learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.files import write_atomically, write_json
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import named_facts
from fitcarl.data.io.registry import load_dataset, resolve_source
from fitcarl.errors import FitcarlError, InputError
from fitcarl.evaluation.calibration import UNCALIBRATED
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.protocol import CHUNK, hide_answers, rank_task
from fitcarl.evaluation.slices import answer_in_support
from fitcarl.experiments.reproduce import ReproductionPlan, table_systems
from fitcarl.predict.batch import named_relation
from fitcarl.predict.prediction import Answer
from fitcarl.predict.query import Query
from fitcarl.reporting.html import html_page, html_paragraph, html_table, inline_svg
from fitcarl.reporting.path_svg import draw_explanations
from fitcarl.runs.run import Run
from fitcarl.scoring.path import ExplanationPath
from fitcarl.scoring.scorer import Explainer
from fitcarl.tasks.task import Task, official_task

RULE = (
    "The test queries, in the order of the official task, whose answer is not in the support, is listed by both runs, "
    "and has rank {limit} or better in the first run (realistic rank, time-aware filter). Of these, the query whose "
    "answer gains the most probability over the second run; the first of equals."
)
_RANK_LIMIT = 3
_TOP = 5
_PATHS = 3


@dataclass(frozen=True)
class ModelExplanation:
    """How one run answers the query."""

    title: str
    run: str
    answers: tuple[Answer, ...]
    """The best predictions, without paths."""
    shown: tuple[Answer, ...]
    """The true answer, and the best prediction if it is another entity, with their paths."""

    def to_json(self) -> dict[str, Any]:
        answers, shown = ([answer.to_json() for answer in part] for part in (self.answers, self.shown))
        return {"title": self.title, "run": self.run, "answers": answers, "explained": shown}


@dataclass(frozen=True)
class CaseStudy:
    """A query, its true answer and the explanations of two runs."""

    query: Query
    answer: str
    support: tuple[tuple[str, str, str, str], ...]
    """Support facts of the query entity."""
    position: int
    """Number of the query in the official task, from 0."""
    candidates: int
    """Queries that fulfil the conditions of the rule."""
    rule: str
    explanations: tuple[ModelExplanation, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "query": str(self.query),
            "answer": self.answer,
            "support": [list(fact) for fact in self.support],
            "position": self.position,
            "candidates": self.candidates,
            "rule": self.rule,
            "explanations": [explanation.to_json() for explanation in self.explanations],
        }

    def lines(self) -> list[str]:
        """Lines for a terminal."""
        found = [f"Query: {self.query}", f"Answer: {self.answer}", f"Rule: {self.rule} {self.candidates} qualify."]
        for one in self.explanations:
            answer = one.shown[0]
            found.append(f"{one.title}: rank {answer.rank}, probability {answer.share:.1%}")
            found += [f"  {path.text}" for path in answer.paths]
        return found

    def svg(self) -> str:
        """The explanations side by side."""
        return draw_explanations(self.query, [(one.title, one.shown) for one in self.explanations])

    def html(self, image: Path) -> str:
        """A page with the query, the rule, the picture and the predictions of both runs."""
        facts = "".join(f"<li>{escape(f'{s} —{r}→ {o} ({t})')}</li>" for s, r, o, t in self.support)
        sections = [
            (
                "Query",
                html_paragraph(f"{self.query}. Answer: {self.answer}.") + f"<p>Support facts:</p><ul>{facts}</ul>",
            ),
            ("How the query was chosen", html_paragraph(f"{self.rule} {self.candidates} queries qualify.")),
            ("Explanations", inline_svg(image, "Paths to the answer, with and without the confidence learner")),
        ]
        for one in self.explanations:
            rows = [[answer.rank, answer.entity, answer.share] for answer in one.answers]
            strong = [number for number, answer in enumerate(one.answers) if answer.entity == self.answer]
            paths = "".join(f"<li>{escape(path.text)}</li>" for path in one.shown[0].paths)
            body = html_table(["rank", "entity", "probability"], rows, strong)
            sections.append((one.title, f"{body}<p>Paths to {escape(self.answer)}:</p><ol>{paths}</ol>"))
        return html_page("One query, explained with and without the confidence learner", str(self.query), sections)


def case_study(
    full: str | Path, ablated: str | Path, data: str | Dataset, *, rank_limit: int = _RANK_LIMIT
) -> CaseStudy:
    """Explains one test query by two runs; the query is chosen by ``RULE``.

    Args:
        full: The run with the confidence learner.
        ablated: The run without it, trained on the same data with as many shots.
        data: The dataset.
        rank_limit: The worst rank of the answer in the first run.

    Raises:
        FitcarlError: If no query fulfils the conditions.
    """
    dataset = data if isinstance(data, Dataset) else load_dataset(resolve_source(data))
    runs = [Run.load(full), Run.load(ablated)]
    shots = runs[0].config.shots
    if runs[1].config.shots != shots:
        raise InputError("has another number of shots", file=ablated, found=runs[1].config.shots, expected=str(shots))
    task = official_task(dataset.test, shots, dataset.vocabulary.relation_ids)
    known, entities = KnownAnswers.of(dataset), len(dataset.vocabulary.entities)
    with runs[0].named_in_errors():
        ranks = rank_task(runs[0].scorer_for(dataset), task, known, entities).ranks["time-aware"]
    probability = [answer_probabilities(run, dataset, task) for run in runs]
    novel = ~answer_in_support(task.support, task.queries, dataset.vocabulary.relation_ids)
    allowed = novel & ~np.isnan(probability[0]) & ~np.isnan(probability[1]) & (ranks.of("realistic") <= rank_limit)
    if not allowed.any():
        raise FitcarlError(f"{dataset.name}: no test query fulfils the conditions of the rule: {_rule(rank_limit)}")
    gain = np.where(allowed, probability[0] - probability[1], -np.inf)
    number = int(np.argmax(gain))
    titles = ("With the confidence learner", "Without the confidence learner (ablation B)")
    pairs = zip(runs, titles, strict=True)
    explanations = tuple(explain_query(run, title, dataset, task, number) for run, title in pairs)
    names, queries = dataset.vocabulary, task.queries
    support = task.support.facts.take(task.support.entity_of_fact == queries.entity[number])
    return CaseStudy(
        _query(dataset, task, number),
        names.entities[queries.answer[number]],
        tuple(named_facts(support, names, dataset.calendar)),
        number,
        int(allowed.sum()),
        _rule(rank_limit),
        explanations,
    )


def answer_probabilities(run: Run, dataset: Dataset, task: Task) -> NDArray[np.float64]:
    """float64 [queries]: the calibrated probability of the true answer; NaN where it is not listed."""
    scorer, masked = run.scorer_for(dataset), Task(task.support, hide_answers(task.queries))
    found = np.full(len(task.queries), np.nan)
    for first in range(0, len(found), CHUNK):
        part = slice(first, first + CHUNK)
        with run.named_in_errors():
            scores = scorer.score(masked, masked.queries.take(part))
        shares = (run.calibration or UNCALIBRATED).shares(scores)
        right = shares.entity == task.queries.answer[part][shares.query]
        found[first + shares.query[right]] = shares.score[right]
    return found


def explain_query(run: Run, title: str, dataset: Dataset, task: Task, number: int) -> ModelExplanation:
    """The predictions of a run for one query of a task, and paths to the true answer and to the best prediction."""
    scorer: Explainer = run.scorer_for(dataset)  # type: ignore[assignment]  # every trained model explains
    masked = Task(task.support, hide_answers(task.queries))
    query = masked.queries.take(slice(number, number + 1))
    with run.named_in_errors():
        scores = scorer.score(masked, query)
    shares = (run.calibration or UNCALIBRATED).shares(scores).score
    order = np.lexsort((scores.entity, -scores.score))
    ordered = scores.entity[order].tolist()
    truth = int(task.queries.answer[number])
    explained = list(dict.fromkeys([truth, ordered[0]]))
    paths = scorer.explain(masked, query, explained, dataset.vocabulary, dataset.calendar, _PATHS)

    def answer(entity: int, its_paths: Sequence[ExplanationPath] = ()) -> Answer:
        rank = ordered.index(entity)
        name, score = dataset.vocabulary.entities[entity], float(scores.score[order[rank]])
        distinct = {path.text: path for path in reversed(its_paths)}  # paths that differ in self-loops look the same
        shown = tuple(path for path in its_paths if distinct[path.text] is path)
        relation, direction = named_relation(dataset.vocabulary, int(query.relation[0]))
        return Answer(rank + 1, name, score, float(shares[order[rank]]), (), shown, relation, direction)

    return ModelExplanation(
        title,
        str(run.folder.path),
        tuple(answer(entity) for entity in ordered[:_TOP]),
        tuple(answer(entity, its) for entity, its in zip(explained, paths, strict=True)),
    )


def reproduce_case_study(plan: ReproductionPlan, out: str | Path) -> CaseStudy:
    """Figure 5 from the runs in a folder: the last number of shots of the plan and its first seed.

    Raises:
        InputError: If one of the two runs is not there.
    """
    out = Path(out)
    data, shots, seed = plan.data[0], plan.shots[-1], plan.seeds[0]
    name = plan.models[0]
    models = (f"{name}:full", f"{name}:B")
    one = replace(plan, data=(data,), shots=(shots,), models=models, seeds=(seed,))
    jobs = [cell.jobs[0] for cell in one.cells(out, table_systems(one, "3"))]
    for job in jobs:
        if job.state != "finished":
            given = [f"--models {','.join(models)}", f"--data {data} --shots {shots} --seeds {seed}"]
            given += [f"--set {text}" for text in plan.settings] + [f"--out {out}"]
            expected = f"'fitcarl reproduce --table 3 {' '.join(given)}' first"
            raise InputError("is not a finished run", file=job.folder, expected=expected)
    study = case_study(jobs[0].folder, jobs[1].folder, data)
    write_case_study(study, out)
    return study


def write_case_study(study: CaseStudy, out: Path) -> None:
    """Writes ``figure5.svg``, ``figure5.html`` and ``figure5.json``."""
    out.mkdir(parents=True, exist_ok=True)
    image = out / "figure5.svg"
    write_atomically(image, study.svg().encode())
    write_atomically(out / "figure5.html", study.html(image).encode())
    write_json(out / "figure5.json", study.to_json())


def _rule(rank_limit: int) -> str:
    return RULE.format(limit=rank_limit)


def _query(dataset: Dataset, task: Task, number: int) -> Query:
    names, queries = dataset.vocabulary, task.queries
    relation, entity = int(queries.relation[number]), names.entities[queries.entity[number]]
    inverse = names.relation_ids.is_inverse(relation)
    subject, object = (None, entity) if inverse else (entity, None)
    name = names.relations[names.relation_ids.base(relation)]
    return Query(subject, object, name, dataset.calendar.label(int(queries.time[number])))
