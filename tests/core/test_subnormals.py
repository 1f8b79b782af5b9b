from __future__ import annotations

import numpy as np
import pytest
import torch

from fitcarl.core.parallel import computed_ahead, parallel_for, parallel_map
from fitcarl.core.subnormals import as_in_this_thread, subnormals, subnormals_are_zero

TINY = 2.0**-130  # subnormal in float32

pytestmark = pytest.mark.skipif(
    not torch.set_flush_denormal(True) or torch.set_flush_denormal(False) is None,
    reason="the processor cannot take subnormal numbers as 0",
)


def product() -> float:
    """A subnormal product of two normal numbers, computed by PyTorch."""
    return float((torch.tensor([2.0**-100]) * torch.tensor([2.0**-30])).item())


def test_subnormal_products_are_zero_within_the_block_only() -> None:
    assert product() == TINY
    with subnormals(as_zero=True):
        assert product() == 0
        with subnormals(as_zero=False):
            assert product() == TINY
        assert product() == 0
    assert product() == TINY


def test_normal_numbers_are_the_same_within_the_block() -> None:
    rows = torch.from_numpy(np.random.default_rng(0).normal(size=(300, 40)).astype(np.float32))
    outside = rows.T @ rows
    with subnormals(as_zero=True):
        assert torch.equal(rows.T @ rows, outside)


def test_an_error_ends_the_block() -> None:
    with pytest.raises(ValueError, match="in between"), subnormals(as_zero=True):
        raise ValueError("in between")
    assert not subnormals_are_zero()


def test_openmp_threads_do_as_their_caller() -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    rows = torch.full((1_000_000,), 2.0**-100)

    def kept() -> int:
        """Subnormal products of one operation that several threads compute."""
        return int(torch.count_nonzero(rows * 2.0**-30))

    bound = as_in_this_thread(kept, openmp=True)
    try:
        assert kept() == len(rows)
        with subnormals(as_zero=True):
            assert kept() == 0
            with subnormals(as_zero=False):
                assert kept() == len(rows)
            assert kept() == 0
            assert bound() == len(rows)
            assert kept() == 0
        assert kept() == len(rows)
    finally:
        torch.set_num_threads(before)


def test_a_bound_function_does_as_where_it_was_bound() -> None:
    bound = as_in_this_thread(subnormals_are_zero)
    with subnormals(as_zero=True):
        assert not bound()
        assert subnormals_are_zero()


def test_threads_do_as_their_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_THREADS", "2")
    ranges = [(0, 1), (1, 2)]

    def treated() -> list[bool]:
        found: list[bool] = []
        parallel_for(ranges, lambda *_: found.append(subnormals_are_zero()))
        found += parallel_map(range(2), lambda _: subnormals_are_zero())
        return found + list(computed_ahead(subnormals_are_zero() for _ in range(2)))

    assert treated() == [False] * 6
    with subnormals(as_zero=True):
        assert treated() == [True] * 6
    assert treated() == [False] * 6
