"""The example of the README runs, and shows what it says."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import fact_lines

README = Path(__file__).parent.parent / "README.md"


def test_the_python_example_prints_the_dataset_and_the_action_space_of_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line.replace("\t", ",").replace("hub 0", "Harbour Union") for line in fact_lines()]
    (tmp_path / "events.csv").write_text("\n".join(["subject,relation,object,time", *lines]) + "\n")
    monkeypatch.chdir(tmp_path)
    example = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert example is not None
    exec(example[1], {})
    description, _, actions = capsys.readouterr().out.partition("(stay) Harbour Union 2024-03-05\n")
    assert "66 entities, 3 relations" in description
    assert len(actions.splitlines()) == 50
    assert all(re.search(r" actor [0-9]+ 2024-[0-9]{2}-[0-9]{2}$", line) for line in actions.splitlines())


def test_a_source_distribution_holds_what_the_readme_points_at_and_what_make_needs() -> None:
    project = tomllib.loads((README.parent / "pyproject.toml").read_text(encoding="utf-8"))
    held = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    links = re.findall(r"\]\((?!https?:)([^)#]+)", README.read_text(encoding="utf-8"))
    assert links
    assert {link.partition("/")[0] for link in links} | {"Makefile", "constraints.txt"} <= set(held)
    assert all((README.parent / name).exists() for name in held)
