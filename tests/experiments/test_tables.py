"""Tables 2 and 3: every system under every protocol, resumable, with the published figures beside."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from fitcarl.config.base import SETTINGS as SETTING_NAMES
from fitcarl.config.base import Config
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.errors import InputError
from fitcarl.evaluation.bootstrap import mean_interval
from fitcarl.evaluation.protocol import evaluate_scorer
from fitcarl.experiments import systems
from fitcarl.experiments.cells import Cell
from fitcarl.experiments.jobs import TrainingJob
from fitcarl.experiments.published import published_ablations, published_systems
from fitcarl.experiments.reproduce import ReproductionPlan, list_runs, reproduce_table, table_systems
from fitcarl.experiments.saved_reports import read_report, save_report
from fitcarl.experiments.system_rows import PROTOCOLS, SystemRow, merge_system_rows, protocol_ranks, rows_of_cell
from fitcarl.experiments.system_table import SystemTable, render_system_table
from fitcarl.experiments.systems import PUBLISHED_NAMES, TABLE_2, System, find_systems, settings_for
from fitcarl.models.registry import heuristic
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.layout import RunFolder
from tests.experiments.test_reproduce import never_train, train_in_process
from tests.small import SMALL_PAPER

SETTINGS = (*SMALL_PAPER, "training.episodes=2")
FORECAST_SETTINGS = (
    *("embedding.dim=8", "embedding.epochs=1", "embedding.min_updates=1", "training.episodes=2"),
    "training.validate_every=1",
)
CONTRACT = {
    *("system", "data", "shots", "protocol", "mrr", "hits@1", "hits@3", "hits@10", "std", "parameters", "minutes"),
    *("peak_mb", "published"),
}
Finished = tuple[Path, list[SystemRow]]


@pytest.fixture(scope="module")
def plan(data: Path) -> ReproductionPlan:
    return ReproductionPlan((str(data),), shots=(2,), models=("paper", "mix"), seeds=(0, 1), settings=SETTINGS)


@pytest.fixture(scope="module")
def finished(plan: ReproductionPlan, tmp_path_factory: pytest.TempPathFactory) -> Finished:
    out = tmp_path_factory.mktemp("table")
    return out, reproduce_table(plan, out, train=train_in_process)


def select(rows: list[SystemRow], system: str) -> dict[str, SystemRow]:
    return {row.protocol: row for row in rows if row.system == system}


def test_rows_have_the_documented_fields_and_one_row_per_protocol(finished: Finished) -> None:
    _, rows = finished
    assert [(row.system, row.protocol) for row in rows] == [(s, p) for s in ("paper", "mix") for p in PROTOCOLS]
    for row in rows:
        document = json.loads(json.dumps(row.to_json()))
        assert document.keys() >= CONTRACT
        assert SystemRow.from_json(document) == row
        assert row.status == "done"


def test_metrics_are_means_over_seeds_of_the_reports(finished: Finished) -> None:
    out, rows = finished
    found = select(rows, "paper")
    reports = [evaluate(out / f"tiny-2shot-paper-{seed}") for seed in (0, 1)]
    expected = {
        "realistic": [report.realistic for report in reports],
        "time-unaware": [report.results["realistic", "time-unaware"] for report in reports],
        "paper": [report.paper for report in reports],
    }
    for protocol, summaries in expected.items():
        row = found[protocol]
        assert row.mrr == pytest.approx(np.mean([one.mrr for one in summaries]))
        assert row.std == pytest.approx(np.std([one.mrr for one in summaries], ddof=1))
        assert row.hits_3 == pytest.approx(np.mean([one.hits[3] for one in summaries]))
        assert row.parameters == reports[0].parameters
    results = [json.loads((out / f"tiny-2shot-paper-{seed}" / "result.json").read_text()) for seed in (0, 1)]
    assert found["paper"].minutes == pytest.approx(sum(result["seconds"] for result in results) / 120)
    assert found["paper"].cpu_minutes == pytest.approx(sum(result["cpu_seconds"] for result in results) / 120)
    assert found["paper"].cpu_minutes > 0


def test_heuristic_has_no_seed_and_no_training(finished: Finished) -> None:
    row = select(finished[1], "mix")["realistic"]
    assert (row.seeds, row.std, row.minutes, row.parameters, row.settings) == ((), None, None, None, ())


def test_saved_report_gives_the_same_ranks(data: Path, tmp_path: Path) -> None:
    dataset = read_dataset(data)
    report = evaluate_scorer(heuristic("peers", dataset), dataset, "test", 2, extra={"names": "on"})
    save_report(report, tmp_path / "report.safetensors", "this")
    assert read_report(tmp_path / "report.safetensors", "that") is None
    again = read_report(tmp_path / "report.safetensors", "this")
    assert again is not None
    assert (again.realistic, again.paper, again.signature) == (report.realistic, report.paper, report.signature)
    assert [(part.value, row) for part, row in again.parts] == [(part.value, row) for part, row in report.parts]
    for protocol in PROTOCOLS:
        assert np.array_equal(protocol_ranks(again, protocol), protocol_ranks(report, protocol))


def test_second_call_trains_and_evaluates_nothing(
    plan: ReproductionPlan, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, rows = finished
    monkeypatch.setattr("fitcarl.experiments.cells.evaluate", never_train)
    assert reproduce_table(plan, out, train=never_train) == rows
    assert reproduce_table(plan, out, train=None) == rows


def test_missing_run_is_said_and_then_trained(plan: ReproductionPlan, finished: Finished, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    shutil.rmtree(out / "tiny-2shot-paper-1")
    (out / "table2.json").unlink()
    row = select(reproduce_table(plan, out, train=None), "paper")["realistic"]
    assert (row.status, row.seeds, row.missing_seeds, row.std) == ("partial", (0,), (1,), None)
    states = {run["run"]: run["state"] for run in list_runs(plan, out, "2", "cost")}
    assert states == {
        "tiny-2shot-mix": "evaluated",
        "tiny-2shot-paper-0": "evaluated",
        "tiny-2shot-paper-1": "new",
    }
    again = reproduce_table(plan, out, train=train_in_process)
    assert select(again, "paper")["realistic"].mrr == select(finished[1], "paper")["realistic"].mrr


def test_nothing_run_gives_a_table_that_says_so(plan: ReproductionPlan, tmp_path: Path) -> None:
    rows = reproduce_table(plan, tmp_path, train=None)
    assert {row.status for row in rows} == {"not run"}
    assert "| not run |" in (tmp_path / "table2.md").read_text()
    assert not (tmp_path / "evaluations").exists()


def test_results_are_not_replaced_by_rows_without_results(plan: ReproductionPlan, finished: Finished) -> None:
    out, rows = finished
    reproduce_table(replace(plan, seeds=(7,)), out, train=None)
    assert SystemTable(out, "table2", "").read() == rows


def test_rows_of_earlier_calls_are_shown_without_their_runs(
    plan: ReproductionPlan, finished: Finished, tmp_path: Path
) -> None:
    out, rows = finished
    shutil.copy(out / "table2.json", tmp_path)
    assert reproduce_table(plan, tmp_path, train=None) == rows


def test_seeds_of_later_calls_are_added_without_the_earlier_runs(
    plan: ReproductionPlan, finished: Finished, tmp_path: Path
) -> None:
    out, rows = finished
    for seed, folder in ((0, tmp_path / "first"), (1, tmp_path / "second")):
        shutil.copytree(out / f"tiny-2shot-paper-{seed}", folder / f"tiny-2shot-paper-{seed}")
        reproduce_table(replace(plan, models=("paper",), seeds=(seed,)), folder, train=never_train)
        if seed == 0:
            (tmp_path / "second").mkdir()
            shutil.copy(folder / "table2.json", tmp_path / "second")
    found = select(SystemTable(tmp_path / "second", "table2", "").read(), "paper")
    for protocol, expected in select(rows, "paper").items():
        row = found[protocol]
        assert (row.seeds, row.status, row.mrr, row.std) == ((0, 1), "done", expected.mrr, expected.std)
        assert (row.hits_3, row.hits_std, row.minutes) == (expected.hits_3, expected.hits_std, expected.minutes)
        assert row.interval == pytest.approx(expected.interval, abs=1e-6)


def test_pooled_interval_is_that_of_all_ranks(finished: Finished) -> None:
    out, rows = finished
    reports = [evaluate(out / f"tiny-2shot-paper-{seed}") for seed in (0, 1)]
    entity = np.concatenate([report.official.queries.entity for report in reports])
    for protocol, row in select(rows, "paper").items():
        ranks = np.concatenate([protocol_ranks(report, protocol) for report in reports])  # type: ignore[arg-type]
        expected = mean_interval(entity, 1 / ranks)
        assert row.interval == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_row_of_an_earlier_version_is_read_and_extended(finished: Finished) -> None:
    row = select(finished[1], "paper")["realistic"]
    first, second = (replace(row, results=(result,), seeds=(result.seed,)) for result in row.results)
    old = {name: value for name, value in first.to_json().items() if name not in ("results", "trained_for", "setting")}
    old |= {"mrr": row.results[0].mrr, "interval": [0.1, 0.2]}
    read = SystemRow.from_json(json.loads(json.dumps(old)))
    assert (read.trained_for, read.interval, read.results[0].seed) == ("completion", (0.1, 0.2), 0)
    [same] = merge_system_rows([read], [replace(read, mrr=None, results=(), seeds=(), status="not run")])
    assert same == read
    [both] = merge_system_rows([read], [second])
    assert (both.seeds, both.mrr) == ((0, 1), pytest.approx(row.mrr))


def test_settings_table_evaluates_each_run_in_both_settings(data: Path, tmp_path: Path) -> None:
    plan = ReproductionPlan((str(data),), (2,), ("filt", "copy"), (0,), FORECAST_SETTINGS)
    trained: list[str] = []

    def train(job: TrainingJob, lock: int) -> None:
        trained.append(job.folder.name)
        train_in_process(job, lock)

    rows = reproduce_table(plan, tmp_path, "settings", train=train)
    assert sorted(trained) == ["tiny-2shot-filt-0", "tiny-2shot-filt-forecast-0"]
    realistic = {(row.system, row.trained_for, row.setting): row for row in rows if row.protocol == "realistic"}
    pairs = [(trained_for, setting) for trained_for in SETTING_NAMES for setting in SETTING_NAMES]
    assert set(realistic) == {("filt", *pair) for pair in pairs} | {("copy", None, name) for name in SETTING_NAMES}
    for (system, trained_for, setting), row in realistic.items():
        if system == "filt":
            folder = "tiny-2shot-filt-0" if trained_for == "completion" else "tiny-2shot-filt-forecast-0"
            assert row.mrr == evaluate(tmp_path / folder, setting=setting).realistic.mrr
            assert ("trained-setting" in str(row.signature)) == (trained_for != setting)
    text = (tmp_path / "settings.md").read_text()
    assert "| filt, trained for completion [" in text.split("## tiny, 2-shot, forecast")[1]
    assert reproduce_table(plan, tmp_path, "settings", train=never_train) == rows


def test_overview_has_one_line_per_system_and_one_column_per_data_and_shots(finished: Finished) -> None:
    _, rows = finished
    other = [replace(row, shots=1, mrr=0.125) for row in rows if row.system == "mix"]
    [_, _, paper, mix] = render_system_table([*rows, *other], "Title").split("## All systems\n\n")[1].split("\n")[:4]
    assert [cell.strip() for cell in mix.split("|")[1:-1]][::2] == ["mix", ".125 (.125) / –"]
    assert paper.startswith("| paper [")
    assert paper.split("|")[3].strip() == "–"
    assert "All systems" not in render_system_table(rows, "Title")


def test_stale_report_is_made_again(plan: ReproductionPlan, finished: Finished, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished[0], out)
    # The weights of seed 1 in the run of seed 0: the report of seed 0 does not fit any more.
    shutil.copy(out / "tiny-2shot-paper-1" / "weights.safetensors", out / "tiny-2shot-paper-0")
    RunFolder(out / "tiny-2shot-paper-0").write_manifest()
    assert select(reproduce_table(plan, out, train=None), "paper")["realistic"].seeds == (1,)
    row = select(reproduce_table(plan, out, train=never_train), "paper")["realistic"]
    assert row.mrr_by_seed[0] == evaluate(out / "tiny-2shot-paper-0").realistic.mrr
    assert row.mrr_by_seed[0] != select(finished[1], "paper")["realistic"].mrr_by_seed[0]


def test_table_3_has_the_full_model_and_its_ablations(data: Path, tmp_path: Path) -> None:
    plan = ReproductionPlan((str(data),), (2,), ("paper",), (0,), SETTINGS)
    rows = reproduce_table(plan, tmp_path, "3", train=None)
    assert [row.system for row in rows][:: len(PROTOCOLS)] == ["paper", "A1", "A2", "B", "C", "D", "E"]
    folders = [run["run"] for run in list_runs(plan, tmp_path, "3", "table")]
    assert folders[:2] == ["tiny-2shot-paper-0", "tiny-2shot-paper-A1-0"]
    chosen = replace(plan, models=("paper:B", "paper-product", "authors:D"))
    assert [system.name for system in table_systems(chosen, "3")] == ["B", "paper-product", "authors D"]
    with pytest.raises(InputError, match="unknown variant"):
        table_systems(replace(plan, models=("paper:F",)), "3")
    with pytest.raises(InputError, match="model of the paper"):
        reproduce_table(replace(plan, models=("plus",)), tmp_path, "3", train=None)


def test_published_figures_are_those_of_the_paper() -> None:
    figures = published_systems()
    assert len(figures) == 11 * 6
    assert {system for system, _, _ in figures} == set(PUBLISHED_NAMES.values())
    assert figures["FITCARL", "icews0515-oog", 3].to_json() == {
        "mrr": 0.513,
        "hits@1": 0.386,
        "hits@3": 0.618,
        "hits@10": 0.700,
    }
    misprinted = [key for key, one in figures.items() if one.note]
    assert misprinted == [("TITer", "icews18-oog", 1)]
    assert [key for key, one in figures.items() if not one.hits_1 <= one.hits_3 <= one.hits_10] == misprinted
    ablations = published_ablations()
    assert len(ablations) == 6 * 6 - 3  # D has no figures for one shot
    assert ablations["B", "icews14-oog", 3].mrr == 0.379


def test_published_figures_are_beside_the_rows() -> None:
    cell = Cell(System("titer", "unavailable", published="TITer"), "icews18-oog", 1)
    rows = rows_of_cell(cell, {}, published_systems())
    assert [row.published and row.published["mrr"] for row in rows] == [0.064] * 3
    assert {row.status for row in rows} == {"not available"}
    rendered = render_system_table(rows, "Table")
    assert "| .011\\* |" in rendered
    assert rendered.count("\\*") == 2  # the misprinted figure, and the mark in the explanation below


def test_available_model_replaces_its_row_without_variants() -> None:
    shared = {"data": "d", "shots": 1, "protocol": "paper"}
    old = SystemRow("complex", None, **shared, status="not available")  # type: ignore[arg-type]
    new = SystemRow("complex", "support", **shared, status="not run")  # type: ignore[arg-type]
    other = SystemRow("mix", None, **shared, status="not run")  # type: ignore[arg-type]
    assert merge_system_rows([other, old], [new]) == [new, other]


def test_transductive_model_stands_for_its_variants(monkeypatch: pytest.MonkeyPatch) -> None:
    class Transductive(Config):
        sees: Literal["paper", "support", "fold-in"] = "support"

    monkeypatch.setattr(systems, "TRAINABLE", {"complex": "somewhere"})
    monkeypatch.setattr(systems, "config_class", lambda _model: Transductive)
    monkeypatch.setattr(systems, "configure", lambda *_a, **_k: Transductive(model="complex", preset="complex"))
    found = find_systems(["complex"])
    assert [(one.name, one.sees, one.settings) for one in found] == [
        ("complex", "paper", ("sees=paper",)),
        ("complex", "support", ("sees=support",)),
        ("complex", "fold-in", ("sees=fold-in",)),
    ]
    assert [one.stem for one in found] == ["complex-paper", "complex", "complex-fold_in"]
    assert [one.label for one in found] == ["complex (paper)", "complex (+support)", "complex (fold-in)"]
    assert find_systems(["complex:fold-in"]) == found[2:]
    [one] = find_systems(["complex"], ["sees=paper"])
    assert (one.sees, one.settings) == ("paper", ())
    with pytest.raises(InputError, match="unknown variant of complex"):
        find_systems(["complex:suport"])


def test_prefixed_setting_applies_to_one_system() -> None:
    paper, plus = find_systems(["paper", "plus"])
    settings = ("training.episodes=3", "paper:network.hops=2", "plus:policy.hidden=4")
    assert settings_for(paper, settings) == ("training.episodes=3", "network.hops=2")
    assert settings_for(plus, settings) == ("training.episodes=3", "policy.hidden=4")


def test_forecast_has_runs_rows_and_a_section_of_its_own(data: Path, tmp_path: Path) -> None:
    plan = ReproductionPlan((str(data),), (2,), ("filt", "mix"), (0,), FORECAST_SETTINGS, "forecast")
    rows = reproduce_table(plan, tmp_path, train=train_in_process)
    assert (tmp_path / "tiny-2shot-filt-forecast-0").is_dir()
    assert {row.setting for row in rows} == {"forecast"}
    assert all("|setting:forecast|" in str(row.signature) for row in rows)
    dataset = read_dataset(data)
    mix = evaluate_scorer(heuristic("mix", dataset), dataset, "test", 2, setting="forecast")
    assert select(rows, "mix")["realistic"].mrr == pytest.approx(mix.realistic.mrr)
    reproduce_table(replace(plan, setting="completion", models=("mix",)), tmp_path, train=never_train)
    text = (tmp_path / "table2.md").read_text()
    assert "## tiny, 2-shot\n" in text
    assert "## tiny, 2-shot, forecast\n" in text


def test_setting_of_no_system_is_rejected(data: Path, tmp_path: Path) -> None:
    plan = ReproductionPlan((str(data),), (2,), ("paper",), (0,), ("papr:training.episodes=5",))
    with pytest.raises(InputError, match=r"applies to no system.*did you mean 'paper'"):
        plan.cells(tmp_path)


def test_chosen_variant_has_the_folder_of_its_variant(data: Path, tmp_path: Path) -> None:
    plan = ReproductionPlan((str(data),), (2,), ("complex",), (0,))
    variants = {cell.system.sees: cell.jobs[0].folder.name for cell in plan.cells(tmp_path)}
    for sees, folder in variants.items():
        [cell] = replace(plan, settings=(f"sees={sees}",)).cells(tmp_path)
        assert cell.jobs[0].folder.name == folder
        assert cell.jobs[0].config.sees == sees


def test_improved_forms_have_no_published_figures() -> None:
    published = {one.name: one.published for one in find_systems(["mean", "mean-input", "paper", "paper-product"])}
    assert published == {"mean": "MEAN", "mean-input": None, "paper": "FITCARL", "paper-product": None}


def test_full_model_of_table_3_alone(data: Path) -> None:
    plan = ReproductionPlan((str(data),), (2,), ("paper:full", "paper:B"), (0,), SETTINGS)
    assert [one.name for one in table_systems(plan, "3")] == ["paper", "B"]


def test_summaries_do_not_change_the_table(plan: ReproductionPlan, tmp_path: Path) -> None:
    reproduce_table(plan, tmp_path, train=None, save=False)
    assert not (tmp_path / "table2.json").exists()


def test_unknown_system_suggests_the_nearest_name() -> None:
    with pytest.raises(InputError, match="did you mean 'plus'"):
        find_systems(["pluss"])
    assert [one.name for one in find_systems(["plus", "mix", "plus"])] == ["plus", "mix"]


def test_systems_of_table_2_are_known() -> None:
    assert len(TABLE_2) == 13
    assert {one.name for one in find_systems(TABLE_2)} == set(TABLE_2)
