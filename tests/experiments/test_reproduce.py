"""A reproduction trains missing runs, reuses finished ones and never overwrites anything else."""

from __future__ import annotations

import json
import logging
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from fitcarl.errors import InputError
from fitcarl.experiments.jobs import TrainingError, TrainingJob, train_in_subprocess
from fitcarl.experiments.reproduce import ReproductionPlan, reproduce
from fitcarl.experiments.results import Row
from fitcarl.models.registry import HEURISTIC
from fitcarl.runs.evaluate import evaluate
from fitcarl.training.api import TrainingInterrupted, resume, train
from fitcarl.training.trace import read
from tests.small import SMALL_PAPER, write_tiny

SETTINGS = (*SMALL_PAPER, "training.episodes=2")


@contextmanager
def logged_messages() -> Iterator[list[str]]:
    """Collects the messages of all loggers of the package."""
    messages: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            messages.append(record.getMessage())

    logger, handler = logging.getLogger("fitcarl"), Collector()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield messages
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def train_in_process(job: TrainingJob, _lock: int) -> None:
    """Trains in this process, which is faster."""
    if job.state == "new":
        settings = {"shots": job.shots, "preset": job.preset, "model": job.model, "seed": job.seed}
        train(job.source, out=job.folder, settings=job.settings, **settings)  # type: ignore[arg-type]
    else:
        resume(job.folder)


def never_train(job: TrainingJob, _lock: int) -> None:
    raise AssertionError(f"{job.folder} is trained again")


@pytest.fixture(scope="module")
def plan(data: Path) -> ReproductionPlan:
    return ReproductionPlan((str(data),), shots=(1, 2), seeds=(0, 1), settings=SETTINGS)


@pytest.fixture(scope="module")
def finished(plan: ReproductionPlan, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Row], list[str]]:
    """A complete reproduction: its folder, its rows and its log messages."""
    out = tmp_path_factory.mktemp("results")
    with logged_messages() as messages:
        rows = reproduce(plan, out, train=train_in_process)
    return out, rows, messages


@pytest.fixture
def copy(finished: tuple[Path, list[Row], list[str]], tmp_path: Path) -> Path:
    shutil.copytree(finished[0], tmp_path / "results")
    return tmp_path / "results"


def test_every_combination_has_runs_and_a_row(finished: tuple[Path, list[Row], list[str]]) -> None:
    out, rows, messages = finished
    assert {path.name for path in out.iterdir() if (path / "config.json").exists()} == {
        *("tiny-1shot-paper-0", "tiny-1shot-paper-1", "tiny-2shot-paper-0", "tiny-2shot-paper-1")
    }
    assert [(row.shots, row.seeds) for row in rows if row.kind == "trained"] == [(1, (0, 1)), (2, (0, 1))]
    for shots in (1, 2):
        assert [row.scorer for row in rows if row.kind == "heuristic" and row.shots == shots] == list(HEURISTIC)
    assert "run 4 of 4: tiny, 2-shot, paper, seed 1: training" in messages


def test_trained_row_is_mean_of_run_reports(
    finished: tuple[Path, list[Row], list[str]],
) -> None:
    out, rows, _ = finished
    [row] = [row for row in rows if row.kind == "trained" and row.shots == 2]
    folders = [out / f"tiny-2shot-paper-{seed}" for seed in (0, 1)]
    reports = [evaluate(folder) for folder in folders]
    assert row.mrr_by_seed == tuple(report.realistic.mrr for report in reports)
    assert row.mrr == pytest.approx(sum(row.mrr_by_seed) / 2)
    assert row.paper_mrr == pytest.approx(sum(report.paper.mrr for report in reports) / 2)
    results = [json.loads((folder / "result.json").read_text()) for folder in folders]
    assert row.minutes == pytest.approx(sum(result["seconds"] for result in results) / 120)
    assert row.peak_mb == max(result["peak_mb"] for result in results)


def test_row_label_lists_settings_that_differ_from_preset(finished: tuple[Path, list[Row], list[str]]) -> None:
    [label] = {row.scorer for row in finished[1] if row.kind == "trained"}
    changed = label.removeprefix("fitcarl (paper, ").removesuffix(")").split(", ")
    assert sorted(changed) == sorted(SETTINGS)


def test_table_is_written_to_disk(finished: tuple[Path, list[Row], list[str]]) -> None:
    out, rows, _ = finished
    assert [Row.from_json(row) for row in json.loads((out / "results.json").read_text())["rows"]] == rows
    assert sum(line.startswith("| tiny") for line in (out / "results.md").read_text().splitlines()) == len(rows)


def test_second_call_reuses_all_runs(plan: ReproductionPlan, finished: tuple[Path, list[Row], list[str]]) -> None:
    out, rows, _ = finished
    assert reproduce(plan, out, train=never_train) == rows


def test_unfinished_run_is_resumed(plan: ReproductionPlan, copy: Path) -> None:
    last = plan.cells(copy)[-1].jobs[-1]
    shutil.rmtree(last.folder)
    with pytest.raises(TrainingInterrupted):
        train(
            last.source, out=last.folder, shots=2, preset="paper", seed=1, settings=SETTINGS, should_stop=lambda: True
        )
    assert {job.state for job in plan.cells(copy)[-1].jobs} == {"finished", "unfinished"}
    assert last.command == ["train", "--resume", str(last.folder)]
    trained = []

    def only_that(job: TrainingJob, lock: int) -> None:
        trained.append(job.folder)
        train_in_process(job, lock)

    reproduce(plan, copy, train=only_that)
    assert trained == [last.folder]
    assert last.state == "finished"


