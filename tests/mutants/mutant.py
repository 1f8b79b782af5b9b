"""A one-line fault, and the tests that must detect it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Mutant:
    """A replacement of one passage of a source file by a faulty one."""

    name: str
    """What goes wrong, in a few words; unique."""
    file: str
    """Path below src/fitcarl."""
    before: str
    """The passage to replace; it occurs exactly once in the file."""
    after: str
    """The faulty passage."""
    tests: tuple[str, ...]
    """What pytest runs, relative to tests; at least one test of these has to fail."""

    @property
    def source(self) -> Path:
        """The file in this checkout."""
        return ROOT / "src" / "fitcarl" / self.file

    def problem(self) -> str | None:
        """Why this mutant cannot be planted; None if it can."""
        if not self.source.is_file():
            return f"{self.file} does not exist"
        found = self.source.read_text(encoding="utf-8").count(self.before)
        if found != 1:
            return f"{self.before!r} occurs {found} times in {self.file}, expected once"
        missing = [test for test in self.tests if not (ROOT / "tests" / test.partition("::")[0]).exists()]
        return f"no such test: {missing[0]}" if missing else None

    def plant(self, root: Path) -> None:
        """Write the faulty file into a copy of the checkout."""
        text = self.source.read_text(encoding="utf-8")
        (root / "src" / "fitcarl" / self.file).write_text(text.replace(self.before, self.after), encoding="utf-8")

    def remove(self, root: Path) -> None:
        """Restore the file in a copy of the checkout."""
        (root / "src" / "fitcarl" / self.file).write_text(self.source.read_text(encoding="utf-8"), encoding="utf-8")
