"""The code in the documentation runs.

Every ``python`` and ``sh`` block is executed, page by page, in a temporary folder with the files below and a small
trained run. A block that cannot run there (a download, hours of training, a server) follows a comment with the reason:
``<!-- not run: REASON -->``. Training commands get the settings of a tiny model and two episodes.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

import fitcarl
from fitcarl.cli import run
from fitcarl.synthetic import generate_world
from tests.docs.markdown import DOCS, PAGES, blocks, commands, name_of
from tests.small import SMALL

KNOWN = ("Harbour Union", "Ministry of Transport", "Port Authority", "City Council")
"""Names that the examples use for entities with many facts."""
NEW_FACTS = [
    ("Dockers' Front", "Consult", "Harbour Union", "2023-09-20"),
    ("Dockers' Front", "Criticize or denounce", "Port Authority", "2023-10-02"),
    ("City Council", "Make a statement", "Dockers' Front", "2023-10-05"),
]
PAGES_WITH_CODE = [
    page
    for page in PAGES
    if any(block.language in ("python", "sh") and block.not_run is None for block in blocks(page))
]


def test_code_blocks_have_a_language() -> None:
    assert [block.place for page in PAGES for block in blocks(page) if not block.language] == []


def test_reasons_for_not_running_are_given_before_code_blocks_only() -> None:
    marks = sum(page.read_text(encoding="utf-8").count("<!-- not run: ") for page in PAGES)
    assert marks == sum(block.not_run is not None for page in PAGES for block in blocks(page))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with events.csv, new.csv and a trained run in demo/run."""
    folder = tmp_path_factory.mktemp("examples")
    _write(folder / "events.csv", _events())
    _write(folder / "new.csv", NEW_FACTS)
    fitcarl.train(folder / "events.csv", out=folder / "demo" / "run", shots=3, episodes=2, settings=SMALL)
    return folder


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=name_of)
def test_code_of_page_runs(page: Path, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fitcarl, "train", partial(fitcarl.train, episodes=2, settings=SMALL))
    namespace: dict[str, object] = {}
    for block in blocks(page):
        if block.not_run is not None:
            continue
        if block.language == "python":
            exec(compile(block.code, block.place, "exec"), namespace)
        elif block.language == "sh":
            for words in commands(block.code):
                assert words[0] == "fitcarl", f"{block.place}: only fitcarl commands are run; give a reason not to run"
                assert run(_quick(words[1:])) == 0, f"{block.place}: {' '.join(words)}"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("events.csv", b"subject,relation,object,time\na,r,b,2024-01-01\na,r,c,2024-02-31\n"),
        ("events.csv", b"subject,relation,object,time\na,r,b,2024-01-01\na,,c,2024-02-01\n"),
        ("events.csv", b"a,r,b\n"),
        ("events.tsv", b"\xff\n"),
    ],
)
def test_data_guide_shows_real_error_messages(
    name: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    assert run(["data", "split", "--facts", name, "--out", "mine"]) == 2
    assert capsys.readouterr().err.strip() in (DOCS / "guides" / "data.md").read_text(encoding="utf-8")


def _quick(arguments: Sequence[str]) -> list[str]:
    """A training command with a tiny model and two episodes; other commands as they are."""
    small = [part for setting in SMALL for part in ("--set", setting)]
    return [*arguments, *small, "--episodes", "2"] if arguments[0] == "train" else list(arguments)


def _events() -> list[tuple[str, str, str, str]]:
    """The facts of a small generated world, its most active entities renamed to those of the examples."""
    facts = generate_world("tiny", seed=7).facts
    names, rows = facts.vocabulary, facts.quadruples
    activity = [0] * len(names.entities)
    for entity in [*rows.subject.tolist(), *rows.object.tolist()]:
        activity[entity] += 1
    called = list(names.entities)
    for name, entity in zip(KNOWN, sorted(range(len(called)), key=activity.__getitem__, reverse=True), strict=False):
        called[entity] = name
    return [
        (called[s], names.relations[r], called[o], facts.calendar.label(t))
        for s, r, o, t in zip(
            *(getattr(rows, part).tolist() for part in ("subject", "relation", "object", "time")), strict=True
        )
    ]


def _write(file: Path, facts: Sequence[Sequence[str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([("subject", "relation", "object", "time"), *facts])
