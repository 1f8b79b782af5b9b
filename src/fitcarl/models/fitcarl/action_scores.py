"""Dot products of state' vectors with the rows of their actions, as a differentiable operation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.models.fitcarl.kernels import dot_actions, dot_actions_backward


@dataclass(frozen=True)
class ActionEmbeddings:
    """The representations an action is made of."""

    relation: Tensor
    """[2R + 2, d]; self-loop and dummy come last."""
    frozen_relations: int
    """How many of the first relations get no gradient: 2R, as pre-trained, or 0 where they are fine-tuned."""
    entity: Tensor
    """[entities, d]; rows of unseen entities are not looked at."""
    time: Tensor
    """[2 max_delta + 1, d]."""
    unseen_embeddings: Tensor
    """[unseen, d]: an unseen entity that is met on the way, as its own support describes it."""
    unseen_row: NDArray[np.int32]
    """int32 [entities]: the row of ``unseen_embeddings`` that stands for an entity, or -1 for a seen one."""


@dataclass(frozen=True)
class ActionIndex:
    """Which rows each action of each walker is made of."""

    query_entity: NDArray[np.int32]
    """int32 [states], the entity e' that the walker's query is about; its row is that query's h_e'."""
    relation: NDArray[np.int32]
    """int32 [states, actions]."""
    entity: NDArray[np.int32]
    """int32 [states, actions]."""
    difference: NDArray[np.int32]
    """int32 [states, actions], t_q - t_a + max_delta: rows of the time table."""
    count: NDArray[np.int64]
    """int64 [states], how many actions each has; what lies behind them is padding and scores 0."""


def action_scores(vectors: Tensor, query_embedding: Tensor, rows: ActionEmbeddings, index: ActionIndex) -> Tensor:
    """[states, 5, actions]: each of five vectors [states, 5, 3d] times h_r_a ‖ h_e_a ‖ h_Δt of every action.

    Gradients flow to the vectors, to h_e' of the query entity [states, d], to the time table, to the embeddings of
    unseen entities and to the two special relations; to the pre-trained tables only if they require gradients.
    """
    out: Tensor = _ActionScores.apply(  # type: ignore[no-untyped-call]
        vectors,
        query_embedding,
        rows.relation,
        rows.entity,
        rows.time,
        rows.unseen_embeddings,
        rows.frozen_relations,
        rows.unseen_row,
        index,
    )
    return out


class _ActionScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        vectors: Tensor,
        query_embedding: Tensor,
        relation: Tensor,
        entity: Tensor,
        time: Tensor,
        unseen_embeddings: Tensor,
        frozen_relations: int,
        unseen_row: NDArray[np.int32],
        index: ActionIndex,
    ) -> Tensor:
        tables = tuple(table.contiguous() for table in (relation, entity, time, query_embedding, unseen_embeddings))
        vectors = vectors.contiguous()
        ctx.save_for_backward(vectors, *tables)
        ctx.frozen_relations, ctx.unseen_row, ctx.index = frozen_relations, unseen_row, index
        out = vectors.new_zeros(*vectors.shape[:2], index.relation.shape[1])
        given = (vectors.numpy(), *(table.numpy() for table in tables), unseen_row, *_columns(index))
        result = out.numpy()
        parallel_for(split_range(len(vectors)), lambda _, low, high: dot_actions(low, high, *given, result))  # type: ignore[call-arg]
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        vectors, *tables = ctx.saved_tensors
        relation, entity, time, query_embedding, unseen_embeddings = tables
        entities_learn = bool(ctx.needs_input_grad[3])
        d_vectors, d_query = torch.zeros_like(vectors), torch.zeros_like(query_embedding)
        # States share these tables, so each thread adds to its own and they are summed in a fixed order.
        lengths = (
            len(relation) - ctx.frozen_relations,
            len(entity) if entities_learn else 1,
            len(time),
            len(unseen_embeddings),
        )
        ranges = split_range(len(vectors))
        shared = [[vectors.new_zeros(length, relation.shape[1]) for length in lengths] for _ in ranges]
        given = (
            gradients[0].contiguous().numpy(),
            vectors.numpy(),
            *(table.numpy() for table in tables),
            ctx.unseen_row,
            *_columns(ctx.index),
        )

        def work(part: int, low: int, high: int) -> None:
            d_relation, d_entity, d_time, d_unseen = (table.numpy() for table in shared[part])
            out = (d_vectors.numpy(), d_relation, d_entity, d_time, d_query.numpy(), d_unseen)
            dot_actions_backward(low, high, *given, *out, ctx.frozen_relations, entities_learn)  # type: ignore[call-arg]

        parallel_for(ranges, work)
        d_learned, d_entity, d_time, d_unseen = (torch.stack(parts).sum(0) for parts in zip(*shared, strict=True))
        d_relation = torch.cat([relation.new_zeros(ctx.frozen_relations, relation.shape[1]), d_learned])
        d_rows = (d_relation, d_entity if entities_learn else None, d_time, d_unseen)
        return (d_vectors, d_query, *d_rows, None, None, None)


def _columns(index: ActionIndex) -> tuple[NDArray[Any], ...]:
    return index.query_entity, index.relation, index.entity, index.difference, index.count
