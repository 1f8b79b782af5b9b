"""A warning about splits with few evaluation entities, and options that give more."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from fitcarl.data.bounds import ENOUGH_ENTITIES, MRR_DEVIATION, half_width
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.split import split_facts, working_proposals
from fitcarl.errors import InputError

CROSSVALIDATE = "To test every suitable entity once: 'fitcarl crossvalidate'."
"""What else can be done if there are few entities."""
_CUTS = (0.5, 0.3, 0.1)
"""Cuts of a chronological split that are tried, in this order."""
_CHRONOLOGICAL_BOUNDS = ((4, 50), (4, 200))
"""Bounds that are tried with each of them."""


@dataclass(frozen=True)
class SplitAdvice:
    """What to expect of an evaluation on few entities."""

    valid: int
    """Meta-validation entities."""
    test: int
    """Meta-test entities."""
    proposals: tuple[str, ...]
    """Options that give more entities, with their numbers."""

    @property
    def lines(self) -> list[str]:
        """The warnings, then the proposals, one per line."""
        warnings = [few_entities("validation", self.valid), few_entities("test", self.test)]
        more = [f"More entities: {proposal}." for proposal in self.proposals]
        return [*filter(None, warnings), *more, CROSSVALIDATE]

    def to_json(self) -> dict[str, Any]:
        widths = {"valid": half_width(max(self.valid, 1)), "test": half_width(max(self.test, 1))}
        return asdict(self) | {"proposals": list(self.proposals), "half_width": widths}


def few_entities(group: str, entities: int) -> str:
    """A warning if a group has few entities; empty if it has enough.

    Args:
        group: Name of the group: ``validation`` or ``test``.
        entities: Number of its entities.
    """
    if entities >= ENOUGH_ENTITIES:
        return ""
    if not entities:
        return f"There are no {group} entities."
    what = "1 entity" if entities == 1 else f"{entities} entities"
    interval = f"{half_width(entities):.2f}".replace("0.", ".", 1)
    deviation = f"{MRR_DEVIATION:g}".replace("0.", ".", 1)
    return f"Only {what} for {group}: the 95 % interval of an MRR is about ± {interval} (1.96 · {deviation} / √n)."


def advise(
    facts: Facts, dataset: Dataset, *, seed: int, parts: tuple[float, float, float] | None, chronological: bool
) -> SplitAdvice | None:
    """The warning about a split with few evaluation entities; None if there are enough.

    Every proposal is tried, and its numbers are counted in the result.

    Args:
        facts: The facts that were split.
        dataset: The result.
        seed: The seed of the split.
        parts: Shares of the groups; None for the default.
        chronological: Whether the split is chronological.
    """
    valid, test = len(dataset.valid.entities), len(dataset.test.entities)
    if min(valid, test) >= ENOUGH_ENTITIES:
        return None
    if chronological:
        proposals = _earlier_cuts(facts, seed, parts, min(valid, test))
    else:
        found = working_proposals(facts, seed, parts)
        proposals = [proposal.describe() for proposal in found if proposal.smallest > min(valid, test)]
    return SplitAdvice(valid, test, tuple(proposals))


def _earlier_cuts(facts: Facts, seed: int, parts: tuple[float, float, float] | None, fewest: int) -> list[str]:
    """Options of a chronological split that give more entities; the first that gives enough, or else the best."""
    best = ""
    for cut in _CUTS:
        for low, high in _CHRONOLOGICAL_BOUNDS:
            try:
                found = split_facts(facts, seed=seed, bounds=(low, high), parts=parts, chronological=True, cut=cut)
            except InputError:
                continue
            valid, test = len(found.valid.entities), len(found.test.entities)
            if min(valid, test) > fewest:
                fewest = min(valid, test)
                options = f"--cut {cut:g} --low {low} --high {high}"
                best = f"{options} gives {valid} entities for validation and {test} for test"
            if fewest >= ENOUGH_ENTITIES:
                return [best]
    return [best] if best else []
