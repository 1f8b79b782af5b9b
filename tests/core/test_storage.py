"""Tensor files: the format is that of safetensors, byte for byte."""

from __future__ import annotations

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save

from fitcarl.core.files import WriteError
from fitcarl.core.storage import read_tensors, write_tensors

_TYPES = (torch.int64, torch.float64, torch.float32, torch.int32, torch.uint8, torch.bool)
_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
_shapes = st.lists(st.integers(0, 4), max_size=3)
_tensors = st.dictionaries(_names, st.tuples(st.sampled_from(_TYPES), _shapes, st.integers(0, 255)), max_size=6)


@given(described=_tensors, about=st.dictionaries(_names, st.integers() | _names, max_size=2))
def test_file_is_the_one_that_safetensors_writes(
    described: dict[str, tuple[torch.dtype, list[int], int]], about: dict[str, int | str]
) -> None:
    tensors = {name: torch.full(shape, value).to(kind) for name, (kind, shape, value) in described.items()}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "x.safetensors"
        write_tensors(file, tensors, about)
        content = file.read_bytes()
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        assert content == save(tensors, header["__metadata__"])
        found, beside = read_tensors(file)
    assert beside == about
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensors[name]) for name in tensors)


def test_views_are_written_in_their_own_order(tmp_path: Path) -> None:
    table = torch.arange(12).reshape(3, 4)
    write_tensors(tmp_path / "x", {"turned": table.T, "part": table[1:, ::2]})
    found = load_file(tmp_path / "x")
    assert torch.equal(found["turned"], table.T)
    assert torch.equal(found["part"], table[1:, ::2])


def test_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(WriteError):
        write_tensors(tmp_path / "missing" / "x", {"a": torch.zeros(3)})
    assert os.listdir(tmp_path) == []
