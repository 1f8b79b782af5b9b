"""The action space as defined in the paper: plain loops over a list of facts."""

from __future__ import annotations

from collections.abc import Callable

Fact = tuple[int, int, int, int]
Edge = tuple[int, int, int]


def out_edges(facts: list[Fact], entity: int, relation_count: int) -> set[Edge]:
    """All (r, e, t) that leave an entity: its facts as subject, and as object through the inverse relation."""
    edges = {(r, o, t) for s, r, o, t in facts if s == entity}
    return edges | {(r + relation_count, s, t) for s, r, o, t in facts if o == entity}


def best_edges(edges: set[Edge], size: int, goodness: Callable[[int], float]) -> set[Edge]:
    """The ``size`` edges with the highest ``goodness`` of their time; only valid without a tie at the cutoff."""
    return set(sorted(edges, key=lambda edge: -goodness(edge[2]))[:size])


def cut_is_clear(edges: set[Edge], size: int, goodness: Callable[[int], float]) -> bool:
    values = sorted((goodness(t) for _, _, t in edges), reverse=True)
    return len(values) <= size or values[size - 1] > values[size]
