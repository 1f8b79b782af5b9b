"""The manifest of a run: written last, compared at every load, and signed on request."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fitcarl.cli import run as fitcarl
from fitcarl.data.facts import named_facts
from fitcarl.errors import InputError
from fitcarl.predict import Predictor
from fitcarl.runs.identity import run_identity
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.manifest import read_manifest, verified_manifest, withdraw_manifest
from fitcarl.runs.names import read_run_facts, read_run_names
from fitcarl.runs.run import Run
from fitcarl.runs.update import update
from fitcarl.runs.verify import sign_run, verify_run
from fitcarl.training.api import resume, train
from tests.small import SMALL_MODELS


@pytest.fixture(scope="module")
def finished(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    train(data, out=folder, model="mean", episodes=2, settings=SMALL_MODELS["mean"])
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return shutil.copytree(finished, tmp_path / "run")


def later_facts(run: Path, shift: int = 1) -> list[tuple[str, str, str, str]]:
    loaded = Run.load(run)
    known = named_facts(loaded.context.facts, loaded.vocabulary, loaded.calendar)[:4]
    return [(subject, relation, object, f"2030-01-0{shift}") for subject, relation, object, _ in known]


def outcome(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = fitcarl([str(argument) for argument in arguments])
    found = capsys.readouterr()
    return code, found.out, found.err


def test_replaced_example_belongs_to_the_run(run: Path) -> None:
    example = json.loads((run / "example.json").read_text(encoding="utf-8"))
    RunFolder(run).replace_example({**example, "facts": example["facts"][:1]})
    found = Predictor.load(run).example()
    assert found is not None
    assert len(found.facts) == 1


def test_manifest_lists_what_answers_depend_on(run: Path) -> None:
    manifest = read_manifest(run)
    assert manifest is not None
    graph = {f"graph/{name}" for name in ("graph.json", "offsets.npy", "relation.npy", "target.npy", "time.npy")}
    names = {"config.json", "data.json", "vocabulary.json", "calibration.json", "open_queries.json", "example.json"}
    assert set(manifest.files) - {"reading.json"} == graph | names | {"weights.safetensors"}
    assert set(manifest.others) == {"state.safetensors"}
    assert verified_manifest(run) == manifest
    assert run_identity(RunFolder(run)) == manifest.run


@pytest.mark.parametrize("path", ["../outside", "/etc/hostname", "a/../../b", "nul\0"])
def test_manifest_names_files_of_the_run_only(run: Path, path: str) -> None:
    content = json.loads((run / "manifest.json").read_text())
    content["others"][path] = content["others"]["state.safetensors"]
    (run / "manifest.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"manifest\.json: is damaged"):
        Run.load(run)


def test_files_that_answers_do_not_depend_on_may_be_deleted(run: Path) -> None:
    for name in ("state.safetensors", "trace.jsonl", "curve.svg", "environment.json"):
        (run / name).unlink(missing_ok=True)
    (run / "report.json").write_text("{}")
    Run.load(run)
    assert verify_run(run).ok


@pytest.mark.parametrize("change", ["changed", "missing", "added"])
def test_all_wrong_files_are_named(run: Path, change: str, capsys: pytest.CaptureFixture[str]) -> None:
    if change == "changed":
        (run / "calibration.json").write_text('{"temperature": 1.0, "unlisted_mass": 0.1}')
        (run / "state.safetensors").write_bytes(b"other")
        expected = "calibration.json has changed, state.safetensors has changed"
    elif change == "missing":
        (run / "calibration.json").unlink()
        (run / "open_queries.json").unlink()
        expected = "calibration.json is missing, open_queries.json is missing"
    else:
        shutil.copy(run / "weights.safetensors", run / "reach.safetensors")
        expected = "reach.safetensors is not in the manifest"
    code, out, err = outcome(capsys, "verify", run, "--json")
    assert code == 2
    assert err.count("\n") == 1
    assert expected in err
    assert not json.loads(out)["ok"]
    if change != "changed":
        with pytest.raises(InputError, match=r"is missing|is not in the manifest"):
            Run.load(run)


def test_verified_run(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = outcome(capsys, "verify", run)
    assert (code, err) == (0, "")
    manifest = read_manifest(run)
    assert manifest is not None
    assert manifest.run in out


def test_names_and_facts_are_compared_with_the_manifest(run: Path) -> None:
    names = json.loads((run / "vocabulary.json").read_text())
    changed = names | {"entities": names["entities"][1:] + names["entities"][:1]}
    (run / "vocabulary.json").write_text(json.dumps(changed))
    with pytest.raises(InputError, match=r"vocabulary\.json: has changed"):
        read_run_names(run)
    (run / "vocabulary.json").write_text(json.dumps(names, ensure_ascii=False) + "\n")
    assert read_run_names(run)
    content = bytearray((run / "graph" / "time.npy").read_bytes())
    content[-4] ^= 1
    (run / "graph" / "time.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"time\.npy: has changed"):
        read_run_facts(run)


def test_finished_run_without_manifest_is_refused_until_it_is_adopted(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    identity = run_identity(RunFolder(run))
    (run / "manifest.json").unlink()
    for load in (Run.load, read_run_names, verify_run):
        with pytest.raises(InputError, match=r"manifest\.json: is missing.*--write-manifest"):
            load(run)
    code, out, _ = outcome(capsys, "verify", run, "--write-manifest")
    assert code == 0
    assert identity in out
    Run.load(run)
    code, _, err = outcome(capsys, "verify", run, "--write-manifest")
    assert code == 2
    assert "exists already" in err


def test_damaged_run_is_not_adopted(run: Path) -> None:
    (run / "manifest.json").unlink()
    (run / "calibration.json").write_text('{"temperature": -1, "unlisted_mass": 0}')
    assert fitcarl(["verify", str(run), "--write-manifest"]) == 2
    assert not (run / "manifest.json").exists()


def test_run_in_training_is_loaded_with_a_warning(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    withdraw_manifest(run)
    Run.load(run)
    assert "training has not ended" in caplog.text
    with pytest.raises(InputError, match="training has not ended"):
        verify_run(run)


def test_resumed_training_writes_another_manifest(run: Path) -> None:
    before = read_manifest(run)
    resume(run, episodes=4)
    after = verified_manifest(run)
    assert before is not None
    assert after is not None
    assert before.files["config.json"] != after.files["config.json"]


def test_interrupted_training_has_no_manifest(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("fitcarl.training.api.run_episodes", fail)
    with pytest.raises(KeyboardInterrupt):
        resume(run, episodes=4)
    assert not (run / "manifest.json").exists()
    assert not (run / "result.json").exists()
    monkeypatch.undo()
    resume(run, episodes=4)
    assert verify_run(run).ok


def test_training_is_not_resumed_from_another_checkpoint(run: Path) -> None:
    (run / "state.safetensors").write_bytes((run / "weights.safetensors").read_bytes())
    before = (run / "manifest.json").read_bytes()
    with pytest.raises(InputError, match=r"state\.safetensors: has changed"):
        resume(run, episodes=4)
    assert (run / "manifest.json").read_bytes() == before


def test_updated_run_has_two_manifests(run: Path, tmp_path: Path) -> None:
    facts = later_facts(run)
    update(run, facts, out=tmp_path / "copy", judged=0)
    trained = run_identity(RunFolder(run))
    update(run, facts, judged=0)
    for folder in (run, tmp_path / "copy"):
        assert verify_run(folder).ok
        updated = RunFolder(folder).updated()
        assert run_identity(updated) != run_identity(RunFolder(folder)) == trained
        assert Run.load(folder).folder.verified
    assert run_identity(RunFolder(run).updated()) == run_identity(RunFolder(tmp_path / "copy").updated())
    update(run, later_facts(run, 2), judged=0)
    assert verify_run(run).ok


def test_lost_or_older_history_is_noticed(run: Path) -> None:
    update(run, later_facts(run), judged=0)
    older = (run / "updates.json").read_bytes()
    (run / "updates.json").unlink()
    with pytest.raises(InputError, match=r"updates\.json: is missing or older"):
        Run.load(run)
    (run / "updates.json").write_bytes(older)
    update(run, later_facts(run, 2), judged=0)
    (run / "updates.json").write_bytes(older)
    with pytest.raises(InputError, match=r"updates\.json: is missing or older"):
        Run.load(run)


def test_file_of_an_update_is_compared(run: Path) -> None:
    update(run, later_facts(run), judged=0)
    shutil.copy(run / "vocabulary.json", run / "update-1" / "vocabulary.json")
    with pytest.raises(InputError, match=r"update-1.vocabulary\.json: has changed"):
        Run.load(run)
    Run.load(run, as_trained=True)


def test_signature(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("cryptography")
    key, public = tmp_path / "key.pem", tmp_path / "key.pem.pub"
    assert outcome(capsys, "verify", run, "--key", key)[0] == 2
    assert outcome(capsys, "sign", run, "--key", key)[0] == 2
    assert outcome(capsys, "sign", run, "--key", key, "--new-key")[0] == 0
    assert key.stat().st_mode & 0o777 == 0o600
    assert outcome(capsys, "sign", run, "--key", key, "--new-key")[0] == 2  # keys are not overwritten
    code, out, _ = outcome(capsys, "verify", run, "--key", public)
    assert code == 0
    assert "signature valid" in out
    other = tmp_path / "other.pem"
    code, _, err = outcome(capsys, "sign", run, "--key", public)
    assert code == 2
    assert "is not a private key" in err
    outcome(capsys, "sign", shutil.copytree(run, tmp_path / "copy"), "--key", other, "--new-key")
    assert (
        "is not a signature of this run by this key"
        in outcome(capsys, "verify", run, "--key", tmp_path / "other.pem.pub")[2]
    )
    update(run, later_facts(run), judged=0)  # another run, which is not signed yet
    assert "is missing" in outcome(capsys, "verify", run, "--key", public)[2]
    sign_run(run, key)
    assert verify_run(run, public).signed


@pytest.mark.parametrize("mrr", ["1" + "0" * 400, "NaN", "[0.5]", '"0.5"', "true", "-1"])
def test_history_with_an_impossible_value_is_one_line(run: Path, capsys: pytest.CaptureFixture[str], mrr: str) -> None:
    update(run, later_facts(run), judged=0)
    file = run / "updates.json"
    file.write_text(file.read_text().replace('"drift_mrr": null', f'"drift_mrr": {mrr}'))
    code, _, err = outcome(capsys, "verify", run)
    assert code == 2
    assert f"{file}: is damaged" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["updates.json", "manifest.json", "manifest.sig"])
def test_device_in_the_place_of_json_is_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    pytest.importorskip("cryptography")
    key = tmp_path / "key.pem"
    outcome(capsys, "sign", run, "--key", key, "--new-key")
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to("/dev/null")
    code, _, err = outcome(capsys, "verify", run, "--key", f"{key}.pub")
    assert code == 2
    assert f"{run / name}: cannot be read (not a regular file)" in err
    assert err.count("\n") == 1


def test_forged_manifest_has_no_valid_signature(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography")
    from fitcarl.runs.signature import create_key

    public = create_key(tmp_path / "key.pem")
    sign_run(run, tmp_path / "key.pem")
    values: dict[str, Any] = json.loads((run / "calibration.json").read_text())
    (run / "calibration.json").write_text(json.dumps(values | {"more": 1}))
    RunFolder(run).write_manifest()
    assert verify_run(run).ok
    with pytest.raises(InputError, match="is not a signature of this run"):
        verify_run(run, public)


def test_snapshot_of_another_run_is_refused_when_it_is_read(run: Path) -> None:
    from fitcarl.core.storage import read_tensors, write_tensors

    tensors, about = read_tensors(run / "weights.safetensors")
    write_tensors(run / "snapshot-01.safetensors", tensors, about)
    RunFolder(run).write_manifest()
    artifacts = Run.load(run).folder.artifacts
    assert artifacts.read("snapshot-01")
    changed = {name: tensor + 1 for name, tensor in tensors.items()}
    write_tensors(run / "snapshot-01.safetensors", changed, about)  # of the same size, with a checksum of its own
    Run.load(run)
    with pytest.raises(InputError, match=r"snapshot-01\.safetensors: has changed"):
        artifacts.read("snapshot-01")
    assert [problem.file for problem in verify_run(run).problems] == ["snapshot-01.safetensors"]
