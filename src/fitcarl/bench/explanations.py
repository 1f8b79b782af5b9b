"""Quality of explanations: planted causes, fidelity, coverage and time, beside simple choices of facts.

Planted causes are known on the demo world only. Fidelity and coverage need no ground truth: the answer is recomputed
without the facts that an explanation names, and with nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from fitcarl.bench.explained_queries import ExplainedQueries
from fitcarl.bench.explanation_controls import OURS
from fitcarl.bench.fidelity import Fidelity, fidelity_case, mean_fidelity
from fitcarl.bench.planted_causes import PlantedCauses, demo_world_of, measure_planted_causes
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.runs.run import Run
from fitcarl.synthetic import World


@dataclass(frozen=True)
class ExplanationQuality:
    """The result of the benchmark."""

    data: str
    split: str
    """``test``, or ``valid`` if the dataset has no test entities."""
    setting: str
    planted: PlantedCauses | None
    """None unless the run was trained on the demo world."""
    fidelity: Fidelity
    coverage: dict[str, float]
    """Kind of explanation → share of the first ten answers; ``total`` is the share with any of them."""
    ms_per_explanation: float
    """Median wall-clock time of one full explanation."""
    cpu_ms_per_explanation: float
    """Median processor time of it."""
    recomputed: float
    """Median number of sets of facts without which the answer is recomputed for one explanation."""
    ms_top_10: float
    """Median wall-clock time of a query with ten answers and three paths each, without measured effects."""

    def to_json(self) -> dict[str, Any]:
        """Plain values; those of the explanation first, those of the other choices in ``controls``."""
        planted, fidelity = self.planted, self.fidelity
        names = [name for name in fidelity.comprehensiveness if name != OURS]
        controls: dict[str, Any] = {
            name: {
                "comprehensiveness": fidelity.comprehensiveness[name],
                "sufficiency": fidelity.sufficiency[name],
                **({} if planted is None else planted.of_choice(name)),
            }
            for name in names
        }
        return {
            "data": self.data,
            "split": self.split,
            "setting": self.setting,
            "recall_at_3": None if planted is None else planted.recall[OURS].mean,
            "planted": None if planted is None else {**planted.of_choice(OURS), **planted.counts()},
            "controls": controls,
            "answers": fidelity.answers,
            "comprehensiveness": fidelity.comprehensiveness[OURS],
            "sufficiency": fidelity.sufficiency[OURS],
            "necessary_share": fidelity.necessary_share,
            "additivity_error": fidelity.additivity_error,
            "coverage": self.coverage,
            "ms_per_explanation": self.ms_per_explanation,
            "cpu_ms_per_explanation": self.cpu_ms_per_explanation,
            "recomputed": self.recomputed,
            "ms_top_10": self.ms_top_10,
        }


def measure_explanations(
    run: str | Path | Run,
    world: World | None = None,
    answers: int = 200,
    seed: int = 7,
    on_progress: OnProgress | None = None,
) -> ExplanationQuality:
    """Measures the explanations of a run on test queries of its dataset (meta-validation if it has no test entities).

    Args:
        run: A run, or its folder.
        world: The demo world that the run was trained on; recognised by default if it is the one of ``fitcarl demo``.
        answers: Number of test queries whose first answer is explained; drawn with a fixed seed.
        seed: Seed of the world of ``fitcarl demo``.
        on_progress: Called after every explanation.
    """
    run = run if isinstance(run, Run) else Run.load(run)
    bench = ExplainedQueries.of(run)
    world = world or demo_world_of(bench.dataset, seed)
    planted = None if world is None else measure_planted_causes(bench, world, on_progress)
    rng = np.random.default_rng(0)
    chosen = np.sort(rng.permutation(len(bench.task.queries))[:answers])
    top_10 = []
    coverage: dict[str, float] = dict.fromkeys(("path", "peers", "base rate", "none"), 0.0)
    total, times, cpu, recomputed, cases = 0, [], [], [], []
    for done, number in enumerate(chosen.tolist()):
        query = bench.query(number)
        began = perf_counter()
        [prediction] = bench.predictor.answer_checked([query], bench.facts)
        top_10.append(perf_counter() - began)
        for answer in prediction:
            coverage[_coverage_kind(answer.paths[0].kind if answer.paths else None)] += 1
            total += 1
        if not len(prediction):
            continue
        began, cpu_began = perf_counter(), process_time()
        context, explanation = bench.explain(query, prediction[0].entity)
        times.append(perf_counter() - began)
        cpu.append(process_time() - cpu_began)
        recomputed.append(context.answers.recomputed)
        cases.append(fidelity_case(context, explanation, np.random.default_rng(number)))
        if on_progress is not None:
            on_progress(Progress("explanations", done + 1, len(chosen), "answers"))
    shares = {kind: count / max(total, 1) for kind, count in coverage.items()}
    missing = shares.pop("none")
    return ExplanationQuality(
        bench.dataset.name,
        bench.split,
        run.config.setting,
        planted,
        mean_fidelity(cases),
        {**shares, "total": 1 - missing if total else 0.0},
        1000 * _median(times),
        1000 * _median(cpu),
        _median(recomputed),
        1000 * _median(top_10),
    )


def _coverage_kind(kind: str | None) -> str:
    return {"path": "path", "peers": "peers", "context": "base rate", None: "none"}[kind]


def _median(values: Sequence[float]) -> float:
    return float(np.median(values)) if len(values) else 0.0
