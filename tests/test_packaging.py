"""The version has one source, and a missing extra is reported in one line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import fitcarl
from fitcarl.errors import MissingExtraError, require_extra
from tests.small import write_tiny

ROOT = Path(__file__).parents[1]
WEB_STACK = ("fastapi", "sqlalchemy", "starlette", "uvicorn")

RUN_WITHOUT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
from fitcarl.cli import run
sys.exit(run(sys.argv[2:]))
"""


def run_without(modules: tuple[str, ...], *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a command in a process in which these modules cannot be imported."""
    command = [sys.executable, "-c", RUN_WITHOUT, ",".join(modules), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def test_all_files_name_the_same_version() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert pyproject["project"]["dynamic"] == ["version"]
    assert pyproject["tool"]["hatch"]["version"]["path"] == "src/fitcarl/_version.py"
    assert json.loads((ROOT / "web" / "package.json").read_text())["version"] == fitcarl.__version__
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert citation[1] == fitcarl.__version__


def test_core_dependencies_include_no_web_stack_and_no_plotting() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = {re.split(r"[<>=\[]", requirement)[0] for requirement in project["dependencies"]}
    assert names == {"numba", "numpy", "polars", "pydantic", "rich", "safetensors", "torch", "typer", "zstandard"}
    extras = {"all", "dev", "docs", "fuzz", "notebook", "plot", "postgres", "ray", "serve", "tune"}
    assert extras <= set(project["optional-dependencies"])


def test_constraints_are_sorted_and_cover_all_requirements() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    names = [line.partition("==")[0].lower() for line in lines]
    assert names == sorted(names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    required = {re.split(r"[<>=\[]", requirement)[0].lower() for requirement in wanted} - {"fitcarl"}
    assert required - {name.replace("_", "-") for name in names} == set()


def test_require_extra_names_the_extra_and_the_command_to_install_it() -> None:
    require_extra("plot", "json", needed_by="a figure")
    with pytest.raises(MissingExtraError, match=r"^a figure needs the extra 'plot'; install it with: pip install"):
        require_extra("plot", "json", "no_such_module_anywhere", needed_by="a figure")


@pytest.mark.parametrize(
    ("missing", "arguments", "line"),
    [
        (WEB_STACK, ["serve", "run"], "fitcarl serve needs the extra 'serve'"),
        (WEB_STACK, ["benchmark", "serve", "--run", "run"], "fitcarl benchmark serve needs the extra 'serve'"),
        (("matplotlib",), ["evaluate", "run", "--figure", "figure.svg"], "--figure needs the extra 'plot'"),
        (("optuna",), ["tune", "demo", "--preset", "plus"], "fitcarl tune needs the extra 'tune'"),
        (
            ("ray",),
            ["predict", "run", "--questions", "q.csv", "--out", "a.csv", "--engine", "ray"],
            "--engine ray needs the extra 'ray'",
        ),
        (("matplotlib",), ["demo"], "fitcarl demo needs the extra 'plot'"),
    ],
)
def test_command_without_its_extra_fails_with_one_line(
    missing: tuple[str, ...], arguments: list[str], line: str
) -> None:
    done = run_without(missing, *arguments)
    extra = line.split("'")[1]
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"error: {line}; install it with: pip install 'fitcarl[{extra}]'\n"


def test_help_and_data_commands_need_no_extra() -> None:
    assert run_without((*WEB_STACK, "matplotlib", "psycopg"), "--help").returncode == 0
    assert run_without((*WEB_STACK, "matplotlib", "psycopg"), "data", "list").returncode == 0


def test_training_without_matplotlib_skips_the_curve(tmp_path: Path) -> None:
    data, out = write_tiny(tmp_path / "tiny"), tmp_path / "run"
    done = run_without(
        ("matplotlib",), "train", data, "--out", out, "--preset", "paper", "--episodes", 2, "--set", "embedding.dim=16"
    )
    assert done.returncode == 0, done.stderr
    assert "fitcarl[plot]" in done.stderr
    assert not list(out.glob("*.svg")) + list(out.glob("*.png"))
