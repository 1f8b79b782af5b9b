"""The evidence of model ``plus`` for one answer: contributions of paths and feature families, with their facts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from fitcarl.models.plus.evidence import trace as traces
from fitcarl.models.plus.evidence.contributions import REACH, Contributions
from fitcarl.models.plus.evidence.trace import Trace
from fitcarl.scoring.evidence import BASE, OTHER_PATHS, PATH, Chain, EvidenceSource

MAX_PATHS = 3
"""Paths that are sources of their own; all others are one source."""

CHAINS: Mapping[str, Callable[[Trace], list[Chain]]] = MappingProxyType(
    {
        "copy_support": traces.support_chains,
        "neighbours": traces.neighbour_chains,
        "similar_entities": lambda trace: traces.peer_chains(trace) or traces.peer_chains(trace, same_relation=False),
        "relation_popularity": traces.popularity_chains,
        "same_day": traces.same_day_chains,
        "activity": traces.activity_chains,
        "excitation": traces.excitation_chains,
        "similarity": traces.similarity_chains,
        "encoder": lambda trace: [*traces.similarity_chains(trace), *traces.same_day_chains(trace)],
        REACH: traces.reach_chains,
    }
)
"""Family → the facts behind it; families without an entry rest on no single facts (concepts, names, profiles)."""


def group_paths(paths: Sequence[Chain]) -> list[list[Chain]]:
    """Paths that differ in their times only, together; the group with the highest total weight first."""
    groups: dict[tuple[tuple[int, int, int], ...], list[Chain]] = {}
    for chain in paths:
        groups.setdefault(tuple(edge[:3] for edge in chain.edges), []).append(chain)
    return sorted(groups.values(), key=lambda group: (-sum(chain.weight for chain in group), group[0].edges))


def evidence_sources(trace: Trace, groups: Sequence[Sequence[Chain]], found: Contributions) -> list[EvidenceSource]:
    """All sources, largest contribution first, then the base.

    Args:
        trace: The query and the candidate.
        groups: Groups of paths to the candidate; those after the first ``MAX_PATHS`` are one source.
        found: Contributions of these groups (further ones are the last) and of the families.
    """
    sources = [
        EvidenceSource(PATH, value, tuple(group)) for group, value in zip(groups[:MAX_PATHS], found.paths, strict=False)
    ]
    if len(groups) > MAX_PATHS:
        others = tuple(chain for group in groups[MAX_PATHS:] for chain in group)
        sources.append(EvidenceSource(OTHER_PATHS, found.paths[MAX_PATHS], others))
    for family, value in found.families.items():
        chains = tuple(CHAINS[family](trace)) if family in CHAINS else ()
        sources.append(EvidenceSource(family, value, chains))
    sources.sort(key=lambda source: (-abs(source.contribution), source.source))
    return [*sources, EvidenceSource(BASE, found.base, ())]
