"""Dot products of walkers' vectors with the rows of their actions, as a differentiable operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.parallel import in_parallel, spread
from fitcarl.models.fitcarl.kernels import dot_actions, dot_actions_backward


@dataclass(frozen=True)
class Rows:
    """The representations an action is made of."""

    relation: Tensor
    """[2R + 2, d]; self-loop and dummy come last."""
    frozen_relations: int
    """How many of the first relations get no gradient: 2R, as pre-trained, or 0 where they are fine-tuned."""
    entity: Tensor
    """[entities, d]; rows of unseen entities are not looked at."""
    time: Tensor
    """[2 reach + 1, d]."""
    resting: Tensor
    """[unseen, d]: an unseen entity that is met on the way, as its own support describes it."""
    slot: NDArray[np.int32]
    """int32 [entities]: the row of ``resting`` that stands for an entity, or -1 for a seen one."""


@dataclass(frozen=True)
class ActionIndex:
    """Which rows each action of each walker is made of."""

    own: NDArray[np.int32]
    """int32 [walkers], the entity e' that the walker's query is about; its row is that query's h_e'."""
    relation: NDArray[np.int32]
    """int32 [walkers, actions]."""
    entity: NDArray[np.int32]
    """int32 [walkers, actions]."""
    difference: NDArray[np.int32]
    """int32 [walkers, actions], t_q - t_a + reach: rows of the time table."""
    count: NDArray[np.int64]
    """int64 [walkers], how many actions each has; what lies behind them is padding and scores 0."""


def dot_with_actions(vectors: Tensor, own_rows: Tensor, rows: Rows, index: ActionIndex) -> Tensor:
    """[walkers, 5, actions]: each of five vectors [walkers, 5, 3d] times h_r_a ‖ h_e_a ‖ h_Δt of every action.

    Gradients flow to the vectors, the walkers' own h_e' [walkers, d], the time table, the resting representations and
    the two special relations; to the pre-trained rows only where they require it.
    """
    out: Tensor = _DotWithActions.apply(  # type: ignore[no-untyped-call]
        vectors, own_rows, rows.relation, rows.entity, rows.time, rows.resting, rows.frozen_relations, rows.slot, index
    )
    return out


class _DotWithActions(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,
        own_rows: Tensor,
        relation: Tensor,
        entity: Tensor,
        time: Tensor,
        resting: Tensor,
        frozen_relations: int,
        slot: NDArray[np.int32],
        index: ActionIndex,
    ) -> Tensor:
        tables = tuple(table.contiguous() for table in (relation, entity, time, own_rows, resting))
        vectors = vectors.contiguous()
        ctx.save_for_backward(vectors, *tables)
        ctx.frozen_relations, ctx.slot, ctx.index = frozen_relations, slot, index
        out = vectors.new_zeros(*vectors.shape[:2], index.relation.shape[1])
        given = (vectors.numpy(), *(table.numpy() for table in tables), slot, *_columns(index))
        result = out.numpy()
        in_parallel(spread(len(vectors)), lambda _, low, high: dot_actions(low, high, *given, result))  # type: ignore[call-arg]
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vectors, *tables = ctx.saved_tensors
        relation, entity, time, own_rows, resting = tables
        entities_learn = bool(ctx.needs_input_grad[3])
        d_vectors, d_own = torch.zeros_like(vectors), torch.zeros_like(own_rows)
        # Walkers share these tables, so each thread adds to its own and they are summed in a fixed order.
        lengths = (len(relation) - ctx.frozen_relations, len(entity) if entities_learn else 1, len(time), len(resting))
        ranges = spread(len(vectors))
        shared = [[vectors.new_zeros(length, relation.shape[1]) for length in lengths] for _ in ranges]
        given = (
            gradients[0].contiguous().numpy(),
            vectors.numpy(),
            *(table.numpy() for table in tables),
            ctx.slot,
            *_columns(ctx.index),
        )

        def work(part: int, low: int, high: int) -> None:
            d_relation, d_entity, d_time, d_resting = (table.numpy() for table in shared[part])
            out = (d_vectors.numpy(), d_relation, d_entity, d_time, d_own.numpy(), d_resting)
            dot_actions_backward(low, high, *given, *out, ctx.frozen_relations, entities_learn)  # type: ignore[call-arg]

        in_parallel(ranges, work)
        d_learned, d_entity, d_time, d_resting = (torch.stack(parts).sum(0) for parts in zip(*shared, strict=True))
        d_relation = torch.cat([relation.new_zeros(ctx.frozen_relations, relation.shape[1]), d_learned])
        d_rows = (d_relation, d_entity if entities_learn else None, d_time, d_resting)
        return (d_vectors, d_own, *d_rows, None, None, None)


def _columns(index: ActionIndex) -> tuple[NDArray[Any], ...]:
    return index.own, index.relation, index.entity, index.difference, index.count
