"""Exceptions raised deliberately by this package."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that a terminal may obey, that change the order of text, or that cannot be written as UTF-8: C0 but tabs
and line breaks, DEL, C1, line and paragraph separators, controls of text direction, and unpaired surrogates, which also
stand for the bytes of a file name that is not UTF-8."""
_LONGEST = {"found": 80, "field": 120, "problem": 500, "expected": 500, "hint": 500}
"""Characters of the parts of a message; longer ones are cut."""
_LISTED = 8


class FitcarlError(Exception):
    """Base class of all deliberate errors; any other exception that escapes is a bug."""


class InputError(FitcarlError):
    """Unusable input. The message is one line: ``file, row, field: problem; found …; expected …; hint``.

    Args:
        problem: What is wrong.
        file: File or folder that contains the value.
        row: Row of the file, counted from 1.
        field: Column, option or setting.
        found: The value that was found.
        expected: What would have been accepted.
        hint: A suggestion, such as a similar name.
    """

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
        location = ", ".join(
            part
            for part in (
                self.file,
                None if row is None else f"row {row}",
                None if field is None else f"field {_cut(field, 'field')}",
            )
            if part
        )
        line = f"{location}: {_cut(problem, 'problem')}" if location else _cut(problem, "problem")
        if found is not None:
            line += f"; found {_quoted(found)}"
        if expected is not None:
            line += f"; expected {_cut(expected, 'expected')}"
        if hint:
            line += f"; {_cut(hint, 'hint')}"
        one_line = re.sub(r"\s*[\r\n]+\s*", " ", line).replace("\t", "\\t")
        super().__init__(escape_controls(one_line))

    def about(self, field: str, expected: str | None = None, hint: str = "") -> InputError:
        """The same error for a field that the user knows under another name.

        Args:
            field: Name of the field or option.
            expected: Replaces what was expected, if given.
            hint: Replaces the hint, if given.
        """
        return InputError(
            self.problem,
            file=self.file,
            row=self.row,
            field=field,
            found=self.found,
            expected=expected or self.expected,
            hint=hint or self.hint,
        )


class UnusableRunError(InputError):
    """A run that gives no valid answer, whatever it is asked."""


class MissingExtraError(FitcarlError):
    """An optional dependency is not installed."""


def require_extra(extra: str, *modules: str, needed_by: str) -> None:
    """Raises a MissingExtraError unless the modules of an optional dependency group can be imported.

    Args:
        extra: Name of the group in pyproject.toml, such as ``serve``.
        *modules: Modules that the group provides.
        needed_by: What needs them, as the subject of the message, such as ``fitcarl serve``.
    """
    try:
        for module in modules:
            import_module(module)
    except ModuleNotFoundError:
        install = f"pip install 'fitcarl[{extra}]'"
        raise MissingExtraError(f"{needed_by} needs the extra '{extra}'; install it with: {install}") from None


def escape_controls(text: str) -> str:
    """A text that is safe to print on a terminal: control characters as ``\\x1b`` or ``\\u202e``.

    Tabs and line breaks are kept.

    Args:
        text: A text that may contain names from files.
    """
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def escape_json_controls(text: str) -> str:
    """JSON in which control characters are escaped as ``\\u009b``; it stands for the same value.

    Args:
        text: JSON; it has such characters in strings only.
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def listed(names: Sequence[str]) -> str:
    """A few names, separated by commas, and the number of the others.

    Args:
        names: All names.
    """
    shown = ", ".join(names[:_LISTED])
    return shown if len(names) <= _LISTED else f"{shown} and {len(names) - _LISTED:,} more"


def _cut(text: str, part: str) -> str:
    longest = _LONGEST[part]
    return text if len(text) <= longest else text[: longest - 3] + "..."


def _quoted(found: object) -> str:
    return repr(_cut(found, "found")) if isinstance(found, str) else _cut(str(found), "found")


def did_you_mean(name: str, known: Iterable[str], count: int = 3) -> str:
    """A hint such as ``did you mean 'Consult'?`` for an unknown name; empty if no known name is similar."""
    lowered: dict[str, str] = {}
    for candidate in known:
        lowered.setdefault(candidate.lower(), candidate)
    near = difflib.get_close_matches(name.lower(), lowered, n=count, cutoff=0.6)
    if not near:
        return ""
    return "did you mean " + " or ".join(repr(lowered[match]) for match in near) + "?"
