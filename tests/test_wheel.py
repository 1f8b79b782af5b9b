"""The wheel, installed into an empty environment, runs the demo."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: object, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["FITCARL_HOME"] = str(cwd / "cache")
    done = subprocess.run([*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_wheel_in_a_clean_environment_runs_the_demo(tmp_path: Path) -> None:
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT, cwd=tmp_path)
    [wheel] = tmp_path.glob("fitcarl-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "fitcarl/py.typed" in names
    assert "fitcarl/serve/web/index.html" in names
    assert "fitcarl/serve/web/THIRD-PARTY.txt" in names
    assert any(re.fullmatch(r"fitcarl-[^/]+\.dist-info/licenses/LICENSE", name) for name in names)
    assert any(name.startswith("fitcarl/serve/web/assets/") for name in names)

    venv.create(tmp_path / "venv", with_pip=True)
    binaries = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = [binaries / "python", "-m", "pip", "install", "--quiet", "-c", ROOT / "constraints.txt"]
    run(*pip, f"{wheel}[plot]", cwd=tmp_path)
    assert "fastapi" not in run(binaries / "python", "-m", "pip", "list", cwd=tmp_path)
    run(binaries / "fitcarl", "demo", "--episodes", "2", "--out", tmp_path / "demo", cwd=tmp_path)
    assert (tmp_path / "demo" / "report.html").is_file()
