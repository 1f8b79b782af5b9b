"""Intact files and folders that the fuzzer starts from."""

from __future__ import annotations

import io
import json
from collections.abc import Collection
from datetime import date, timedelta
from pathlib import Path

import polars as pl

from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.io.dataset_folder import read_dataset, write_dataset
from fitcarl.data.split import split_facts
from fitcarl.graph.storage import save_graph
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.synthetic import generate_world
from fitcarl.training.api import train
from tests.fuzz.mutate_files import encode
from tests.small import small

_NOT_READ = ("state.safetensors", "trace.jsonl", "curve.svg", "environment.json", "result.json")
"""Files of a run that prediction does not read."""


def prepare(home: Path, targets: Collection[str]) -> None:
    """Creates the intact folders of some targets, unless they are there: a small dataset, a graph and small runs.

    Args:
        home: Folder of the fuzzer's files.
        targets: Names of the targets.
    """
    if not set(targets) - {"files"}:
        return
    data = home / "tiny"
    if not data.exists():
        facts = generate_world("tiny", seed=7).facts
        write_dataset(split_facts(facts, name="tiny", bounds=BENCHMARK_BOUNDS), data)
    if "graph" in targets and not (home / "graph").exists():
        dataset = read_dataset(data)
        names = dataset.vocabulary
        save_graph(
            TemporalGraph.from_facts(dataset.background, len(names.entities), names.relation_ids), home / "graph"
        )
    for preset in ("plus", "paper"):
        if f"run-{preset}" in targets and not (home / preset / "result.json").exists():
            settings = (*small(preset), "training.validate_every=1")
            train(data, out=home / preset, preset=preset, shots=2, episodes=1, settings=settings)


def files_of(folder: Path) -> dict[str, bytes]:
    """Content of the files of a folder that are read, by relative path."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name not in _NOT_READ)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found if path.suffix != ".lock"}


def files() -> list[bytes]:
    """Small files in every format, with their options."""
    return [*_tables(), *_records(), *_parquet(), *_others()]


def _rows(times: list[str]) -> list[tuple[str, str, str, str]]:
    return [(f"A{i}", f"r{i % 2}", f"B {i % 3}", time) for i, time in enumerate(times)]


def _days(count: int) -> list[str]:
    return [str(date(2020, 1, 30) + timedelta(days=3 * i)) for i in range(count)]


def _tables() -> list[bytes]:
    found = []
    times = (_days(4), ["2020-01", "2020-02", "2021-12"], ["1577836800", "1577923200"], ["3", "17", "2"])
    more = (["2020-W05", "2020-W06"], ["2020-Q1", "2021-Q4"], ["01/02/2020", "02/02/2020"], ["2020-01-01T10:00Z"] * 2)
    for form in (*times, *more):
        rows = ["subject,relation,object,time", *(",".join(row) for row in _rows(form))]
        found.append(encode({"reader": "facts", "suffix": ".csv"}, "\n".join(rows).encode()))
    tsv = "\n".join("\t".join(row) for row in _rows(_days(4))).encode()
    found.append(encode({"reader": "facts", "suffix": ".tsv"}, tsv))
    intervals = "s,r,o,start,end\nA,r,B,2020-01-01,2020-01-05\nB,r,C,2020-01-03,\nC,q,A,2019,2021\n"
    columns = ["s", "r", "o", "start", "end"]
    for mode in ("events", "expand", "start"):
        options = {"intervals": mode, "columns": columns}
        found.append(encode({"reader": "facts", "suffix": ".csv", "options": options}, intervals.encode()))
    acled = "event_date,event_type,actor1,actor2\n05 January 2020,Riots,A,B\n06 January 2020,Battle,B,A\n"
    found.append(encode({"reader": "facts", "suffix": ".csv", "options": {"layout": "acled"}}, acled.encode()))
    return found


def _records() -> list[bytes]:
    names = ("subject", "relation", "object", "time")
    objects = "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in _rows(_days(3)))
    arrays = "\n".join(json.dumps(row) for row in _rows(["1", "2", "3"]))
    return [encode({"reader": "facts", "suffix": ".jsonl"}, text.encode()) for text in (objects, arrays)]


def _parquet() -> list[bytes]:
    rows = {"subject": ["A", "B"], "relation": ["r", "q"], "object": ["B", "C"]}
    times = (["2020-01-01", "2020-01-02"], [1, 2], [date(2020, 1, 1), date(2020, 1, 2)])
    found = []
    for time in times:
        out = io.BytesIO()
        pl.DataFrame({**rows, "time": time}).write_parquet(out, compression="uncompressed", statistics=False)
        found.append(encode({"reader": "facts", "suffix": ".parquet"}, out.getvalue()))
    return found


def _others() -> list[bytes]:
    queries = "subject,relation,object,at,id\nA,r,,2020-01-01,1\n,r,B,2020-01-02,2\n"
    preset = {"model": "plus", "description": "x", "settings": {"training.learning_rate": 0.001, "policy.hidden": 8}}
    concepts = {"Peliland": ["country", "state"], "x": []}
    query = {"subject": "A", "relation": "r", "at": "2020-01-01"}
    return [
        encode({"reader": "queries", "suffix": ".csv"}, queries.encode()),
        encode({"reader": "queries", "suffix": ".jsonl"}, json.dumps(query).encode()),
        encode({"reader": "preset", "suffix": ".json"}, json.dumps(preset).encode()),
        encode({"reader": "concepts", "suffix": ".json"}, json.dumps(concepts).encode()),
        encode({"reader": "concepts", "suffix": ".tsv"}, b"Peliland\tcountry\nx\tstate\n"),
    ]
