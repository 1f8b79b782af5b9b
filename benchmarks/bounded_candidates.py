"""What it costs in MRR to visit some objects of large relations only.

    python benchmarks/bounded_candidates.py RUN [--objects 4096,1024] [--draws 2]

RUN is a run of ``plus``. Its meta-validation is evaluated once with all objects of the asked relation as candidates,
and once per number in ``--objects``: relations with more objects are then bounded as on large graphs, see
docs/design/plus.md. MRR is that of the official supports; differences are those of all draws, paired over entities.
"""

from __future__ import annotations

import argparse
import time
from copy import copy
from dataclasses import replace

import numpy as np

from fitcarl.evaluation.report import Report
from fitcarl.models.plus.event_index import event_index
from fitcarl.models.plus.timeline import Timeline
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.run import Run

_UNBOUNDED = 1 << 30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--objects", default="4096,1024", help="objects of a relation that are visited one by one")
    parser.add_argument("--draws", type=int, default=2, help="resampled support sets, besides the official one")
    given = parser.parse_args()
    run = Run.load(given.run)
    objects = np.sort(np.diff(run.model.statistics.relation_offsets))[::-1]
    print(f"objects of the largest relations: {', '.join(map(str, objects[:5]))}")
    everything, seconds = _evaluate(run, _UNBOUNDED, given.draws)
    print(f"all objects: MRR {everything.realistic.mrr:.4f}, {seconds:.1f} CPU seconds")
    for bound in map(int, given.objects.split(",")):
        report, seconds = _evaluate(run, bound, given.draws)
        change = report.versus(everything)
        print(
            f"more than {bound} objects bounded ({np.count_nonzero(objects > bound)} of {len(objects)} relations): "
            f"MRR {report.realistic.mrr:.4f}, difference {change.mean:+.4f} "
            f"({change.low:+.4f} to {change.high:+.4f}), {seconds:.1f} CPU seconds",
            flush=True,
        )


def _evaluate(run: Run, bound: int, draws: int) -> tuple[Report, float]:
    """Meta-validation with relations of more than ``bound`` objects bounded, and its processor time."""
    assert isinstance(run.model, PlusModel)
    model = copy(run.model)
    model.statistics = replace(model.statistics, max_objects=bound, **event_index(run.context.graph, bound))
    model.timeline = Timeline(model.statistics, model.snapshots)
    began = time.process_time()
    report = evaluate(replace(run, model=model), split="valid", draws=draws)
    return report, time.process_time() - began


if __name__ == "__main__":
    main()
