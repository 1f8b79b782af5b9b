"""Links, commands, options, settings, files and symbols that the documentation mentions exist."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from fitcarl.cli import build_cli
from tests.docs.markdown import DOCS, PAGES, ROOT, inline_code, mentioned_commands, name_of, prose
from tests.docs.site import GENERATED, anchors

PACKAGE = ROOT / "src" / "fitcarl"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_point_to_existing_pages_and_headings(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", prose(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target.is_relative_to(DOCS) and target.relative_to(DOCS).as_posix() in GENERATED:
            continue  # made when the site is built; the strict build checks its anchors
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_options_exist(page: Path) -> None:
    assert [problem for line in mentioned_commands(page) if (problem := _unknown_part(line))] == []


def test_unknown_commands_and_options_are_noticed() -> None:
    assert _unknown_part("fitcarl trian DATA") == "fitcarl trian DATA: no command trian"
    assert _unknown_part("fitcarl data split --fact FILE") == "fitcarl data split --fact FILE: no option --fact"
    assert _unknown_part("fitcarl data split --facts FILE --out DIR") is None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"(?:^|`)make ([a-z][a-z0-9-]*)", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) <= set(targets)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_of)
def test_files_and_their_symbols_exist(page: Path) -> None:
    """A file in backquotes exists; a name in backquotes after it occurs in a file of the same cell or sentence."""
    missing = []
    for cell in re.split(r"[|;]|\. |\n\n", prose(page)):
        codes = re.findall(r"`([^`]+)`", cell)
        named = [code for code in codes if re.fullmatch(r"\w[\w/.-]*/[\w.-]+\.(py|tsx?|json)", code)]
        files = [file for code in named if (file := _find(code))]
        missing += [code for code in named if not _find(code)]
        symbols = (
            [code for code in codes[codes.index(named[0]) :] if re.fullmatch(r"[A-Za-z_][\w.]+", code)] if named else []
        )
        missing += [f"{named}: {one}" for one in symbols if not any(_mentions(file, one) for file in files)]
    assert missing == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=name_of)
def test_settings_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"--set ([a-z_]+(?:\.[a-z_]+)+)=", text))
    sections = {name.partition(".")[0] for name in _settings() if "." in name}
    for code in inline_code(page):
        match = re.fullmatch(r"([a-z_]+)(?:\.[a-z_]+)+(=[^=]*)?", code)
        if match and match[1] in sections and not code.endswith((".safetensors", ".json")):
            named.add(code.partition("=")[0])
    assert named <= _settings()


def _unknown_part(line: str) -> str | None:
    """The part of a command line that does not exist, or None. Placeholders in capitals are arguments."""
    try:
        words = shlex.split(line.split(" | ")[0], comments=True)[1:]
    except ValueError:  # text with an unpaired quotation mark
        words = line.split()[1:]
    command = _root()
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return f"{line}: no command {words[0]}" if words[0].islower() else None
        command = command.commands[words.pop(0)]
    known = {name for one in command.params for name in [*one.opts, *one.secondary_opts]} | {"--help"}
    unknown = [word for word in words if re.match(r"--[a-z]", word) and word.partition("=")[0] not in known]
    return f"{line}: no option {unknown[0]}" if unknown else None


@cache
def _root() -> Any:
    return typer.main.get_command(build_cli())


def _mentions(file: Path, symbol: str) -> bool:
    return bool(re.search(rf"\b{symbol.rpartition('.')[2]}\b", file.read_text(encoding="utf-8")))


def _find(path: str) -> Path | None:
    places = (ROOT, PACKAGE, PACKAGE / "models", ROOT / "web" / "src")
    return next((place / path for place in places if (place / path).is_file()), None)


@cache
def _settings() -> frozenset[str]:
    """Names of the settings of all presets and models."""
    from tests.docs.site import generate

    listed: list[dict[str, Any]] = [one for name in generate.presets_and_models() for one in generate.settings(*name)]
    return frozenset(one["name"] for one in listed)
