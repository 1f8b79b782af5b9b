"""Compression of arrays: exact, compact for repeated values, and bounded for damaged content."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fitcarl.core.compression import compress, decompress


@given(
    arrays.arrays(
        st.sampled_from(["<f4", "<f8", "<i4", "<i8"]), arrays.array_shapes(min_dims=1, max_dims=3, min_side=0)
    )
)
def test_round_trip_is_exact(array: np.ndarray) -> None:
    found = decompress(compress(array), array.dtype.str, array.shape)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)
    assert found.tobytes() == array.tobytes()


def test_transposed_array_is_restored() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4).T
    assert np.array_equal(decompress(compress(array), "<f4", (4, 3)), array)


def test_repeated_values_take_little_space() -> None:
    table = np.repeat(np.linspace(-9, 0, 50, dtype=np.float32), 2_000)
    assert len(compress(table)) < table.nbytes / 50


def test_content_of_another_size_is_rejected() -> None:
    content = compress(np.zeros(1000, dtype=np.float32))
    for shape in ((999,), (1001,), (10, 10)):
        with pytest.raises(ValueError, match="another size"):
            decompress(content, "<f4", shape)


def test_damaged_content_is_rejected() -> None:
    with pytest.raises(ValueError, match="cannot be decompressed"):
        decompress(np.frombuffer(b"nothing of the kind", dtype=np.uint8), "<f4", (4,))


def test_oversized_content_is_not_expanded() -> None:
    """A gigabyte of zeros in a megabyte is refused at the size of the expected array."""
    bomb = np.frombuffer(zlib.compress(bytes(64_000_000), 9), dtype=np.uint8)
    with pytest.raises(ValueError, match="another size"):
        decompress(bomb, "<f4", (10,))
