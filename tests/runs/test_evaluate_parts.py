"""An evaluation in parts gives the same report as one in a single process."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.core.shards import Shard, shards
from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.errors import InputError
from fitcarl.evaluation.parts import query_ranges, rank_part
from fitcarl.evaluation.protocol import evaluate_scorer
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.evaluate_parts import evaluate_part, merge_parts
from fitcarl.runs.identity import run_identity
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.manifest import withdraw_manifest
from fitcarl.runs.run import Run
from fitcarl.training.api import train
from tests.small import small

PARTS = 3
OPTIONS: dict[str, Any] = {"split": "valid", "draws": 2, "seed": 5, "setting": "forecast"}


@pytest.fixture(scope="module", params=["plus", "paper"])
def run(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / request.param
    return train(data, out=out, shots=2, preset=request.param, episodes=2, settings=small(request.param))


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of a few queries, so that a small dataset has many."""
    for function in (rank_part, evaluate_scorer):
        monkeypatch.setitem(function.__kwdefaults__, "chunk", 7)


def write_parts(run: Run, out: Path, **options: Any) -> None:
    for shard in reversed(shards(PARTS)):
        file, is_new = evaluate_part(run, shard, out, **options)
        assert is_new
        assert file.exists()


def without_costs(document: dict[str, Any]) -> dict[str, Any]:
    costs = {"seconds", "peak_mb"}
    per_query = [{key: draw[key] for key in draw.keys() - costs} for draw in document["per_query"]]
    return {key: document[key] for key in document.keys() - costs} | {"per_query": per_query}


@pytest.mark.parametrize("options", [{}, OPTIONS])
def test_merged_report_equals_that_of_one_process(run: Run, tmp_path: Path, options: dict[str, Any]) -> None:
    write_parts(run, tmp_path / "parts", **options)
    merged = merge_parts(run, tmp_path / "parts").to_json(ranks=True)
    whole = evaluate(run, **options).to_json(ranks=True)
    assert without_costs(merged) == without_costs(whole)
    assert merged["calibration"] is not None
    assert merged["seconds"] > 0
    assert merged["peak_mb"] > 0


def test_complete_part_is_kept(run: Run, tmp_path: Path) -> None:
    file, _ = evaluate_part(run, Shard(1, 2), tmp_path)
    written = file.stat().st_mtime_ns
    assert evaluate_part(run, Shard(1, 2), tmp_path) == (file, False)
    assert file.stat().st_mtime_ns == written
    assert evaluate_part(run, Shard(1, 2), tmp_path, overwrite=True) == (file, True)
    assert file.stat().st_mtime_ns != written


@pytest.mark.parametrize(
    ("field", "options"),
    [
        ("split", {"split": "valid"}),
        ("setting", {"setting": "forecast"}),
        ("draws", {"draws": 1}),
        ("seed", {"seed": 1}),
    ],
)
def test_part_of_other_options_is_refused(run: Run, tmp_path: Path, field: str, options: dict[str, Any]) -> None:
    file, _ = evaluate_part(run, Shard(1, 2), tmp_path, **options)
    before = file.read_bytes()
    with pytest.raises(InputError, match=rf"{file.name}, field {field}: was computed from something else.*--overwrite"):
        evaluate_part(run, Shard(1, 2), tmp_path)
    assert file.read_bytes() == before
    evaluate_part(run, Shard(2, 2), tmp_path)
    with pytest.raises(InputError, match=rf"field {field}: was computed from something else"):
        merge_parts(run, tmp_path)


def test_parts_of_another_run_are_refused(run: Run, tmp_path: Path) -> None:
    write_parts(run, tmp_path / "parts")
    copy = tmp_path / "copy"
    shutil.copytree(run.folder.path, copy)
    assert merge_parts(copy, tmp_path / "parts").realistic == merge_parts(run, tmp_path / "parts").realistic
    (copy / "calibration.json").write_text('{"temperature": 2.0, "unlisted_mass": 0.25}')
    RunFolder(copy).write_manifest()
    with pytest.raises(InputError, match="field run: was computed from something else"):
        merge_parts(copy, tmp_path / "parts")
    with pytest.raises(InputError, match="field run: was computed from something else"):
        evaluate_part(copy, Shard(1, PARTS), tmp_path / "parts")


def test_identity_depends_on_weights_but_not_on_the_checkpoint(run: Run, tmp_path: Path) -> None:
    copy = RunFolder(tmp_path / "copy")
    shutil.copytree(run.folder.path, copy.path)
    assert run_identity(copy) == run_identity(run.folder)
    copy.state.unlink()
    assert run_identity(copy) == run_identity(run.folder)
    weights, about = read_tensors(copy.weights)
    write_tensors(copy.weights, {name: tensor + 1 for name, tensor in weights.items()}, about)
    copy.write_manifest()
    assert run_identity(copy) != run_identity(run.folder)
    copy.weights.write_bytes(b"damaged")
    with pytest.raises(InputError, match=r"weights\.safetensors: has changed"):
        run_identity(copy)
    withdraw_manifest(copy.path)
    with pytest.raises(InputError, match=r"weights\.safetensors: cannot be read"):
        run_identity(copy)


def test_missing_and_mixed_parts_are_reported(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no parts"):
        merge_parts(run, tmp_path)
    evaluate_part(run, Shard(2, 3), tmp_path)
    with pytest.raises(InputError, match=r"2 of 3 parts are missing.* for 1/3, 3/3 first"):
        merge_parts(run, tmp_path)
    evaluate_part(run, Shard(1, 2), tmp_path)
    with pytest.raises(InputError, match="several evaluations; found '2 parts and 3 parts'"):
        merge_parts(run, tmp_path)


def test_part_under_another_name_is_refused(run: Run, tmp_path: Path) -> None:
    first, _ = evaluate_part(run, Shard(1, 2), tmp_path)
    shutil.copy(first, tmp_path / "evaluation-2-of-2.safetensors")
    with pytest.raises(InputError, match="field shard: was computed from something else; found '1/2'"):
        merge_parts(run, tmp_path)


def test_changed_part_is_refused(run: Run, tmp_path: Path) -> None:
    file, _ = evaluate_part(run, Shard(1, 1), tmp_path)
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(InputError, match="has changed since it was written"):
        merge_parts(run, tmp_path)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=4), st.integers(1, 9), st.integers(1, 8))
def test_ranges_of_all_parts_cover_every_query_once_in_whole_chunks(counts: list[int], parts: int, chunk: int) -> None:
    by_shard = [query_ranges(counts, shard, chunk) for shard in shards(parts)]
    order = [
        (draw, query) for ranges in by_shard for draw, part in enumerate(ranges) for query in range(counts[draw])[part]
    ]
    assert order == [(draw, query) for draw, count in enumerate(counts) for query in range(count)]
    for ranges in by_shard:
        for part, count in zip(ranges, counts, strict=True):
            assert part.start % chunk == 0 or part.start == count
            assert part.stop % chunk == 0 or part.stop == count
    sizes = [sum(-(-(part.stop - part.start) // chunk) for part in ranges) for ranges in by_shard]
    assert np.ptp(sizes) <= 1
