"""Read the Markdown pages of the documentation: their code blocks, links and command lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"])

_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[a-z]*)[^\n]*\n(?P<code>.*?)^(?P=indent)```", re.DOTALL | re.MULTILINE
)
_NOT_RUN = re.compile(r"<!-- not run: (?P<reason>.+?) -->\s*$")


@dataclass(frozen=True)
class Block:
    """A fenced code block. Blocks in ``python`` and ``sh`` are run unless the line before gives a reason not to."""

    page: Path
    line: int
    language: str
    code: str
    not_run: str | None

    @property
    def place(self) -> str:
        return f"{name_of(self.page)}:{self.line}"


def name_of(page: Path) -> str:
    """Path of a page within the repository, as a test id."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The fenced code blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        before = text[: match.start()]
        marked = _NOT_RUN.search(before)
        reason = marked["reason"] if marked else None
        yield Block(page, before.count("\n") + 1, match["language"], match["code"], reason)


def prose(page: Path) -> str:
    """The page without its code blocks and comments."""
    return re.sub(r"<!--.*?-->", "", _FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.DOTALL)


def commands(code: str) -> Iterator[list[str]]:
    """The command lines of a shell block as lists of words: comments dropped, continued lines joined."""
    pending = ""
    for line in code.replace("\\\n", " ").splitlines():
        pending = f"{pending}\n{line}" if pending else line
        try:
            words = shlex.split(pending, comments=True)
        except ValueError:  # a quotation that ends on a later line
            continue
        pending = ""
        if words:
            yield [words[0].removeprefix(".venv/bin/"), *words[1:]]


def mentioned_commands(page: Path) -> Iterator[str]:
    """Every command line that starts with ``fitcarl``, in shell blocks and in inline code."""
    for block in blocks(page):
        if block.language == "sh":
            yield from (shlex.join(words) for words in commands(block.code) if words[0] == "fitcarl")
    for code in inline_code(page):
        if re.match(r"(\.venv/bin/)?fitcarl [a-z]", code):
            yield code.removeprefix(".venv/bin/")


def inline_code(page: Path) -> Iterator[str]:
    """Text in backquotes outside of code blocks, with line breaks and escaped bars undone."""
    for match in re.finditer(r"`([^`]+)`", prose(page)):
        yield " ".join(match[1].replace("\\|", "|").split())
