"""Reports kept in a file, so that tables and figures are made again without scoring again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fitcarl
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import InputError
from fitcarl.evaluation.draw import Draw
from fitcarl.evaluation.filtering import FILTERS, Filter
from fitcarl.evaluation.ranks import Ranks
from fitcarl.evaluation.report import Report
from fitcarl.evaluation.signature import Signature
from fitcarl.evaluation.slices import Slice
from fitcarl.tasks.task import Queries

_QUERY = ("entity", "relation", "time", "answer")
_COUNTS = ("greater", "equal", "candidates", "covered")


def report_path(out: Path, name: str) -> Path:
    """The file of the test report of a run, or of a heuristic baseline, in the folder of an experiment."""
    return out / "evaluations" / f"{name}.safetensors"


def save_report(report: Report, file: Path, made_from: str) -> None:
    """Writes the ranks of the official draw and the slices; the calibration is not kept.

    Args:
        report: The report.
        file: The file to write.
        made_from: What the report depends on (``weights_digest``); a report made from something else is not read.
    """
    draw = report.official
    arrays: dict[str, Any] = {name: getattr(draw.queries, name) for name in _QUERY}
    for filter in FILTERS:
        arrays |= {f"{filter}/{name}": getattr(draw.ranks[filter], name) for name in _COUNTS}
    arrays["slices"] = np.stack([part.mask for part in report.slices])
    about = {
        "made_from": made_from,
        "version": fitcarl.__version__,
        "scorer": report.scorer,
        "signature": asdict(report.signature),
        "entities": report.entities,
        "slices": [[part.by, part.value] for part in report.slices],
        "peak_mb": report.peak_mb,
        "seed": report.seed,
        "parameters": report.parameters,
        "seconds": draw.seconds,
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(file, {name: torch.from_numpy(np.ascontiguousarray(array)) for name, array in arrays.items()}, about)


def read_report(file: Path, made_from: str) -> Report | None:
    """The saved report; None if there is none, or if it was made from something else or by another version."""
    if not file.exists():
        return None
    try:
        tensors, about = read_tensors(file)
    except InputError:  # unreadable: it is made again
        return None
    if about.get("made_from") != made_from or about.get("version") != fitcarl.__version__:
        return None
    arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
    ranks: dict[Filter, Ranks] = {
        filter: Ranks(**{name: arrays[f"{filter}/{name}"] for name in _COUNTS}) for filter in FILTERS
    }
    draw = Draw(Queries(*(arrays[name] for name in _QUERY)), ranks, about["seconds"])
    parts = zip(about["slices"], arrays["slices"], strict=True)
    return Report(
        scorer=about["scorer"],
        signature=_signature(about["signature"]),
        entities=about["entities"],
        draws=(draw,),
        slices=tuple(Slice(by, value, mask) for (by, value), mask in parts),
        peak_mb=about["peak_mb"],
        seed=about["seed"],
        parameters=about["parameters"],
    )


def weights_digest(weights: Path, data: str) -> str:
    """What the report of a run is made from: the weights and the content of the dataset."""
    with weights.open("rb") as file:
        return f"{hashlib.file_digest(file, 'sha256').hexdigest()} on {data}"


def _signature(values: Mapping[str, Any]) -> Signature:
    return Signature(**{**values, "extra": tuple((key, value) for key, value in values["extra"])})
