"""Retired words and names are not used again: each concept has one name, that of docs/glossary.md."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

WORDS = (
    *("whom", "whoever", "nobody", "somebody", "anybody", "befalls?", "told", "kin", "akin", "crowd", "newcomers?"),
    *("happenings?", "tally", "honest", "honestly", "trivial scorers?", "keeps? (its|their) word", "plays? newcomers?"),
)
"""Retired in prose and inside names; regular expressions of whole words, where an underscore separates words."""

NAMES = (
    # training and models
    *("Surroundings", "Standing", "Lessons", "Newcomers", "PaperAgent", "PlusAgent", "Rehearsal", "Stopped", "Scene"),
    *("Asked", "Walkers", "Trail", "Said", "Asking", "Choices", "never_hidden", "looks_since_best", "after_look"),
    *("lessons_of", "step_of", "by_crowd", "ask_crowd", "hidden_crowd", "least_steps", "learned_from", "nameless"),
    *("telling", "excitement", "habit_of", "dot_with_actions"),
    # scoring and evaluation
    *("Answers", "Firsts", "Trust", "Others", "to_be_shared", "too_sure", "blinded", "BASELINES", "Peers", "Mix"),
    *("Contender", "Story", "Switch", "WHOLE", "lined_up", "lasting", "Say"),
    # prediction and service
    *("Question", "Roster", "Sight", "Sights", "Kept", "Crew", "Hands", "Gate", "Wire", "Refusal", "Mistake", "Tally"),
    # data
    *("noticed", "invite_newcomers", "hold_gatherings", "christening", "FINE", "FAULT", "UNREAD"),
)
"""Retired names of classes, functions and variables."""

COLUMN_NAMES = {"whom": ("src/fitcarl/data/io/roles.py", "tests/data/io/test_frames.py")}
"""Words that occur as names of columns in files of users, and where those are listed."""

_WORD = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(WORDS)})(?![A-Za-z])", re.IGNORECASE)
_NAME = re.compile(rf"\b(?:{'|'.join(NAMES)})\b")


def _files() -> list[Path]:
    patterns = ("src/**/*.py", "tests/**/*.py", "examples/**/*.py", "docs/**/*.md", "web/src/**/*.ts*", "README.md")
    found = {path for pattern in patterns for path in ROOT.glob(pattern)}
    return sorted(path for path in found if path.name != "test_vocabulary.py")


def _problems(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    place = path.relative_to(ROOT)
    for number, line in enumerate(text.splitlines(), 1):
        for match in _WORD.finditer(line):
            if place.as_posix() in COLUMN_NAMES.get(match.group(), ()):
                continue
            yield f"{place}:{number}: {match.group()!r}"
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.NAME and _NAME.fullmatch(token.string):
                yield f"{place}:{token.start[0]}: name {token.string!r}"


def test_no_retired_words() -> None:
    problems = [problem for path in _files() for problem in _problems(path)]
    assert not problems, f"{len(problems)} retired words:\n" + "\n".join(problems)
