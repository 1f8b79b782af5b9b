"""Data-parallel training over several processes, one per rank; with one process nothing is exchanged.

Every rank draws the same random numbers and the same batch, computes the loss of a contiguous part of it, and adds its
gradients to those of the others, so that all ranks make the update that one process would make.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.rendezvous import rendezvous
from torch.nn.functional import dropout
from torch.overrides import TorchFunctionMode

from fitcarl.core.distributed import training_rank
from fitcarl.core.progress import Interrupted
from fitcarl.errors import FitcarlError, InputError

_JOIN_TIMEOUT = timedelta(minutes=10)
_TIMEOUT = timedelta(days=1)
"""How long a rank waits for another that is alive; the end of a process is noticed at once."""
_REPORT_SECONDS = 5.0
"""How long rank 0 waits for the error message of a rank that it lost."""
_FILE_SECONDS = 90.0
"""How long a rank waits for a file of rank 0: network file systems cache directories for up to a minute."""
_LARGE = 1 << 18
"""Gradients with more numbers are summed in place; smaller ones are joined before they are sent."""

_groups = count()


class RankLostError(FitcarlError):
    """Another rank ended or cannot be reached."""


@dataclass(frozen=True)
class BatchShard:
    """The rows of a batch that a rank computes."""

    rows: slice
    """Contiguous; row 0 if there are more ranks than rows and none is left for this one."""
    share: float
    """The share of all rows, the weight of means over these rows; 0 if none was left."""
    total: int
    """Rows of the whole batch."""

    @property
    def low(self) -> int:
        """The first row."""
        return int(self.rows.start)


@dataclass(frozen=True)
class ProcessGroup:
    """The processes of a training. All methods but ``shard`` are called by every rank, in the same order."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0, which alone writes files, logs and reports progress."""
        return self.rank == 0

    def shard(self, total: int) -> BatchShard:
        """The part of a batch that this rank computes.

        Args:
            total: Rows of the whole batch.
        """
        if self.size == 1:
            return BatchShard(slice(0, total), 1.0, total)
        low, high = (total * rank // self.size for rank in (self.rank, self.rank + 1))
        rows = slice(low, high) if low < high else slice(0, min(1, total))
        return BatchShard(rows, (high - low) / max(1, total), total)

    def sum(self, values: Tensor) -> Tensor:
        """The sum of the values of all ranks.

        Args:
            values: A tensor of the same shape on every rank.
        """
        if self.size == 1:
            return values
        total = values.detach().clone(memory_format=torch.contiguous_format)
        _exchange(lambda: dist.all_reduce(total))
        return total

    def any(self, flag: bool) -> bool:
        """Whether the flag is set on any rank."""
        return self.maximum(float(flag)) > 0

    def maximum(self, value: float) -> float:
        """The largest value of all ranks."""
        if self.size == 1:
            return value
        largest = torch.tensor([value], dtype=torch.float64)
        _exchange(lambda: dist.all_reduce(largest, op=dist.ReduceOp.MAX))
        return float(largest)

    def decide(self, flag: bool) -> bool:
        """The flag of rank 0."""
        return self.any(flag and self.is_first)

    def gather(self, part: Tensor, shard: BatchShard) -> Tensor:
        """The columns of all ranks, [..., total].

        Args:
            part: [..., rows], a column for each row of the shard; not differentiable.
            shard: The shard of this rank.
        """
        if self.size == 1:
            return part
        whole = part.new_zeros(*part.shape[:-1], shard.total)
        if shard.share:
            whole[..., shard.rows] = part.detach()
        return self.sum(whole)

    def sum_gradients(self, parameters: Iterable[Tensor]) -> None:
        """Replaces gradients by their sums over all ranks; a parameter without one on all ranks still has none.

        Args:
            parameters: The parameters, of the same shapes and in the same order on every rank.
        """
        if self.size == 1:
            return
        trained = [parameter for parameter in parameters if parameter.requires_grad]
        used = self.sum(torch.tensor([parameter.grad is not None for parameter in trained], dtype=torch.int32))
        gradients = []
        for parameter, ranks in zip(trained, used.tolist(), strict=True):
            if ranks:
                parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.contiguous()
                gradients.append(parameter.grad)
        small: dict[tuple[torch.device, torch.dtype], list[Tensor]] = {}
        for gradient in gradients:
            if gradient.numel() >= _LARGE:
                _exchange(lambda gradient=gradient: dist.all_reduce(gradient))  # type: ignore[misc]
            else:
                small.setdefault((gradient.device, gradient.dtype), []).append(gradient)
        for parts in small.values():
            flat = self.sum(torch.cat([gradient.flatten() for gradient in parts]))
            for gradient, total in zip(parts, flat.split([part.numel() for part in parts]), strict=True):
                gradient.copy_(total.view_as(gradient))

    def copy_from_first(self, module: nn.Module) -> None:
        """Gives a module the parameters of rank 0.

        Args:
            module: The module.
        """
        if self.size > 1:
            for parameter in module.parameters():
                _exchange(lambda parameter=parameter: dist.broadcast(parameter.data, 0))  # type: ignore[misc]

    def wait(self) -> None:
        """Waits until every rank has come here."""
        self.any(False)

    def on_first(self, work: Callable[[], object], *files: Path) -> None:
        """Does something on rank 0 while the others wait.

        Args:
            work: What rank 0 does.
            files: Files that the work writes and that the other ranks read afterwards.

        Raises:
            Interrupted: On every rank, if the work raised it.
        """
        stopped: Interrupted | None = None
        if self.is_first:
            try:
                work()
            except Interrupted as interrupted:
                stopped = interrupted
        if self.any(stopped is not None):
            raise stopped or Interrupted
        for file in files:
            self._require(file)

    def require_same(self, what: str, text: str) -> None:
        """Raises an InputError on every rank unless the text is the same on all of them.

        Args:
            what: What the text describes, for the message.
            text: The text.
        """
        if self.size == 1:
            return
        digest = torch.tensor(list(hashlib.sha256(text.encode()).digest()), dtype=torch.int64)
        total, squares = self.sum(digest), self.sum(digest.square())
        if not torch.equal(total.square(), self.size * squares):
            raise InputError(f"{what} differs between the ranks", expected="the same on every machine")

    def _require(self, file: Path) -> None:
        deadline = time.monotonic() + _FILE_SECONDS
        while not self.is_first and not file.exists():
            if time.monotonic() > deadline:
                expected = "a run folder on a file system that all machines share"
                raise InputError(f"is not visible to rank {self.rank}", file=file, expected=expected)
            time.sleep(0.2)


class SharedNumbers:
    """Random numbers of a batch that are drawn once, by the first of several threads that needs them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._drawn: list[Tensor] = []

    def get(self, index: int, draw: Callable[[], Tensor]) -> Tensor:
        """The numbers with an index; every thread asks for 0, 1, 2, … in this order.

        Args:
            index: How many numbers this thread has asked for before.
            draw: Draws the numbers of the whole batch.
        """
        with self._lock:
            if index == len(self._drawn):
                self._drawn.append(draw())
            return self._drawn[index]


class ShardDropout(TorchFunctionMode):
    """Within this context, dropout of a shard draws the random numbers of the whole batch and uses its own rows.

    Numbers are drawn from a uniform distribution and compared with p, which is faster than torch's own dropout on the
    CPU.
    """

    def __init__(self, shard: BatchShard, numbers: SharedNumbers | None = None) -> None:
        """Creates the context.

        Args:
            shard: The rows that are computed.
            numbers: Shared by the threads that compute the other rows of the process.
        """
        super().__init__()
        self._shard, self._numbers, self._calls = shard, numbers or SharedNumbers(), count()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return self._dropout(*args, **kwargs) if func is dropout else func(*args, **kwargs)

    def _dropout(self, values: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:  # noqa: ARG002
        if not training or not p:
            return values
        shape = self._shard.total, *values.shape[1:]
        drawn = self._numbers.get(next(self._calls), lambda: values.new_empty(shape).uniform_())
        kept = drawn[self._shard.rows] >= p
        return values * (kept.to(values.dtype) / (1 - p))


ONE_PROCESS = ProcessGroup()
"""The group of a training in one process."""


@contextmanager
def launched_processes() -> Iterator[ProcessGroup]:
    """The group of the processes that torchrun started, connected until the end of the block; one process otherwise.

    An error on another rank is raised on rank 0, too.

    Raises:
        RankLostError: If a rank ended without an error message.
    """
    rank, size = training_rank()
    if size == 1:
        yield ONE_PROCESS
        return
    group, store = ProcessGroup(rank, size), _connect(rank, size)
    try:
        with _quiet_unless(group.is_first):
            yield group
    except RankLostError:
        if group.is_first and (report := _reported(store)):
            raise FitcarlError(report) from None
        raise
    except Exception as error:
        if not group.is_first and not isinstance(error, Interrupted):
            store.set("error", json.dumps(f"rank {rank}: {error or type(error).__name__}"))
        raise
    finally:
        dist.destroy_process_group()  # closes the connections, so that no rank waits for this one


def _connect(rank: int, size: int) -> Any:
    """Connects all ranks, by gloo for tensors in main memory and by nccl for those on a GPU; returns their store."""
    backend = "gloo"
    if torch.cuda.is_available() and dist.is_nccl_available():
        backend = "cpu:gloo,cuda:nccl"
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    try:
        store, _, _ = next(rendezvous("env://", rank, size, timeout=_JOIN_TIMEOUT))
        store = dist.PrefixStore(f"fitcarl/{next(_groups)}", store)  # type: ignore[attr-defined]
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=_TIMEOUT)
    except (RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        address = f"{os.environ.get('MASTER_ADDR')}:{os.environ.get('MASTER_PORT')}"
        raise FitcarlError(f"rank {rank} of {size} cannot reach the others through {address} ({reason})") from None
    return store


def _exchange(operation: Callable[[], object]) -> None:
    try:
        operation()
    except RuntimeError:
        raise RankLostError("another rank ended or cannot be reached; `fitcarl train --resume RUN` continues") from None


def _reported(store: Any) -> str:
    """The error message of another rank; empty if there is none."""
    deadline = time.monotonic() + _REPORT_SECONDS
    while time.monotonic() < deadline:
        try:
            if store.check(["error"]):
                return str(json.loads(store.get("error")))
        except RuntimeError:
            break
        time.sleep(0.1)
    return ""


@contextmanager
def _quiet_unless(first: bool) -> Iterator[None]:
    """Suppresses log messages on all ranks but the first."""
    logger = logging.getLogger("fitcarl")
    level = logger.level
    if not first:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
