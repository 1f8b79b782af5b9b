"""An evaluation in parts: each process ranks some of the queries, and the parts together are the whole.

Queries are independent given their task. A part is a contiguous range of whole chunks (``protocol.CHUNK`` queries) of
all draws, so that every call of the scorer gets the same queries as without parts, and floats are equal to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import offsets_of
from fitcarl.core.memory import peak_mb
from fitcarl.core.progress import OnProgress
from fitcarl.core.shards import Shard
from fitcarl.evaluation.calibration import Calibration
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.filtering import FILTERS, Filter, KnownAnswers
from fitcarl.evaluation.plan import EvaluationPlan
from fitcarl.evaluation.protocol import CHUNK, counted_queries, rank_task
from fitcarl.evaluation.ranks import Ranks
from fitcarl.evaluation.reliability import TopPredictions
from fitcarl.scoring.scorer import Scorer


@dataclass(frozen=True, eq=False)
class RankedPart:
    """The ranks of a part of the queries, in the order of the draws."""

    ranks: Mapping[Filter, Ranks]
    top_predictions: TopPredictions | None
    """None without a calibration."""
    seconds: NDArray[np.float64]
    """float64 [draws], wall-clock time of scoring and ranking."""
    peak_mb: float
    """Peak resident memory of the process."""


def query_ranges(counts: Sequence[int], shard: Shard, chunk: int = CHUNK) -> list[slice]:
    """The queries of each draw that belong to a part.

    Args:
        counts: Queries of each draw.
        shard: The part.
        chunk: Queries per call of the scorer.
    """
    chunks = [-(-count // chunk) for count in counts]
    low, high = shard.bounds(sum(chunks))
    starts = offsets_of(np.array(chunks, dtype=np.int64))[:-1].tolist()
    return [
        slice(*(min(max(end - start, 0) * chunk, count) for end in (low, high)))
        for start, count in zip(starts, counts, strict=True)
    ]


def rank_part(
    scorer: Scorer,
    plan: EvaluationPlan,
    shard: Shard,
    *,
    known: KnownAnswers | None = None,
    calibration: Calibration | None = None,
    chunk: int = CHUNK,
    on_progress: OnProgress | None = None,
) -> RankedPart:
    """Ranks the answers to a part of the queries.

    Args:
        scorer: The scorer.
        plan: The tasks.
        shard: The part.
        known: Index of all true facts of the dataset, built if not given.
        calibration: Converts scores to shares.
        chunk: Queries per call of the scorer.
        on_progress: Called after every chunk with the number of ranked queries.
    """
    known = known or KnownAnswers.of(plan.dataset)
    ranges = query_ranges(plan.query_counts, shard, chunk)
    on_chunk = counted_queries(sum(part.stop - part.start for part in ranges), on_progress)
    seconds = np.zeros(len(ranges))
    found: list[Draw] = []
    for number, (task, part) in enumerate(zip(plan.tasks, ranges, strict=True)):
        if part.start < part.stop:
            found.append(rank_task(scorer, task, known, plan.entities, chunk, on_chunk, calibration, part))
            seconds[number] = found[-1].seconds
    top = [draw.top_predictions for draw in found if draw.top_predictions is not None]
    return RankedPart(
        {filter: Ranks.concat([Ranks.empty(), *(draw.ranks[filter] for draw in found)]) for filter in FILTERS},
        None if calibration is None else TopPredictions.concat([TopPredictions.empty(), *top]),
        seconds,
        peak_mb(),
    )


def join_parts(parts: Sequence[RankedPart], plan: EvaluationPlan) -> tuple[Draw, ...]:
    """The draws of all parts; the seconds of a draw are the sum over its parts.

    Args:
        parts: All parts, in order.
        plan: The tasks.

    Raises:
        ValueError: If the parts do not have as many ranks as there are queries.
    """
    counts = plan.query_counts
    offsets = offsets_of(np.array(counts, dtype=np.int64)).tolist()
    ranks = {filter: Ranks.concat([part.ranks[filter] for part in parts]) for filter in FILTERS}
    if any(len(found) != offsets[-1] for found in ranks.values()):
        raise ValueError(f"the parts have {len(ranks['time-aware'])} ranks for {offsets[-1]} queries")
    shares = [part.top_predictions for part in parts if part.top_predictions is not None]
    top = TopPredictions.concat(shares) if shares else None
    seconds = np.sum([part.seconds for part in parts], axis=0).tolist()
    draws = []
    for number, task in enumerate(plan.tasks):
        part = slice(offsets[number], offsets[number + 1])
        own = {filter: found.take(part) for filter, found in ranks.items()}
        draws.append(Draw(task.queries, own, seconds[number], None if top is None else top.take(part)))
    return tuple(draws)
