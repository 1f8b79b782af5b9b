"""The cuts of a chronological split: the times from which on the unseen entities of each group appear."""

from __future__ import annotations

from dataclasses import dataclass

from fitcarl.data.calendar import Calendar


@dataclass(frozen=True)
class Cuts:
    """When the groups of a chronological split begin; the facts of a group end where the next group begins.

    An unseen entity first appears in the time of its group, and all its facts in the group are of that time.
    """

    train: int
    """Tick from which on meta-train entities appear."""
    valid: int
    """Tick from which on meta-validation entities appear; no weight is fitted to a fact of this time or later."""
    test: int
    """Tick from which on meta-test entities appear; the end of the calendar if there are none."""

    @property
    def starts(self) -> tuple[int, int, int]:
        """The first tick of meta-train, meta-validation and meta-test."""
        return self.train, self.valid, self.test

    def ends(self, calendar: Calendar) -> tuple[int, int, int]:
        """The tick after the last one of meta-train, meta-validation and meta-test."""
        return self.valid, self.test, max(self.test, calendar.span)

    def labels(self, calendar: Calendar) -> tuple[str, str, str]:
        """The cuts as dates or integers."""
        train, valid, test = (calendar.label(tick) for tick in self.starts)
        return train, valid, test
