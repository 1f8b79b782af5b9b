"""What counts as a fault: any exception but an InputError that is one printable line of bounded length."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

from fitcarl.data.name_rules import is_unicode
from fitcarl.errors import InputError

MAX_MESSAGE = 4000
"""Characters."""
_PACKAGE = "/fitcarl/"


@dataclass(frozen=True)
class Fault:
    """A fault and where it occurred; faults with the same ``key`` are the same."""

    kind: str
    """Name of the exception or of the signal."""
    place: str
    """File and line of the last frame in the package."""
    message: str
    trace: str = ""

    @property
    def key(self) -> str:
        return f"{self.kind} at {self.place}"


def judge(error: BaseException) -> Fault | None:
    """The fault that an exception is; None for a proper InputError."""
    if not isinstance(error, InputError):
        return fault_of(error, type(error).__name__)
    text = str(error)
    if len(text) > MAX_MESSAGE:
        return fault_of(error, "LongMessage")
    if any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in text):
        return fault_of(error, "ControlCharacterInMessage")
    if not is_unicode(text):
        return fault_of(error, "SurrogateInMessage")
    return None


def fault_of(error: BaseException, kind: str) -> Fault:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if _PACKAGE in frame.filename] or list(frames)
    place = f"{_short(own[-1].filename)}:{own[-1].lineno}" if own else "?"
    return Fault(kind, place, str(error)[:500], "".join(traceback.format_exception(error))[-8000:])


def _short(filename: str) -> str:
    return filename.rpartition("/src/")[2] if "/src/" in filename else Path(filename).name
