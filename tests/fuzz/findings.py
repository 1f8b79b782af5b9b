"""Faults that were found, one folder per kind and place, with the smallest input that shows each."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.oracle import Fault


class Findings:
    """A folder of faults; several processes may write to it one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._sizes: dict[str, int] = {}

    def add(self, target: str, fault: Fault, data: bytes) -> bool:
        """Keeps an input, if it is the first or the smallest of its fault.

        Args:
            target: Name of the target.
            fault: The fault.
            data: The input.

        Returns:
            Whether the fault is new.
        """
        place = self.folder / re.sub(r"[^A-Za-z0-9.]+", "-", f"{target} {fault.key}")
        smallest = self._sizes.get(place.name)
        if smallest is None and (place / "input").exists():
            smallest = (place / "input").stat().st_size
        if smallest is not None and smallest <= len(data):
            self._sizes[place.name] = smallest
            return False
        place.mkdir(parents=True, exist_ok=True)
        (place / "input").write_bytes(data)
        (place / "fault.json").write_text(json.dumps({"target": target, **asdict(fault)}, indent=1))
        self._sizes[place.name] = len(data)
        return smallest is None

    def all(self) -> list[tuple[str, Fault, Path]]:
        """Target, fault and input of each."""
        found = []
        for file in sorted(self.folder.glob("*/fault.json")):
            about = json.loads(file.read_text())
            found.append((about.pop("target"), Fault(**about), file.with_name("input")))
        return found
