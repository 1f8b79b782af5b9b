"""Indexing of a Parquet file in memory and out of core: seconds, peak memory and disk, each in its own process."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from fitcarl.bench.generated_file import write_world
from fitcarl.bench.own_process import in_own_process
from fitcarl.core.memory import peak_mb
from fitcarl.core.progress import OnProgress, Progress


@dataclass(frozen=True)
class OutOfCoreTimes:
    facts: int
    entities: int
    file_mb: float
    """The Parquet file."""
    index_bytes_per_fact: float
    """The stored graph."""
    libraries_mb: float
    """Peak memory of a process that indexed ten facts: Python, polars, numba and their buffers."""
    in_memory_seconds: float
    """Read, index and save with all facts in memory."""
    in_memory_cpu_seconds: float
    """Processor time of all threads, which other processes on the machine hardly change."""
    in_memory_peak_mb: float
    memory_mb: int
    """What out of core was allowed for facts."""
    out_of_core_seconds: float
    out_of_core_cpu_seconds: float
    out_of_core_reading: float
    """Seconds of reading text, assigning ids and writing them."""
    out_of_core_distributing: float
    """Seconds of distributing edges to partitions."""
    out_of_core_sorting: float
    """Seconds of sorting partitions and writing the graph."""
    out_of_core_names: float
    """Seconds of all else: parsing distinct times, and writing the names."""
    out_of_core_peak_mb: float
    partitions: int
    equal: bool
    """Whether both graphs are equal to the bit."""


def time_out_of_core(
    facts: int, memory_mb: int, on_progress: OnProgress = lambda _: None, source: Path | None = None
) -> OutOfCoreTimes:
    """Writes a demo world to a Parquet file and indexes it in memory and out of core.

    Args:
        facts: Facts of the demo world.
        memory_mb: Memory for facts, as in ``index_facts``.
        on_progress: Called before every step.
        source: A Parquet file of facts, instead of the demo world.
    """
    with tempfile.TemporaryDirectory(prefix="fitcarl-") as name:
        folder = Path(name)
        file = source or folder / "facts.parquet"
        if source is None:
            on_progress(Progress("generating facts", 0, 0))
            in_own_process(write_world, facts, folder / "facts.parquet")
        in_own_process(_write_few, str(folder))
        few = folder / "few.parquet"
        for stage in ("compile", "measure"):  # the first process may compile the loops
            libraries = in_own_process(_out_of_core, str(few), str(folder / f"few-{stage}"), 1)
        on_progress(Progress("in memory", 0, 0))
        whole = in_own_process(_in_memory, str(file), str(folder / "in-memory"))
        on_progress(Progress("out of core", 0, 0))
        parts = in_own_process(_out_of_core, str(file), str(folder / "out-of-core"), memory_mb)
        graphs = [folder / "in-memory", folder / "out-of-core" / "graph"]
        about = [json.loads((graph / "graph.json").read_text(encoding="utf-8")) for graph in graphs]
        stages = parts["stages"]
        return OutOfCoreTimes(
            facts=parts["facts"],
            entities=parts["entities"],
            file_mb=file.stat().st_size / 1e6,
            index_bytes_per_fact=sum(part.stat().st_size for part in graphs[1].iterdir()) / parts["facts"],
            libraries_mb=libraries["peak_mb"],
            in_memory_seconds=whole["seconds"],
            in_memory_cpu_seconds=whole["cpu_seconds"],
            in_memory_peak_mb=whole["peak_mb"],
            memory_mb=memory_mb,
            out_of_core_seconds=parts["seconds"],
            out_of_core_cpu_seconds=parts["cpu_seconds"],
            out_of_core_reading=stages["reading"],
            out_of_core_distributing=stages["distributing"],
            out_of_core_sorting=stages["sorting"],
            out_of_core_names=parts["seconds"] - sum(stages.values()),
            out_of_core_peak_mb=parts["peak_mb"],
            partitions=parts["partitions"],
            equal=about[0] == about[1],
        )


def _write_few(folder: str) -> dict[str, Any]:
    import polars as pl

    columns = {"subject": [f"a{i}" for i in range(10)], "relation": ["r"] * 10, "object": ["b"] * 10}
    pl.DataFrame({**columns, "time": [f"2024-01-{i + 1:02}" for i in range(10)]}).write_parquet(
        Path(folder) / "few.parquet"
    )
    return {}


def _in_memory(file: str, out: str) -> dict[str, Any]:
    from fitcarl.data.io.reader import read_facts
    from fitcarl.graph.storage import save_graph
    from fitcarl.graph.temporal import TemporalGraph

    began, cpu = perf_counter(), process_time()
    facts = read_facts(file)
    names = facts.vocabulary
    save_graph(TemporalGraph.from_facts(facts.quadruples, len(names.entities), names.relation_ids), out)
    return {"seconds": perf_counter() - began, "cpu_seconds": process_time() - cpu, "peak_mb": peak_mb()}


def _out_of_core(file: str, out: str, memory_mb: int) -> dict[str, Any]:
    from fitcarl.runs.fact_index import index_facts

    stages = dict.fromkeys(("reading", "distributing", "sorting"), 0.0)
    began = last = perf_counter()
    cpu = process_time()

    def on_progress(progress: Progress) -> None:
        nonlocal last
        now = perf_counter()
        stages[progress.stage] += now - last
        last = now

    index = index_facts(file, out, memory_mb=memory_mb, on_progress=on_progress)
    spent = {"seconds": perf_counter() - began, "cpu_seconds": process_time() - cpu, "peak_mb": peak_mb()}
    return {**spent, "stages": stages, **asdict(index.counts)}
