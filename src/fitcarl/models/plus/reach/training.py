"""Training of the reach network on the background: facts become queries as if their subjects were unseen.

Some earlier facts of the subject are its support, no other fact of it is used, and nothing is read at or after the time
of the query. Answers that occur in the support are kept: how often facts repeat is learned too.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.config.schema import ReachConfig
from fitcarl.core.device import CPU, seeded_devices
from fitcarl.core.process_group import ONE_PROCESS, BatchShard, ProcessGroup
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.core.stages import stage
from fitcarl.core.tensors import tensor_of
from fitcarl.core.thread_shards import parallel_gradients, thread_shards
from fitcarl.errors import FitcarlError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.reach.network import ReachInput, ReachNetwork

_DEGREE_EXPONENT = 0.6
"""How much facts of frequent subjects are down-weighted: 0 samples facts uniformly, 1 samples subjects uniformly."""
_WEIGHT_DECAY = 1e-4
_WARM_UP = 0.1
"""The share of the updates during which the learning rate rises."""


def train_reach(
    graph: TemporalGraph,
    units_per_tick: float,
    config: ReachConfig,
    seed: int,
    shots: int,
    on_progress: OnProgress | None = None,
    device: torch.device = CPU,
    processes: ProcessGroup = ONE_PROCESS,
) -> ReachNetwork:
    """A frozen reach network for unseen entities with about ``shots`` support facts.

    Args:
        graph: The background.
        units_per_tick: Time units per tick.
        config: Settings of the network.
        seed: Seed of all random choices.
        shots: K, the number of support facts.
        on_progress: Called after every update.
        device: Where the network is trained; it is returned on the CPU.
        processes: The processes that train it together.

    Raises:
        FitcarlError: If the loss is not finite.
    """
    batches = ReachBatches(graph, config.batch_size, shots)
    updates = config.updates(len(graph.base))
    rng = np.random.default_rng([seed, len(graph.base)])
    with torch.random.fork_rng(devices=seeded_devices(device)):
        torch.manual_seed(seed)
        network = ReachNetwork(config.dim, graph.entities, graph.relations.directed).to(device)
        optimizer = torch.optim.AdamW(network.parameters(), config.learning_rate, weight_decay=_WEIGHT_DECAY)
        with stage("reach network"):
            for update in range(0 if batches.empty else updates):
                for group in optimizer.param_groups:
                    group["lr"] = config.learning_rate * _lr_factor(update, updates)
                loss = batches.differentiate(network, units_per_tick, rng, processes)
                if loss is not None:
                    if not torch.isfinite(processes.sum(loss)):
                        raise FitcarlError(
                            f"the loss of the reach network at update {update + 1} is not finite; "
                            "try a smaller reach.learning_rate"
                        )
                    processes.sum_gradients(network.parameters())
                    optimizer.step()
                if on_progress is not None:
                    on_progress(Progress("reach", update + 1, updates, "updates"))
    network.freeze(np.diff(graph.base.offsets) > 0)
    return network.to(CPU)


class ReachBatches:
    """Batches of background facts as queries, with some of the subject's earlier facts as support."""

    def __init__(self, graph: TemporalGraph, batch_size: int, shots: int) -> None:
        self._base, self._batch_size, self._shots = graph.base, batch_size, shots
        degree = np.diff(graph.base.offsets)
        self._subject = np.repeat(np.arange(graph.entities), degree)
        own = degree[self._subject].astype(np.float64)
        self._cumulative = np.cumsum(np.where(own > 1, own**-_DEGREE_EXPONENT, 0))
        self.empty = not len(own) or self._cumulative[-1] == 0

    def differentiate(
        self,
        network: ReachNetwork,
        units_per_tick: float,
        rng: np.random.Generator,
        processes: ProcessGroup = ONE_PROCESS,
    ) -> Tensor | None:
        """-log p(answer), averaged over the answers of a batch that are reached, with the gradients of the parameters.

        Of several processes, each computes the part of some rows; the sum of the parts is the loss of the batch.

        Returns:
            The loss, or the part of this process; None if no answer is reached.
        """
        inputs, answers = self.draw(rng)
        if not len(answers):
            return None
        reached: list[int] = []
        parameters = list(network.parameters())
        shards = thread_shards(processes.shard(len(answers)), parameters[0].device)

        def loss_sum(shard: BatchShard) -> Tensor:
            total, count = self.loss_sum(network, units_per_tick, inputs, answers, shard)
            reached.append(count)
            return total

        loss = parallel_gradients(shards, loss_sum, parameters)
        count = int(processes.sum(torch.tensor(sum(reached))))
        if not count:
            return None
        for parameter in parameters:
            if parameter.grad is not None:
                parameter.grad /= count
        return loss / count

    def loss_sum(
        self,
        network: ReachNetwork,
        units_per_tick: float,
        inputs: ReachInput,
        answers: NDArray[np.int64],
        shard: BatchShard,
    ) -> tuple[Tensor, int]:
        """-log p(answer), summed over the answers of a shard that are reached, and their number."""
        answer = answers[shard.rows]
        found = network(self._base.columns, inputs.take(shard.rows), units_per_tick)
        hit = np.flatnonzero(found.entity == answer[found.query]) if shard.share else np.empty(0, np.int64)
        log_probability = found.log_probability(len(answer))
        return -log_probability.index_select(0, tensor_of(hit, log_probability.device)).sum(), len(hit)

    def draw(self, rng: np.random.Generator) -> tuple[ReachInput, np.ndarray[tuple[int], np.dtype[np.int64]]]:
        """Queries with an earlier fact of their subject, and their answers."""
        base, shots = self._base, self._shots
        edge = np.searchsorted(self._cumulative, rng.random(self._batch_size) * self._cumulative[-1], side="right")
        earlier = base.count_before(self._subject[edge].astype(np.int32), base.time[edge])
        # Distinct positions: ascending ones from a range that is shorter by K - 1, shifted by 0, 1, …, K - 1.
        width = np.maximum(earlier - shots + 1, 1)[:, None]
        position = np.sort(rng.integers(0, width, (len(edge), shots)), 1) + np.arange(shots)
        subject, answer = self._subject[edge], base.target[edge].astype(np.int64)
        fact = base.offsets[subject][:, None] + position
        known = position < earlier[:, None]
        known[known] = base.target[fact[known]] != np.broadcast_to(subject[:, None], fact.shape)[known]
        valid = known.any(1) & (answer != subject)
        edge, subject, fact, known = edge[valid], subject[valid], fact[valid], known[valid]
        query, flat = np.nonzero(known)[0], fact[known]
        time = base.time[edge].astype(np.int64)
        facts = base.relation[flat], base.target[flat], base.time[flat]
        inputs = ReachInput(
            *(subject, base.relation[edge].astype(np.int64), time, time),
            *(query, *(column.astype(np.int64) for column in facts)),
        )
        return inputs, answer[valid]


def _lr_factor(update: int, updates: int) -> float:
    """The learning rate as a share of the highest: rises linearly, and falls along a cosine."""
    return min(1.0, (update + 1) / max(1.0, _WARM_UP * updates)) * (1 + math.cos(math.pi * update / updates)) / 2
