"""What counts as a fault, which inputs are kept, and how they are made smaller."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fitcarl.data.io.reader import read_facts
from fitcarl.errors import InputError
from tests.fuzz import mutate_edits, mutate_files, run
from tests.fuzz.findings import Findings
from tests.fuzz.minimise import minimised
from tests.fuzz.oracle import MAX_MESSAGE, Fault, judge
from tests.fuzz.replay import replay
from tests.fuzz.run import Status, environment, set_aside_unconfirmed

ROOT = Path(__file__).parents[2]


def error_of(text: str) -> InputError:
    try:
        error = InputError("")
        error.args = (text,)  # the class itself bounds and escapes its messages
        raise error
    except InputError as found:
        return found


def test_one_printable_line_is_no_fault() -> None:
    assert judge(error_of("a problem")) is None


def test_long_and_unprintable_messages_are_faults() -> None:
    long, unprintable = judge(error_of("x" * (MAX_MESSAGE + 1))), judge(error_of("\x1b[31mred"))
    assert long is not None
    assert long.kind == "LongMessage"
    assert unprintable is not None
    assert unprintable.kind == "ControlCharacterInMessage"
    surrogate = judge(error_of("\udcff.csv"))
    assert surrogate is not None
    assert surrogate.kind == "SurrogateInMessage"


def test_other_exceptions_are_faults_of_their_place_in_the_package() -> None:
    with pytest.raises(TypeError) as raised:
        read_facts("x.csv", max_expansion="x")  # type: ignore[arg-type]
    fault = judge(raised.value)
    assert fault is not None
    assert fault.key.startswith("TypeError at fitcarl/data/io/read_options.py:")


def test_findings_that_a_new_process_does_not_show_are_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    findings, fault = Findings(tmp_path / "findings"), Fault("ValueError", "fitcarl/x.py:1", "message")
    findings.add("files", fault, b"earlier")
    known = {file for _, _, file in findings.all()}
    findings.add("files", Fault("MemoryError", "fitcarl/x.py:2", ""), b"memory")
    findings.add("files", Fault("KeyError", "fitcarl/x.py:3", ""), b"real")
    shown = {b"real": fault}
    monkeypatch.setattr(run, "replay", lambda _target, _home, new, _env: [shown.get(file.read_bytes()) for file in new])
    for _ in range(2):
        set_aside_unconfirmed("files", tmp_path, known)
        assert sorted(file.read_bytes() for _, _, file in findings.all()) == [b"earlier", b"real"]
        assert [file.read_bytes() for file in tmp_path.glob("unconfirmed/*/input")] == [b"memory"]
        findings.add("files", Fault("MemoryError", "fitcarl/x.py:2", ""), b"memory")


def test_smallest_input_of_each_fault_is_kept(tmp_path: Path) -> None:
    findings, fault = Findings(tmp_path), Fault("ValueError", "fitcarl/x.py:1", "message")
    assert findings.add("files", fault, b"12345")
    assert not findings.add("files", fault, b"123456")
    assert not Findings(tmp_path).add("files", fault, b"123")
    [(target, found, file)] = Findings(tmp_path).all()
    assert (target, found, file.read_bytes()) == ("files", fault, b"123")


def test_minimised_input_has_only_what_is_needed() -> None:
    edits = mutate_edits.encode([["a", "cut", 1], ["b", "cut", 1], ["c", "cut", 1]])
    assert minimised(edits, False, lambda data: b'"b"' in data, 100) == b'[["b", "cut", 1]]'
    about = {"reader": "facts", "options": {"header": True, "relation": "x"}}
    data = mutate_files.encode(about, b"one\ntwo\nthree\n")
    found = mutate_files.decode(minimised(data, True, lambda data: b"two" in data and b"header" in data, 1000))
    assert found == ({"reader": "facts", "options": {"header": True}}, b"two")


@pytest.mark.slow
def test_crash_in_a_process_is_a_fault_and_the_next_input_is_tried(tmp_path: Path) -> None:
    """An input that makes the reader of queries call ``abort``, by a module that replaces it."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, tests.fuzz.targets as targets\ntargets._READ['queries'] = lambda file, options: os.abort()\n"
    )
    fatal, harmless = tmp_path / "fatal", tmp_path / "harmless"
    fatal.write_bytes(mutate_files.encode({"reader": "queries"}, b""))
    harmless.write_bytes(mutate_files.encode({"reader": "concepts", "suffix": ".tsv"}, b"x\ty\n"))
    variables = environment(tmp_path)
    variables["PYTHONPATH"] = os.pathsep.join([str(tmp_path), variables["PYTHONPATH"]])
    first, second = replay("files", tmp_path, [fatal, harmless], variables)
    assert first is not None
    assert first.kind == "SIGABRT"
    assert second is None


@pytest.mark.slow
@pytest.mark.skipif(find_spec("atheris") is None, reason="needs atheris: pip install 'fitcarl[fuzz]'")
def test_fuzzing_goes_on_where_it_ended(tmp_path: Path) -> None:
    variables = {**os.environ, "FUZZ_HOME": str(tmp_path), "FUZZ_TARGETS": "files", "FUZZ_INPUTS": "400"}
    variables["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    counts = []
    for _ in range(2):
        command = [sys.executable, "-m", "tests.fuzz.run"]
        done = subprocess.run(
            command, env={**variables, "FUZZ_SECONDS": "60"}, capture_output=True, text=True, cwd=ROOT
        )
        assert done.returncode in (0, 1), done.stderr
        counts.append(Status(tmp_path / "status.json").inputs["files"])
    assert counts[0] >= 400
    assert counts[1] >= counts[0] + 400
    assert len(list((tmp_path / "corpus" / "files").iterdir())) > 23
