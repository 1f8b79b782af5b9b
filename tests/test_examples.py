"""The scripts and notebooks in examples/ run and show the expected output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import fitcarl
from fitcarl.testing import check_scorer

EXAMPLES = Path(__file__).parents[1] / "examples"


def _run(name: str) -> str:
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_custom_scorer_prints_report_and_comparison() -> None:
    lines = _run("custom_scorer.py").splitlines()
    assert lines[0].startswith("most frequent objects on demo, meta-test, 3-shot: ")
    assert any(line.startswith("realistic   MRR .") for line in lines)
    assert any(line.startswith("mix ") and "difference +" in line for line in lines)


def test_custom_scorer_keeps_contract() -> None:
    namespace: dict[str, type] = {}
    exec((EXAMPLES / "custom_scorer.py").read_text().replace("__main__", "__nowhere__"), namespace)
    make = namespace["MostFrequentObjects"]
    dataset = fitcarl.load_dataset("demo")
    check_scorer(make(dataset), dataset, make=make)


NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
KERNEL = {"argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "language": "python"}


def _execute(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The code cells of a notebook, executed by a kernel with this interpreter."""
    nbformat = pytest.importorskip("nbformat", reason="the extra notebook is not installed")
    nbclient = pytest.importorskip("nbclient", reason="the extra notebook is not installed")
    pytest.importorskip("ipykernel", reason="the extra notebook is not installed")
    kernel = folder / "jupyter" / "kernels" / "this-python"
    kernel.mkdir(parents=True)
    (kernel / "kernel.json").write_text(json.dumps(KERNEL | {"display_name": "this Python"}))
    (folder / "work").mkdir()
    package = str(Path(fitcarl.__file__).parents[1])
    for variable, value in {
        "JUPYTER_PATH": kernel.parents[1],
        "JUPYTER_RUNTIME_DIR": folder / "runtime",
        "IPYTHONDIR": folder / "ipython",
        "TMPDIR": folder / "work",
        "PYTHONPATH": package,
    }.items():
        monkeypatch.setenv(variable, str(value))
    notebook = nbformat.read(EXAMPLES / name, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="this-python")
    client.execute(cwd=str(folder / "work"))
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _shown(cell: Any, kind: str = "text/html") -> str:
    """What a cell shows, as HTML or as text."""
    found = [output.get("data", {}).get(kind) or output.get("text", "") for output in cell.outputs]
    return "\n".join(part for part in found if part)


def _cell(cells: list[Any], line: str) -> Any:
    """The cell with this line."""
    return next(cell for cell in cells if line in cell.source.splitlines())


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_notebook_is_committed_without_outputs(file: Path) -> None:
    for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)


def test_notebook_about_own_events_answers_and_explains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = _execute("own_events.ipynb", tmp_path, monkeypatch)
    assert "subject = actor1, relation = event_type, object = actor2, time = date" in _shown(_cell(cells, "facts"))
    training = _cell(cells, "run")
    assert "<progress value='30' max='30'></progress> training: 30/30 episodes" in _shown(training)
    assert training.outputs[-1].data["text/plain"].startswith("Run(")
    assert "for everything that is not listed" in _shown(_cell(cells, "prediction"))
    assert "<th>evidence</th>" in _shown(_cell(cells, "explanation"))
    assert "unlisted" in _shown(cells[-2])
    assert "candidates" in _shown(cells[-1])


@pytest.mark.slow
def test_notebook_about_models_compares_on_validation_and_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = _execute("compare_models.ipynb", tmp_path, monkeypatch)
    for name, split in (("rules", "valid"), ("on_validation", "valid"), ("on_test", "test")):
        assert f"demo world, meta-{split}, completion, 3-shot: " in _shown(_cell(cells, name))
    scorers = _shown(_cell(cells, "on_test"))
    for scorer in ("all-equal", "mix", "fitcarl (plus)", "mean"):
        assert f">{scorer}" in scorers
    assert "in support" in _shown(_cell(cells, "report"))
    assert "novel" in _shown(cells[-1])
