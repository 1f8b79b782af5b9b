"""The tables of ``fitcarl benchmark scale`` and ``threads`` as text, and growth as a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fitcarl.core.files import replacing

_ANSWERS = {
    "load_seconds": "load, s",
    "private_mb": "private memory after loading, MB",
    "ask_p50_ms": "ask p50, ms",
    "ask_p95_ms": "ask p95, ms",
    "past_p50_ms": "ask about the past p50, ms",
    "bulk_ms": "bulk prediction, CPU ms per query",
}
_RUN = {
    "train_cpu_seconds": "whole training, CPU s",
    "train_wall_seconds": "whole training, wall s",
    "train_peak_mb": "training, peak MB",
    "run_mb": "run folder, MB",
}


def scale_table(result: Mapping[str, Any]) -> list[str]:
    """Lines of the table: CPU seconds of every stage at every size, the last exponent, and figures of the runs."""
    sizes: Sequence[Mapping[str, Any]] = result["sizes"]
    names = list(dict.fromkeys(name for size in sizes for name in size["stages"]))
    head = ["CPU seconds", *(f"{size['facts']:,} facts" for size in sizes), "growth"]
    rows = [[name, *(_number(_cost(size, name)) for size in sizes), _growth(sizes[-1], name)] for name in names]
    rows += [["entities", *(f"{size['entities']:,}" for size in sizes), ""]]
    computed = "" if result["whole"] else " (computed)"
    for key, label in _RUN.items():
        rows.append([label + computed * key.endswith("_seconds"), *(_number(size[key]) for size in sizes), ""])
    rows += [[label, *(_number(size["answers"][key]) for size in sizes), ""] for key, label in _ANSWERS.items()]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = ["  ".join(_cells(row, widths)) for row in [head, *rows]]
    notes = [f"setting {result['setting']}, {result['threads']} threads, answers on one thread"]
    if not result["whole"]:
        notes += ["Encoder and episodes were shortened; a whole training is computed from their cost per unit."]
    return [*lines, *notes]


def thread_table(result: Mapping[str, Any]) -> list[str]:
    """Lines of ``fitcarl benchmark threads``: wall-clock seconds of every stage by threads, and the speed-up."""
    times: Sequence[Mapping[str, Any]] = result["times"]
    head = ["wall-clock seconds", *map(_threads, times), "speed-up"]
    last = times[-1]
    rows = [
        [name, *(_number(one["wall_seconds"][name]) for one in times), _number(last["speedup"][name])]
        for name in last["wall_seconds"]
    ]
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    lines = ["  ".join(_cells(row, widths)) for row in [head, *rows]]
    world = f"{result['facts']:,} generated facts, setting {result['setting']}"
    return [*lines, world, "Independent work shares nothing: its speed-up is the limit of the machine at that time."]


def _threads(times: Mapping[str, Any]) -> str:
    return f"{times['threads']} thread" + "s" * (times["threads"] > 1)


def plot_growth(result: Mapping[str, Any], file: Path) -> None:
    """CPU seconds of every stage by the number of facts, on logarithmic axes."""
    from matplotlib.figure import Figure

    sizes = result["sizes"]
    facts = [size["facts"] for size in sizes]
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for name in dict.fromkeys(name for size in sizes for name in size["stages"]):
        axes.plot(facts, [_cost(size, name) or float("nan") for size in sizes], "o-", label=name, ms=3)
    first = min((cost for name in sizes[0]["stages"] if (cost := _cost(sizes[0], name) or 0.0)), default=0.01)
    axes.plot(facts, [first * count / facts[0] for count in facts], "--", color="#8a8f98", label="linear")
    axes.set(xscale="log", yscale="log", xlabel="facts", ylabel="CPU seconds")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    with replacing(file) as sibling:
        figure.savefig(sibling, format=file.suffix[1:])


def _cost(size: Mapping[str, Any], name: str) -> float | None:
    found = size["stages"].get(name)
    return None if found is None else float(found["cpu_seconds"])


def _growth(size: Mapping[str, Any], name: str) -> str:
    growth = size["stages"].get(name, {}).get("growth")
    return "" if growth is None else f"{growth:.2f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f}" if value < 100 else f"{value:,.0f}"


def _cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
