"""Names that look like another name but are not equal to it.

Covered are Cyrillic, Greek and Armenian letters that look like Latin ones, invisible characters, full-width and other
compatibility forms, and marks above or below letters. Not covered are letters that look like digits (O and 0, l and 1),
other scripts, and letters that are similar but not alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from fitcarl.data.similar_names import normalise_name
from fitcarl.data.vocabulary import Vocabulary

_LATIN = str.maketrans(
    "АВЕЅІЈКМНОРСТУХԚԜаеѕіјорсухһԁԛԝѵӏΑΒΕΖΗΙΚΜΝΟΡΤΥΧοϲϳօսհıɑɡ",
    "ABESIJKMHOPCTYXQWaesijopcyxhdqwvlABEZHIKMNOPTYXocjouhiag",
)
"""Letters of other scripts, and a few Latin ones, that look like a letter from a to z."""
_MARKS = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]")
"""Marks above and below letters; those of other scripts are letters of their own."""
_FILLERS = frozenset("\u034f\u115f\u1160\u2800\u3164\uffa0")
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN")


@dataclass(frozen=True)
class LookAlikes:
    """Names that a reader can take for another one."""

    entities: tuple[tuple[str, ...], ...]
    """Groups of different names that look alike."""
    relations: tuple[tuple[str, ...], ...]
    mixed_scripts: tuple[str, ...]
    """Names with a word that has Latin letters and letters of another script that look like Latin ones."""

    @property
    def count(self) -> int:
        """Names that look like an earlier one of their group, and names with mixed scripts."""
        return sum(len(group) - 1 for group in (*self.entities, *self.relations)) + len(self.mixed_scripts)


def find_look_alikes(names: Vocabulary) -> LookAlikes:
    """Finds names that look alike, but for those that ``find_similar_names`` finds.

    Args:
        names: The names.
    """
    both = (*names.entities, *names.relations)
    mixed = tuple(name for name in both if not name.isascii() and _mixes_scripts(name))
    return LookAlikes(_groups_of(names.entities), _groups_of(names.relations), mixed)


def skeleton(name: str) -> str:
    """What a name looks like: equal for names that look alike.

    Args:
        name: The name.
    """
    if name.isascii():
        return normalise_name(name)
    text = unicodedata.normalize("NFKC", name)
    text = "".join(mark for mark in text if mark not in _FILLERS and not _is_invisible(mark))
    text = _MARKS.sub("", unicodedata.normalize("NFD", text)).translate(_LATIN)
    return normalise_name(text)


def _is_invisible(mark: str) -> bool:
    return unicodedata.category(mark) == "Cf" or "VARIATION SELECTOR" in unicodedata.name(mark, "")


def _groups_of(names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    unusual = {skeleton(name) for name in names if not name.isascii()}
    if not unusual:
        return ()
    found: dict[str, list[str]] = {}
    for name in names:
        form = skeleton(name)
        if form in unusual:
            found.setdefault(form, []).append(name)
    return tuple(tuple(group) for group in found.values() if len(set(map(normalise_name, group))) > 1)


def _mixes_scripts(name: str) -> bool:
    for word in re.findall(r"[^\W\d_]+", name):
        others = [letter for letter in word if _script(letter) not in ("LATIN", None)]
        if others and len(others) < len(word) and all(ord(letter) in _LATIN for letter in others):
            return True
    return False


def _script(letter: str) -> str | None:
    first = unicodedata.name(letter, "").partition(" ")[0]
    return first if first in _SCRIPTS else None
