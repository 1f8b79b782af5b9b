"""On which threads batches are computed."""

from __future__ import annotations

import threading

import pytest
import torch

from fitcarl.models.plus.threads import map_batches


@pytest.mark.parametrize(("device", "own"), [("cpu", False), ("cuda", True)])
def test_batches_are_computed_by_the_calling_thread_on_a_gpu_alone(
    device: str, own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FITCARL_THREADS", "2")
    found = list(map_batches(range(4), lambda item: (item, threading.current_thread()), torch.device(device)))
    assert [item for item, _ in found] == [0, 1, 2, 3]
    assert {thread is threading.current_thread() for _, thread in found} == {own}
