"""Evaluates a run in parts, in several processes or on several machines, and merges the parts to one report."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fitcarl
from fitcarl.config.base import Setting
from fitcarl.core.device import resolve_device
from fitcarl.core.progress import OnProgress
from fitcarl.core.shards import Shard, check_record, shards
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.data.dataset import Dataset, Split
from fitcarl.errors import InputError
from fitcarl.evaluation.filtering import FILTERS, Filter
from fitcarl.evaluation.parts import RankedPart, join_parts, rank_part
from fitcarl.evaluation.plan import EvaluationPlan, plan_evaluation
from fitcarl.evaluation.ranks import Ranks
from fitcarl.evaluation.reliability import TopPredictions
from fitcarl.evaluation.report import Report
from fitcarl.runs.evaluate import as_trained, check_fits, default_split, provenance
from fitcarl.runs.identity import run_identity
from fitcarl.runs.run import Run

_NAME = re.compile(r"evaluation-([0-9]{1,6})-of-([0-9]{1,6})\.safetensors")
_COUNTS = ("greater", "equal", "candidates", "covered")


def evaluate_part(
    run: Run | str | Path,
    shard: Shard,
    out: Path,
    *,
    split: Split | None = None,
    data: str | Path | Dataset | None = None,
    setting: Setting | None = None,
    draws: int = 0,
    seed: int = 0,
    overwrite: bool = False,
    device: str | torch.device = "auto",
    on_progress: OnProgress | None = None,
) -> tuple[Path, bool]:
    """Evaluates a run on the I-th of N parts of the queries and writes their ranks to a file.

    A complete part of the same evaluation is kept, so that a failed job can be started again.

    Args:
        run: A run, or the path of its folder.
        shard: The part.
        out: The folder of the parts; created if necessary.
        split: As in ``evaluate``.
        data: As in ``evaluate``.
        setting: As in ``evaluate``.
        draws: As in ``evaluate``.
        seed: As in ``evaluate``.
        overwrite: Whether an existing part is computed again.
        device: As in ``evaluate``.
        on_progress: Called after every chunk of queries.

    Returns:
        The file, and whether it was computed now.

    Raises:
        InputError: If the file is a part of another evaluation, the run is damaged or the dataset does not fit it.
    """
    chosen_device = resolve_device(device)
    run = as_trained(run).to(chosen_device)
    plan = _plan(run, check_fits(run, data, draws), split, None, setting, draws, seed)
    file, record = out / f"evaluation-{shard.label}.safetensors", _record(run, plan, shard)
    if file.exists() and not overwrite:
        check_record(file, _read(file)[1], record, "--overwrite computes it again, or use another --out")
        return file, False
    calibration = run.calibration_for(plan.setting)
    scorer = run.scorer_for(plan.dataset)
    with run.named_in_errors():
        part = rank_part(scorer, plan, shard, calibration=calibration, on_progress=on_progress)
    out.mkdir(parents=True, exist_ok=True)
    _write(file, part, record)
    return file, True


def merge_parts(
    run: Run | str | Path,
    folder: Path,
    *,
    split: Split | None = None,
    data: str | Path | Dataset | None = None,
    setting: Setting | None = None,
    draws: int | None = None,
    seed: int | None = None,
) -> Report:
    """The report of an evaluation in parts, equal to that of ``evaluate`` but for time and memory.

    ``seconds`` is the sum over the parts, ``peak_mb`` that of the largest process.

    Args:
        run: The run, or the path of its folder.
        folder: The folder of the parts.
        split: By default that of the parts; another one is an error. The same holds for the other options.
        data: As in ``evaluate``.
        setting: As in ``evaluate``.
        draws: As in ``evaluate``.
        seed: As in ``evaluate``.

    Raises:
        InputError: If a part is missing, or belongs to another run, dataset or evaluation.
    """
    files = _find_parts(folder)
    read = [_read(file) for file in files]
    run, first = as_trained(run), read[0][1]
    draws = _integer(first, "draws") if draws is None else draws
    seed = _integer(first, "seed") if seed is None else seed
    dataset = check_fits(run, data, draws)
    chosen = (split or first.get("split"), _integer(first, "shots"), setting or first.get("setting"))
    plan = _plan(run, dataset, *chosen, draws, seed)
    for file, (_, found), shard in zip(files, read, shards(len(files)), strict=True):
        check_record(file, found, _record(run, plan, shard), "all parts must be of one evaluation of this run")
    parts = [part for part, _ in read]
    try:
        joined = join_parts(parts, plan)
    except ValueError as error:
        raise InputError(str(error), file=folder, expected="the parts of one evaluation") from None
    report = plan.report(
        run.scorer_for(dataset).name,
        joined,
        peak_mb=max(part.peak_mb for part in parts),
        extra=provenance(run, dataset, plan.split, plan.shots, plan.setting),
        calibration=run.calibration_for(plan.setting),
    )
    return replace(report, parameters=run.parameters)


def _plan(
    run: Run, dataset: Dataset, split: Split | None, shots: int | None, setting: Setting | None, draws: int, seed: int
) -> EvaluationPlan:
    split = default_split(dataset) if split is None else split
    shots = run.config.shots if shots is None else shots
    return plan_evaluation(dataset, split, shots, setting or run.config.setting, draws, seed)


def _record(run: Run, plan: EvaluationPlan, shard: Shard) -> dict[str, Any]:
    """What a part is a part of."""
    return {
        "run": run_identity(run.folder),
        "dataset": plan.dataset.digest,
        "split": plan.split,
        "setting": plan.setting,
        "shots": plan.shots,
        "draws": len(plan.tasks) - 1,
        "seed": plan.seed,
        "shard": str(shard),
        "version": fitcarl.__version__,
    }


def _find_parts(folder: Path) -> list[Path]:
    """The files of all parts, in order."""
    found = {match: file for file in sorted(folder.glob("*")) if (match := _NAME.fullmatch(file.name))}
    if not found:
        raise InputError("no parts", file=folder, expected="a folder that 'fitcarl evaluate --shard I/N --out' wrote")
    totals = sorted({int(match[2]) for match in found})
    if len(totals) > 1:
        listed = " and ".join(f"{total} parts" for total in totals)
        raise InputError("several evaluations", file=folder, found=listed, expected="the parts of one evaluation")
    files = {int(match[1]): file for match, file in found.items()}
    missing = [shard for shard in shards(totals[0]) if shard.number not in files]
    if missing:
        listed = ", ".join(map(str, missing[:5])) + (", …" if len(missing) > 5 else "")
        problem = f"{len(missing)} of {totals[0]} parts are missing"
        raise InputError(problem, file=folder, expected=f"'fitcarl evaluate --shard' for {listed} first")
    return [files[number] for number in sorted(files)]


def _write(file: Path, part: RankedPart, record: Mapping[str, Any]) -> None:
    arrays: dict[str, Any] = {"seconds": part.seconds}
    for filter in FILTERS:
        arrays |= {f"{filter}/{name}": getattr(part.ranks[filter], name) for name in _COUNTS}
    if part.top_predictions is not None:
        arrays |= {"share": part.top_predictions.share, "right": part.top_predictions.right}
    tensors = {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}
    write_tensors(file, tensors, {"record": dict(record), "peak_mb": part.peak_mb})


def _read(file: Path) -> tuple[RankedPart, dict[str, Any]]:
    """A part, and what it is a part of."""
    tensors, about = read_tensors(file)
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    try:
        ranks: dict[Filter, Ranks] = {
            filter: Ranks(**{name: arrays[f"{filter}/{name}"] for name in _COUNTS}) for filter in FILTERS
        }
        top = TopPredictions(arrays["share"], arrays["right"]) if "share" in arrays else None
        return RankedPart(ranks, top, arrays["seconds"], float(about["peak_mb"])), dict(about["record"])
    except (KeyError, TypeError, ValueError):
        raise InputError("is not a part of an evaluation", file=file, expected="a file of 'evaluate --shard'") from None


def _integer(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    return value if isinstance(value, int) else 0
