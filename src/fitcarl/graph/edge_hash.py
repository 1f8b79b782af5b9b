"""Hashes of edges with a random key: two lists have the same edges if the sums of their hashes are equal.

The key is random in every process, so no file can be made to fit by design.
"""

from __future__ import annotations

import secrets
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.arrays import read_only
from fitcarl.core.compiled import array_function

Key = NDArray[np.uint64]


@cache
def random_key() -> Key:
    """Random odd numbers, so that a difference in one column always changes the hash of a row."""
    return read_only(np.array([secrets.randbits(64) | 1 for _ in range(4)], dtype=np.uint64))


@array_function(inline="always")
def edge_hash(a: int, b: int, c: int, d: int, key: Key) -> np.uint64:
    """The hash of a row of four integers."""
    found = np.uint64(a) * key[0] + np.uint64(b) * key[1] + np.uint64(c) * key[2] + np.uint64(d) * key[3]
    found ^= found >> np.uint64(32)
    found *= np.uint64(0xD6E8FEB86659FD93)
    found ^= found >> np.uint64(29)
    found *= np.uint64(0x9E3779B97F4A7C15)
    return found ^ (found >> np.uint64(32))
