"""Lossless compression of arrays, for tables of floats with many equal entries."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LEVEL = 1
"""Higher levels take longer and save little on grouped bytes."""


def compress(array: NDArray[Any]) -> NDArray[np.uint8]:
    """The bytes of an array, first bytes of all items first: similar floats differ in their last bytes only."""
    items = np.ascontiguousarray(array).reshape(-1)
    grouped = items.view(np.uint8).reshape(len(items), items.itemsize).T
    return np.frombuffer(zlib.compress(np.ascontiguousarray(grouped).tobytes(), _LEVEL), dtype=np.uint8)


def decompress(content: NDArray[np.uint8], dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """The inverse of ``compress``.

    Never allocates more than the given shape needs, whatever the content is.

    Raises:
        ValueError: If the content is not that of an array with this type and shape.
    """
    kind = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    engine = zlib.decompressobj()
    try:
        grouped = engine.decompress(content.tobytes(), count * kind.itemsize + 1)
    except zlib.error as error:
        raise ValueError(f"cannot be decompressed ({error})") from None
    if len(grouped) != count * kind.itemsize:
        raise ValueError(f"has another size than {kind} {shape}")
    table = np.frombuffer(grouped, dtype=np.uint8).reshape(kind.itemsize, count)
    return np.ascontiguousarray(table.T).reshape(-1).view(kind).reshape(shape)
