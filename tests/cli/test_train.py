"""``fitcarl train``, ``evaluate`` and ``settings``: exit codes, one-line errors, JSON keys."""

from __future__ import annotations

import itertools
import json
import shutil
import signal
from pathlib import Path

import pytest

from fitcarl.cli import console, run
from fitcarl.cli.train import stop_on_interrupt
from fitcarl.config.schema import CONFIGS
from fitcarl.config.settings import describe_settings
from tests.cli.conftest import Command, Outcome
from tests.small import SMALL_PAPER, write_tiny

ROW = {
    *("ranks", "filter", "mrr", "hits@1", "hits@3", "hits@10", "amri", "ci_low", "ci_high", "queries", "entities"),
}
CONTRACT = {"results", "slices", "reach", "tie_alarm", "signature", "seconds", "peak_mb", "parameters"}
BESIDES = {"scorer", "paper_protocol", "draws", "ece", "calibration"}

Trained = tuple[Path, Path]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """A dataset folder and a run on it."""
    folder = tmp_path_factory.mktemp("trained")
    data, out = write_tiny(folder / "tiny"), folder / "run"
    settings = [part for setting in SMALL_PAPER for part in ("--set", setting)]
    ways = ["--shots", "2", "--preset", "paper", "--seed", "1", "--episodes", "2", "--out", str(out)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FITCARL_HOME", str(folder / "home"))
        assert run(["train", str(data), *ways, *settings]) == 0
    return data, out


def assert_one_line(outcome: Outcome, *parts: str) -> None:
    """Exit code 2, nothing on stdout, one line on stderr with all the parts."""
    assert (outcome.code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("error: ")
    assert outcome.stderr.count("\n") == 1
    for part in parts:
        assert part in outcome.stderr


def test_run_stores_the_settings_of_the_command_line(trained: Trained) -> None:
    config = json.loads((trained[1] / "config.json").read_text())
    assert (config["preset"], config["shots"], config["seed"]) == ("paper", 2, 1)
    assert (config["training"]["episodes"], config["search"]["beam"]) == (2, 10)


def test_evaluate_json_has_the_documented_keys(trained: Trained, fitcarl: Command) -> None:
    outcome = fitcarl("evaluate", trained[1], "--split", "test", "--json")
    assert outcome.code == 0
    found = json.loads(outcome.stdout)
    assert found.keys() == CONTRACT | BESIDES
    assert all(row.keys() == ROW for row in found["results"])
    combinations = itertools.product(("optimistic", "realistic", "pessimistic"), ("time-aware", "time-unaware"))
    assert sorted((row["ranks"], row["filter"]) for row in found["results"]) == sorted(combinations)
    assert found["tie_alarm"].keys() == {"alarm", "gap", "tied", "threshold"}
    assert 0 <= found["reach"] <= 1
    assert found["seconds"] > 0
    assert found["peak_mb"] > 0
    assert found["parameters"] > 0
    assert "|split:test|setting:completion|shots:2|draws:1+0|seeds:1|data:tiny@" in found["signature"]


def test_ranks_are_ordered_from_optimistic_to_pessimistic(trained: Trained, fitcarl: Command) -> None:
    rows = json.loads(fitcarl("evaluate", trained[1], "--json").stdout)["results"]
    for filter in ("time-aware", "time-unaware"):
        mrr = {row["ranks"]: row["mrr"] for row in rows if row["filter"] == filter}
        assert mrr["optimistic"] >= mrr["realistic"] >= mrr["pessimistic"]


def test_evaluate_shows_both_protocols_and_the_signature(trained: Trained, fitcarl: Command) -> None:
    outcome = fitcarl("evaluate", trained[1], "--split", "valid")
    assert outcome.code == 0
    for part in (
        "realistic",
        "paper",
        "coverage",
        "95 % interval",
        "ranks:realistic|filter:time-aware|cand:all|split:valid",
    ):
        assert part in outcome.stdout
    signature = json.loads(fitcarl("evaluate", trained[1], "--split", "valid", "--json").stdout)["signature"]
    assert outcome.stdout.replace("\n", "").endswith(signature)


def test_report_in_a_pipe_is_not_padded(trained: Trained, fitcarl: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    lines = fitcarl("evaluate", trained[1]).stdout.splitlines()
    assert len(lines) > 10
    assert all(line == line.rstrip() for line in lines)


@pytest.mark.parametrize("option", ["--figure", "--reliability"])
@pytest.mark.parametrize("file", ["picture.gif", "nowhere/picture.svg"])
def test_invalid_image_path_is_rejected_first(
    trained: Trained, fitcarl: Command, tmp_path: Path, option: str, file: str
) -> None:
    outcome = fitcarl("evaluate", trained[1], option, tmp_path / file)
    assert_one_line(outcome, option)


@pytest.mark.parametrize(
    "given",
    [
        ("--shots", 1),
        ("--preset", "paper"),
        ("--seed", 9),
        ("--out", "other"),
        ("--set", "training.learning_rate=5"),
        ("--columns", "1,2,3,4"),
    ],
)
def test_fixed_options_are_rejected_when_resuming(
    trained: Trained, fitcarl: Command, given: tuple[str, object]
) -> None:
    outcome = fitcarl("train", "--resume", trained[1], *given)
    assert_one_line(outcome, given[0])


def test_embeddings_are_rejected_by_a_model_without_embeddings(
    trained: Trained, fitcarl: Command, tmp_path: Path
) -> None:
    outcome = fitcarl("train", trained[0], "--embeddings", "e.npy", "r.npy", "--out", tmp_path / "run")
    assert_one_line(outcome, "--embeddings", "--preset paper")


def test_missing_embedding_files_are_reported_before_the_run_starts(
    trained: Trained, fitcarl: Command, tmp_path: Path
) -> None:
    ways = ["--preset", "paper", "--embeddings", tmp_path / "e.npy", tmp_path / "r.npy", "--out", tmp_path / "run"]
    assert_one_line(fitcarl("train", trained[0], *ways), "e.npy", "no such file")
    assert not (tmp_path / "run").exists()
    outcome = fitcarl("train", "--resume", trained[1], "--embeddings", "e.npy", "r.npy")
    assert_one_line(outcome, "--embeddings", "the run has its embeddings")


@pytest.mark.parametrize("content", ["[]", "{}", '{"name": "x", "source": "y"}'])
def test_damaged_data_file_is_named_when_resuming(
    trained: Trained, fitcarl: Command, tmp_path: Path, content: str
) -> None:
    shutil.copytree(trained[1], tmp_path / "copy")
    (tmp_path / "copy" / "data.json").write_text(content)
    assert_one_line(fitcarl("train", "--resume", tmp_path / "copy"), "data.json", "is damaged")


def test_second_signal_of_the_same_kind_stops_immediately(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "fitcarl")
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with stop_on_interrupt() as should_stop:
        assert not should_stop()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)  # the parent process forwards its own signal
        assert should_stop()
        assert sum("stopping as soon as" in message for message in caplog.messages) == 1
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_sigterm_ends_a_command_like_ctrl_c(capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    assert console.exit_code_of(lambda: signal.raise_signal(signal.SIGTERM)) == 130
    assert capsys.readouterr().err == "stopped\n"
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize(
    ("setting", "right"),
    [
        ("features.names=maybe", "on or off"),
        ("training.learning_rate=fast", "a number"),
        ("training.folds=1.5", "a whole number"),
    ],
)
def test_value_of_the_wrong_type_names_the_right_one(fitcarl: Command, setting: str, right: str) -> None:
    name, _, value = setting.partition("=")
    outcome = fitcarl("train", "demo", "--set", setting)
    assert_one_line(outcome, f"not a value of setting {name}; found '{value}'; expected {right}")


def test_settings_lists_the_values_of_a_preset(fitcarl: Command) -> None:
    listed = {one["name"]: one["value"] for one in json.loads(fitcarl("settings", "--json").stdout)}
    assert listed["features.names"] is False
    assert "shots" not in listed
    lines = fitcarl("settings", "--preset", "plus+names").stdout.splitlines()
    assert any(line.startswith("features.names=on ") for line in lines)
    assert len(lines) == len(listed)


def test_settings_lists_exactly_the_settings_of_the_model(fitcarl: Command) -> None:
    for arguments, model in ((("--preset", "paper"), "fitcarl"), (("--model", "plus"), "plus")):
        listed = json.loads(fitcarl("settings", *arguments, "--json").stdout)
        assert all(setting.keys() == {"name", "value", "description"} for setting in listed)
        assert {setting["name"] for setting in listed} == describe_settings(CONFIGS[model]).keys() - {"shots", "seed"}
    assert json.loads(fitcarl("settings", "--model", "mix", "--json").stdout) == []


@pytest.mark.parametrize("setting", ["network.heads=4", "training.gamma=0.5", "embedding.dim=10"])
def test_setting_of_another_model_is_rejected(fitcarl: Command, tmp_path: Path, setting: str) -> None:
    outcome = fitcarl("train", "demo", "--preset", "plus", "--set", setting, "--out", tmp_path / "run")
    assert_one_line(outcome, "not a setting of model plus", "did you mean '")


def test_heuristic_model_has_nothing_to_train(fitcarl: Command, tmp_path: Path) -> None:
    assert_one_line(
        fitcarl("train", "demo", "--model", "mix", "--out", tmp_path / "run"), "nothing to train", "compare"
    )
    assert_one_line(fitcarl("train", "demo", "--model", "plos", "--out", tmp_path / "run"), "did you mean 'plus'")
    assert_one_line(fitcarl("train", "demo", "--model", "plus", "--preset", "paper"), "either a preset or a model")
    assert not (tmp_path / "run").exists()


def test_support_sets_are_resampled(trained: Trained, fitcarl: Command) -> None:
    plain = json.loads(fitcarl("evaluate", trained[1], "--json").stdout)
    more = json.loads(fitcarl("evaluate", trained[1], "--draws", 2, "--json").stdout)
    assert len(more["draws"]["mrr"]) == 3
    assert more["draws"]["std"] > 0
    assert "|draws:1+2|" in more["signature"]
    assert more["results"] == plain["results"]  # the headline stays the official draw


def test_run_is_evaluated_on_another_dataset_with_the_same_names(
    trained: Trained, fitcarl: Command, tmp_path: Path
) -> None:
    same = write_tiny(tmp_path / "elsewhere")
    here, there = (
        json.loads(fitcarl("evaluate", trained[1], *more, "--json").stdout) for more in ([], ["--data", same])
    )
    assert here["results"] == there["results"]
    assert_one_line(fitcarl("evaluate", trained[1], "--data", "demo"), "other entities or relations")


def test_figure_over_time_is_drawn(trained: Trained, fitcarl: Command, tmp_path: Path) -> None:
    assert fitcarl("evaluate", trained[1], "--figure", tmp_path / "time.svg").code == 0
    assert "<svg" in (tmp_path / "time.svg").read_text()


def test_calibration_is_reported_and_drawn(trained: Trained, fitcarl: Command, tmp_path: Path) -> None:
    found = json.loads(fitcarl("evaluate", trained[1], "--json").stdout)
    assert 0 <= found["ece"] <= 1
    bins = found["calibration"]["bins"]
    assert sum(part["queries"] for part in bins) == found["results"][0]["queries"]
    shown = fitcarl("evaluate", trained[1], "--reliability", tmp_path / "trust.svg")
    assert f"expected calibration error {found['ece']:.3f}".replace(" 0.", " .") in shown.stdout
    assert "<svg" in (tmp_path / "trust.svg").read_text()


def test_run_without_calibration_is_evaluated_without_reliability(
    trained: Trained, fitcarl: Command, tmp_path: Path
) -> None:
    older = tmp_path / "older"
    shutil.copytree(trained[1], older)
    (older / "calibration.json").unlink()
    assert_one_line(fitcarl("evaluate", older), "calibration.json", "is missing")
    (older / "manifest.json").unlink()
    assert fitcarl("verify", older, "--write-manifest").code == 0
    assert json.loads(fitcarl("evaluate", older, "--json").stdout)["ece"] is None
    assert_one_line(fitcarl("evaluate", older, "--reliability", tmp_path / "trust.svg"), "no calibration", "--resume")
    assert fitcarl("train", "--resume", older).code == 0
    assert (older / "calibration.json").read_text() == (trained[1] / "calibration.json").read_text()


def test_unknown_setting_names_the_nearest(trained: Trained, fitcarl: Command, tmp_path: Path) -> None:
    outcome = fitcarl("train", trained[0], "--set", "training.learning_rat=1", "--out", tmp_path / "run")
    assert_one_line(outcome, "training.learning_rat", "did you mean 'training.learning_rate'")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "setting", ["training.grad_clip=fast", "training.grad_clip=-1", "network.heads=3", "training.grad_clip"]
)
def test_invalid_value_is_one_line(trained: Trained, fitcarl: Command, tmp_path: Path, setting: str) -> None:
    assert_one_line(
        fitcarl("train", trained[0], "--set", setting, "--out", tmp_path / "run"), setting.partition("=")[0]
    )


def test_existing_run_is_never_overwritten(trained: Trained, fitcarl: Command) -> None:
    before = (trained[1] / "weights.safetensors").read_bytes()
    assert_one_line(fitcarl("train", trained[0], "--out", trained[1]), "exists already", "--resume")
    assert (trained[1] / "weights.safetensors").read_bytes() == before


def test_folder_without_a_run_is_rejected(fitcarl: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for folder in ("empty", "absent"):
        assert_one_line(fitcarl("evaluate", tmp_path / folder), str(tmp_path / folder))
        assert_one_line(fitcarl("train", "--resume", tmp_path / folder), str(tmp_path / folder))
    assert not (tmp_path / "absent").exists()


def test_unknown_split_is_one_line(trained: Trained, fitcarl: Command) -> None:
    assert_one_line(fitcarl("evaluate", trained[1], "--split", "tests"), "train, valid, test")


def test_data_or_a_run_is_required(fitcarl: Command) -> None:
    assert_one_line(fitcarl("train"), "DATA", "--resume RUN")


def test_run_with_moved_data_is_resumed(trained: Trained, fitcarl: Command, tmp_path: Path) -> None:
    moved = tmp_path / trained[0].name
    shutil.copytree(trained[0], moved)
    assert fitcarl("train", moved, "--resume", trained[1]).code == 0


def test_resuming_a_finished_run_changes_nothing(trained: Trained, fitcarl: Command) -> None:
    before = (trained[1] / "weights.safetensors").read_bytes()
    assert fitcarl("train", "--resume", trained[1]).code == 0
    assert (trained[1] / "weights.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--shots", "one", "--shots"),
        ("--seeds", "0,-1", "--seeds"),
        ("--shots", "0", "shots"),
        ("--preset", "papers", "did you mean 'paper'"),
        ("--set", "network.layer=1", "did you mean 'network.layers'"),
        ("--data", "icews-14-oog", "did you mean 'icews14-oog'"),
    ],
)
def test_invalid_reproduction_is_rejected_first(
    trained: Trained, fitcarl: Command, tmp_path: Path, option: str, value: str, expected: str
) -> None:
    data = [] if option == "--data" else ["--data", trained[0]]
    assert_one_line(fitcarl("reproduce", *data, option, value, "--out", tmp_path / "runs"), expected)
    assert not (tmp_path / "runs").exists()
