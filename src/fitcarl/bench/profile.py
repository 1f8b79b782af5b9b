"""A profile of one training episode, with the throughput of the machine for comparison."""

from __future__ import annotations

import re
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from fitcarl.bench.episode import setting
from fitcarl.bench.timing import best_of
from fitcarl.models.base import GraphContext
from fitcarl.models.fitcarl.episode import run_episode
from fitcarl.models.fitcarl.trainable import concept_prior
from fitcarl.tasks.task import sampled_task

_PARTS = (
    ("matrix products", r"aten::(mm|addmm|bmm)"),
    ("dot products with actions, forward", r"_ActionScores"),
    ("dot products with actions, backward", r"_ActionScoresBackward"),
    ("gates, norms and softmaxes", r"aten::(sigmoid|tanh|exp|lerp)|.*(softmax|layer_norm).*"),
    ("moving and adding rows", r"aten::(cat|copy_|add|add_|fill_|sum|mul|sub)|.*(index|scatter|gather).*"),
)
"""Groups of operators, as regular expressions of their names."""


@dataclass(frozen=True)
class Part:
    name: str
    seconds: float
    share: float


@dataclass(frozen=True)
class Profile:
    """One episode after warm-up."""

    parts: list[Part]
    """Wall-clock seconds of the operators of the main thread by group; the remainder comes last."""
    seconds: float
    product_gflop: float
    """Floating-point operations of the matrix products, forward and backward."""
    product_gflop_per_second: float
    """Throughput of these products."""
    machine_gflop_per_second: float
    """Throughput of a large matrix product on this machine, in the same run."""
    machine_gb_per_second: float
    """Throughput of copying a large array."""
    queries: int


def profile_episode(data: str, shots: int) -> Profile:
    """Profiles one episode of preset ``paper`` and measures the throughput of the machine."""
    dataset, config, model, background = setting(data, shots)
    prior, max_delta = concept_prior(GraphContext.from_dataset(dataset)), dataset.calendar.span - 1
    relations = dataset.vocabulary.relation_ids
    task = sampled_task(dataset.train, shots, relations, np.random.default_rng(0), config.queries_per_entity)

    def episode() -> None:
        model.zero_grad(set_to_none=True)
        run_episode(model, background, task, config, prior, max_delta, 0).loss.backward()

    episode()
    episode()
    with FlopCounterMode(display=False) as counter:
        episode()
    began = perf_counter()
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        episode()
    seconds = perf_counter() - began
    spent = {event.key: event.self_cpu_time_total / 1e6 for event in profiler.key_averages()}
    parts = _grouped(spent, seconds)
    gflop = counter.get_total_flops() / 1e9
    return Profile(
        parts,
        seconds,
        gflop,
        gflop / parts[0].seconds,
        _machine_gflop_per_second(),
        _machine_gb_per_second(),
        len(task.queries),
    )


def _grouped(spent: dict[str, float], seconds: float) -> list[Part]:
    parts = []
    for name, pattern in _PARTS:
        total = sum(time for key, time in spent.items() if re.fullmatch(pattern, key))
        parts.append(Part(name, total, total / seconds))
    rest = seconds - sum(part.seconds for part in parts)
    return [*parts, Part("other: action spaces, rewards, Python, other operators", rest, rest / seconds)]


def _machine_gflop_per_second() -> float:
    one, other = torch.randn(2048, 2048), torch.randn(2048, 2048)
    return 2 * 2048**3 / best_of(5, lambda: one @ other) / 1e9


def _machine_gb_per_second() -> float:
    one, other = torch.zeros(1 << 26), torch.zeros(1 << 26)
    return 2 * one.numel() * 4 / best_of(5, lambda: other.copy_(one)) / 1e9
