"""The errors this package raises on purpose."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path


class FitcarlError(Exception):
    """Base of every error raised on purpose; anything else that escapes is our fault."""


class InputError(FitcarlError):
    """What the user gave cannot be used. One line: where it is, what was found, what would have been right."""

    def __init__(
        self,
        problem: str,
        *,
        file: str | Path | None = None,
        row: int | None = None,
        field: str | None = None,
        found: object = None,
        expected: str | None = None,
        hint: str = "",
    ) -> None:
        self.problem = problem
        self.file = None if file is None else str(file)
        self.row = row
        self.field = field
        self.found = found
        self.expected = expected
        self.hint = hint
        place = ", ".join(
            part
            for part in (
                self.file,
                None if row is None else f"row {row}",
                None if field is None else f"field {field}",
            )
            if part
        )
        line = f"{place}: {problem}" if place else problem
        if found is not None:
            line += f"; found {_quoted(found)}"
        if expected is not None:
            line += f"; expected {expected}"
        if hint:
            line += f"; {hint}"
        super().__init__(re.sub(r"\s*[\r\n]+\s*", " ", line))

    def about(self, field: str, expected: str | None = None, hint: str = "") -> InputError:
        """The same of a field that whoever gave it knows by another name, or with more to say."""
        return InputError(
            self.problem,
            file=self.file,
            row=self.row,
            field=field,
            found=self.found,
            expected=expected or self.expected,
            hint=hint or self.hint,
        )


def _quoted(found: object) -> str:
    if not isinstance(found, str):
        return str(found)
    return repr(found if len(found) <= 80 else found[:77] + "...")


def did_you_mean(name: str, known: Iterable[str], count: int = 3) -> str:
    """A hint such as ``did you mean 'Consult'?`` for an unknown name, or an empty string when nothing is near."""
    lowered: dict[str, str] = {}
    for candidate in known:
        lowered.setdefault(candidate.lower(), candidate)
    near = difflib.get_close_matches(name.lower(), lowered, n=count, cutoff=0.6)
    if not near:
        return ""
    return "did you mean " + " or ".join(repr(lowered[match]) for match in near) + "?"
