"""Compiled helpers agree with their counterparts."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.data.relations import RelationIds
from fitcarl.graph.kernels import inverse_relation, lower_bound


@pytest.mark.parametrize("count", [1, 2, 7])
def test_compiled_inverse_is_the_inverse_of_relation_ids(count: int) -> None:
    relations = RelationIds(count)
    for relation in range(relations.directed):
        assert inverse_relation(relation, relations.directed) == relations.inverse(relation)


def test_lower_bound_is_searchsorted_within_the_range() -> None:
    values = np.array([9, 1, 3, 3, 8, 0], dtype=np.int32)  # ascending from 1 to 4 only
    for value in range(-1, 11):
        assert lower_bound(values, 1, 5, value) == 1 + np.searchsorted(values[1:5], value)