def test_run_with_other_settings_is_rejected_before_training(plan: ReproductionPlan, copy: Path) -> None:
    longer = replace(plan, settings=(*SMALL_PAPER, "training.episodes=3"))
    with pytest.raises(InputError, match=r"tiny-1shot-paper-0.*training\.episodes=2.*expected training\.episodes=3"):
        reproduce(longer, copy, train=never_train)


def test_run_on_other_data_is_rejected(plan: ReproductionPlan, copy: Path, tmp_path: Path) -> None:
    other = write_tiny(tmp_path / "other" / "tiny", seed=8)
    with pytest.raises(InputError, match="is a run on other data"):
        reproduce(replace(plan, data=(str(other),)), copy, train=never_train)


def test_folder_that_is_not_a_run_is_not_touched(plan: ReproductionPlan, tmp_path: Path) -> None:
    thesis = tmp_path / "tiny-2shot-paper-0" / "thesis.tex"
    thesis.parent.mkdir()
    thesis.write_text("years of work")
    with pytest.raises(InputError, match="is not a run"):
        reproduce(plan, tmp_path, train=never_train)
    assert thesis.read_text() == "years of work"


def test_run_that_another_process_is_creating_is_accepted(plan: ReproductionPlan, copy: Path) -> None:
    last = plan.cells(copy)[-1].jobs[-1]
    for part in last.folder.iterdir():
        if part.name != "config.json":
            shutil.rmtree(part) if part.is_dir() else part.unlink()
    (last.folder / ".data.json.1.2").touch()
    assert last.state == "new"
    reproduce(plan, copy, train=train_in_process)
    assert last.state == "finished"


def test_rows_of_earlier_calls_are_kept(
    plan: ReproductionPlan, finished: tuple[Path, list[Row], list[str]], copy: Path
) -> None:
    rows = reproduce(replace(plan, shots=(2,), seeds=(0,)), copy, train=never_train)
    assert [row for row in rows if row.shots == 1] == [row for row in finished[1] if row.shots == 1]
    assert [row.seeds for row in rows if row.kind == "trained"] == [(0, 1), (0,)]


def test_two_processes_share_the_runs(plan: ReproductionPlan, copy: Path) -> None:
    last = plan.cells(copy)[-1].jobs[-1]
    shutil.rmtree(last.folder)
    trained: list[Path] = []

    def slowly(job: TrainingJob, lock: int) -> None:
        trained.append(job.folder)
        time.sleep(0.3)
        train_in_process(job, lock)

    def other() -> None:
        rows.append(reproduce(plan, copy, train=slowly))

    rows: list[list[Row]] = []
    threads = [threading.Thread(target=other) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert trained == [last.folder]
    assert len(rows) == 2
    assert {row.seeds for row in rows[0] if row.kind == "trained"} == {(0, 1)}
    assert rows[0] == rows[1]


def test_failed_run_does_not_stop_the_others(plan: ReproductionPlan, copy: Path) -> None:
    first, last = plan.cells(copy)[0].jobs[0], plan.cells(copy)[-1].jobs[-1]
    for job in (first, last):
        shutil.rmtree(job.folder)

    def fail_once(job: TrainingJob, lock: int) -> None:
        if job.folder == first.folder:
            raise TrainingError(job.folder, 1)
        train_in_process(job, lock)

    with pytest.raises(TrainingError, match="tiny-1shot-paper-0"):
        reproduce(plan, copy, train=fail_once)
    assert last.state == "finished"


def test_damaged_results_file_is_rejected(plan: ReproductionPlan, copy: Path) -> None:
    (copy / "results.json").write_text('{"rows": [{"data": "tiny"}]}')
    with pytest.raises(InputError, match=r"results\.json"):
        reproduce(plan, copy, train=never_train)


@pytest.mark.parametrize(("program", "code"), [("exit 2", 2), ("exit 1", 1), ("kill -9 $$", 1)])
def test_failed_training_process_raises_its_exit_code(
    plan: ReproductionPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, code: int
) -> None:
    script = tmp_path / "python"
    script.write_text(f"#!/bin/sh\n{program}\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(script))
    with pytest.raises(TrainingError, match="again to resume") as failed:
        train_in_subprocess(plan.cells(tmp_path)[0].jobs[0], 0)
    assert failed.value.code == code


@pytest.mark.slow
@pytest.mark.parametrize("stop_signal", [signal.SIGINT, signal.SIGTERM])
def test_command_stops_on_signal_and_resumes(data: Path, tmp_path: Path, stop_signal: signal.Signals) -> None:
    settings = [part for setting in (*SMALL_PAPER, "training.patience=1000") for part in ("--set", setting)]
    options = ["--data", str(data), "--shots", "2", "--seeds", "0,1", "--episodes", "100", "--json"]
    command = [sys.executable, "-m", "fitcarl", "reproduce", *options, "--out", str(tmp_path), *settings]
    first, second = tmp_path / "tiny-2shot-paper-0", tmp_path / "tiny-2shot-paper-1"
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not read(first / "trace.jsonl") and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(stop_signal)
    out, stderr = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"run the same command again to resume" in stderr
    assert b"Traceback" not in stderr
    assert not (first / "result.json").exists()
    assert not second.exists()

    again = subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert b"seed 0: resuming training" in again.stderr
    [row] = [row for row in json.loads(again.stdout)["rows"] if row["kind"] == "trained"]
    assert (row["seeds"], len(row["mrr_by_seed"])) == ([0, 1], 2)
    assert [line.episode for line in read(first / "trace.jsonl")] == list(range(1, 101))
