"""Shards of a batch, and exchanges between real processes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
import torch

from fitcarl.core.distributed import launched_rank, local_processes, training_rank
from fitcarl.core.parallel import thread_count
from fitcarl.core.process_group import ONE_PROCESS, ProcessGroup, ShardDropout, launched_processes
from fitcarl.errors import FitcarlError
from tests.launch import torchrun


@pytest.mark.parametrize("total", [0, 1, 2, 7, 512])
@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_shards_cover_a_batch_once(total: int, size: int) -> None:
    shards = [ProcessGroup(rank, size).shard(total) for rank in range(size)]
    rows = [row for shard in shards if shard.share for row in range(total)[shard.rows]]
    assert rows == list(range(total))
    assert all(len(range(total)[shard.rows]) == 1 for shard in shards if total and not shard.share)
    if total:
        assert sum(shard.share for shard in shards) == pytest.approx(1)


def test_one_process_exchanges_nothing() -> None:
    with launched_processes() as group:
        assert group is ONE_PROCESS
        assert not torch.distributed.is_initialized()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, (0, 1)),
        ({"RANK": "2", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost"}, (2, 4)),
        ({"RANK": "4", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost"}, (0, 1)),
        ({"RANK": "x", "WORLD_SIZE": "4", "MASTER_ADDR": "localhost"}, (0, 1)),
    ],
)
def test_rank_is_read_from_the_environment(
    variables: dict[str, str], expected: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert launched_rank() == training_rank() == expected


def test_processes_without_a_meeting_point_do_not_train_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    for name, value in {"RANK": "1", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    assert launched_rank() == (1, 2)
    assert training_rank() == (0, 1)


def test_local_processes_divide_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fitcarl.core.parallel.usable_cores", lambda: 8)
    monkeypatch.delenv("FITCARL_THREADS", raising=False)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "3")
    assert (local_processes(), thread_count()) == (1, 8)  # not started by a launcher
    for name, value in {"RANK": "0", "WORLD_SIZE": "6", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    assert (local_processes(), thread_count()) == (3, 2)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "20")
    assert thread_count() == 1
    monkeypatch.setenv("FITCARL_THREADS", "5")
    assert thread_count() == 5


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("ranks")
    done = torchrun(3, "-m", "tests.core.exchanges", folder)
    assert done.returncode == 0, done.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(3)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gathered", [[5.0, 6.0], [7.0, 8.0]]),
        ("any", [True, False]),
        ("decided", [True, False]),
        ("maximum", -1.0),
        ("gradients", [[6.0], [1.0], None, None, [6.0]]),
        ("read", "by rank 0"),
        ("stopped", True),
        ("different", "the text differs between the ranks; expected the same on every machine"),
    ],
)
def test_every_rank_gets_the_same(results: list[dict[str, Any]], name: str, expected: object) -> None:
    assert [result[name] for result in results] == [expected] * 3


def test_parameters_are_those_of_rank_0(results: list[dict[str, Any]]) -> None:
    assert len({result["copied"] for result in results}) == 1


def test_dropout_of_shards_is_that_of_the_batch(results: list[dict[str, Any]]) -> None:
    torch.manual_seed(3)
    with ShardDropout(ONE_PROCESS.shard(9)):
        expected = torch.nn.functional.dropout(torch.ones(9, 4), 0.5)
    assert [result["dropped"] for result in results] == [expected.tolist()] * 3
    assert set(expected.flatten().tolist()) == {0.0, 2.0}


@pytest.mark.parametrize("p", [0.2, 0.7])
def test_dropout_keeps_the_expected_value(p: float) -> None:
    torch.manual_seed(0)
    with ShardDropout(ONE_PROCESS.shard(1000)):
        dropped = torch.nn.functional.dropout(torch.ones(1000, 200), p)
    assert (dropped == 0).float().mean().item() == pytest.approx(p, abs=0.005)
    assert dropped.mean().item() == pytest.approx(1, abs=0.02)


def test_error_on_another_rank_is_raised_on_rank_0(results: list[dict[str, Any]]) -> None:
    assert results[0]["error"] == "rank 1: there: cannot be read"
    assert results[1]["error"] == "there: cannot be read"
    assert results[2]["error"].startswith("another rank ended or cannot be reached")


def test_unreachable_ranks_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("fitcarl.core.process_group._JOIN_TIMEOUT", timedelta(seconds=1))
    with (
        pytest.raises(FitcarlError, match=r"rank 1 of 2 cannot reach the others through 127\.0\.0\.1:1"),
        launched_processes(),
    ):
        pass
