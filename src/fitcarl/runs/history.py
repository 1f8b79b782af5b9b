"""The history of a run: the updates that have added facts to its background since it was trained."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fitcarl.core.files import read_json, write_json
from fitcarl.errors import InputError

_VERSION = 1
_MAX_HISTORY = 1 << 26
"""Bytes of a history: some hundred thousand updates."""


@dataclass(frozen=True)
class UpdateRecord:
    """One update."""

    facts: int
    """Facts that were added; those that were known already are not counted."""
    entities: int
    """Entities that became known."""
    first_time: str
    """The time of the earliest added fact."""
    last_time: str
    facts_digest: str
    """sha256 of the added facts by name."""
    background_digest: str
    """sha256 of the background graph after the update."""
    drift_mrr: float | None
    """MRR on the added facts before they were added; None if none was judged."""
    drift_judged: int
    """Facts that it was measured on."""
    version: str
    """Version of fitcarl."""


@dataclass(frozen=True)
class UpdateHistory:
    """The updates of a run, oldest first, and the folder that the last one wrote."""

    updates: tuple[UpdateRecord, ...] = ()
    current: str = ""
    """Name of a folder inside the run; empty if the run was never updated."""

    def with_update(self, record: UpdateRecord) -> UpdateHistory:
        """The history after a further update."""
        return UpdateHistory((*self.updates, record), update_folder(len(self.updates) + 1))


def update_folder(number: int) -> str:
    """The name of the folder with the files of an update, counted from 1."""
    return f"update-{number}"


def history_file(run: Path) -> Path:
    """The file that names the current update: replacing it is what makes an update take effect."""
    return run / "updates.json"


def read_history(run: Path) -> UpdateHistory:
    """The history of a run folder.

    Raises:
        InputError: If it is damaged.
    """
    file = history_file(run)
    if not file.exists():
        return UpdateHistory()
    found: Any = read_json(file, _MAX_HISTORY)
    names = {field.name for field in fields(UpdateRecord)}
    try:
        if found["format"] != _VERSION:
            raise ValueError
        updates = tuple(_record({name: entry[name] for name in names}) for entry in found["updates"])
        current = update_folder(len(updates))
        if not updates or found["current"] != current:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise InputError("is damaged", file=file, expected="the file that `fitcarl update` wrote") from None
    return UpdateHistory(updates, current)


def _record(values: dict[str, Any]) -> UpdateRecord:
    record = UpdateRecord(**values)
    counts = record.facts, record.entities, record.drift_judged
    texts = record.first_time, record.last_time, record.facts_digest, record.background_digest, record.version
    mrr = 0.0 if record.drift_mrr is None else record.drift_mrr
    if any(not isinstance(text, str) for text in texts) or type(mrr) not in (int, float):
        raise TypeError
    if any(type(count) is not int or not 0 <= count < 2**63 for count in counts) or not 0 <= mrr <= 1:
        raise ValueError
    return record


def write_history(run: Path, history: UpdateHistory) -> None:
    """Writes the history atomically."""
    updates = [asdict(update) for update in history.updates]
    write_json(history_file(run), {"format": _VERSION, "current": history.current, "updates": updates})
