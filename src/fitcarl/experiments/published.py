"""Figures that the paper prints in its tables of results (Table 2) and of ablations (Table 3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any

_MISPRINTS = {
    ("TITer", "icews18-oog", 1): "hits@10 is a misprint in the paper: it is below hits@3",
}


@dataclass(frozen=True)
class PublishedFigures:
    """Printed metrics of one system; optimistic ranks, and other true answers at any time filtered."""

    mrr: float
    hits_1: float
    hits_3: float
    hits_10: float
    note: str = ""
    """What is wrong with the printed figures, if anything."""

    def to_json(self) -> dict[str, Any]:
        figures = {"mrr": self.mrr, "hits@1": self.hits_1, "hits@3": self.hits_3, "hits@10": self.hits_10}
        return figures | ({"note": self.note} if self.note else {})


Key = tuple[str, str, int]
"""System as the paper writes it, dataset, shots."""


@cache
def published_systems() -> Mapping[Key, PublishedFigures]:
    """Table 2 of the paper: eleven systems on three datasets."""
    return _read("published_systems.tsv")


@cache
def published_ablations() -> Mapping[Key, PublishedFigures]:
    """Table 3 of the paper: ablations A1 to E; D was not run with one shot."""
    return _read("published_ablations.tsv")


def _read(name: str) -> Mapping[Key, PublishedFigures]:
    _, *lines = files("fitcarl.experiments").joinpath(name).read_text(encoding="utf-8").splitlines()
    found: dict[Key, PublishedFigures] = {}
    for line in lines:
        system, data, shots, *figures = line.split("\t")
        key = system, data.lower(), int(shots)
        mrr, hits_1, hits_3, hits_10 = map(float, figures)
        found[key] = PublishedFigures(mrr, hits_1, hits_3, hits_10, _MISPRINTS.get(key, ""))
    return MappingProxyType(found)
