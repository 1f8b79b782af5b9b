"""Dot products of the vectors of each state with the embeddings of its actions, as a differentiable operation.

A dense formulation gathers [states, actions, 3d] embeddings; here they stay in their tables (see ``kernels``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fitcarl.core.device import uses_compiled_loops
from fitcarl.core.parallel import parallel_for, split_range
from fitcarl.models.fitcarl.kernels import ActionIndex, EmbeddingTables, dot_actions, dot_actions_backward
from fitcarl.models.fitcarl.torch_kernels import torch_action_scores

__all__ = ["ActionEmbeddings", "ActionIndex", "action_scores"]


@dataclass(frozen=True)
class ActionEmbeddings:
    """The tables of embeddings that actions are made of."""

    relation: Tensor
    """[2R + 2, d]; the self-loop and the dummy relation come last."""
    frozen_relations: int
    """The number of leading relations that get no gradient: 2R if they are pre-trained, 0 if they are fine-tuned."""
    entity: Tensor
    """[entities, d], pre-trained; rows of unseen entities are not read."""
    time: Tensor
    """[2 max_delta + 1, d]."""
    unseen_embeddings: Tensor
    """[unseen, d]: each unseen entity as its own support describes it, used where another query reaches it."""
    unseen_row: NDArray[np.int32]
    """int32 [entities]: the row of an entity in ``unseen_embeddings``, or -1 for a seen entity."""


def action_scores(
    history: Tensor, query: Tensor, query_entity: Tensor, embeddings: ActionEmbeddings, index: ActionIndex
) -> Tensor:
    """Dot products of five vectors per state with h_r_a ‖ h_e_a ‖ h_Δt of every action of the state.

    Gradients flow to the vectors, to the embeddings of query entities and unseen entities, to the time table and to the
    two special relations; to the pre-trained tables only if they require gradients.

    Args:
        history: [states, 2, 3d], the first two vectors.
        query: [states, 3, 3d], the other three.
        query_entity: [states, d], h_e' of the state's query.
        embeddings: The tables of embeddings.
        index: The actions of every state.

    Returns:
        [states, 5, actions]; 0 on padding.
    """
    if not uses_compiled_loops(history):
        return torch_action_scores(history, query, query_entity, embeddings, index)
    tables = embeddings.relation, embeddings.entity, embeddings.time, query_entity, embeddings.unseen_embeddings
    out: Tensor = _ActionScores.apply(  # type: ignore[no-untyped-call]
        history, query, *tables, embeddings.frozen_relations, embeddings.unseen_row, index
    )
    return out


class _ActionScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        history: Tensor,
        query: Tensor,
        relation: Tensor,
        entity: Tensor,
        time: Tensor,
        query_entity: Tensor,
        unseen: Tensor,
        frozen_relations: int,
        unseen_row: NDArray[np.int32],
        index: ActionIndex,
    ) -> Tensor:
        tables = [table.contiguous() for table in (relation, entity, time, query_entity, unseen)]
        history, query = history.contiguous(), query.contiguous()
        ctx.save_for_backward(history, query, *tables)
        ctx.frozen_relations, ctx.unseen_row, ctx.index = frozen_relations, unseen_row, index
        out = history.new_zeros(len(history), 5, index.relation.shape[1])
        arguments = history.numpy(), query.numpy(), _arrays(tables), unseen_row, index, out.numpy()
        parallel_for(split_range(len(history)), lambda _, low, high: dot_actions(low, high, *arguments))
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        history, query, *tables = ctx.saved_tensors
        relation, entity, time, query_entity, unseen = tables
        train_entities = bool(ctx.needs_input_grad[3])
        d_history, d_query = torch.empty_like(history), torch.empty_like(query)
        d_query_entity = torch.zeros_like(query_entity)
        # States share the other tables, so each thread adds to its own copy; copies are summed in a fixed order.
        lengths = (len(relation) - ctx.frozen_relations, len(entity) if train_entities else 1, len(time), len(unseen))
        ranges = split_range(len(history))
        copies = [[history.new_zeros(length, relation.shape[1]) for length in lengths] for _ in ranges]
        gradient = gradients[0].contiguous().numpy()
        vectors = history.numpy(), query.numpy()
        d_vectors = d_history.numpy(), d_query.numpy()
        arguments = gradient, *vectors, _arrays(tables), ctx.unseen_row, ctx.index, *d_vectors

        def work(part: int, low: int, high: int) -> None:
            d_relation, d_entity, d_time, d_unseen = copies[part]
            d_tables = _arrays([d_relation, d_entity, d_time, d_query_entity, d_unseen])
            dot_actions_backward(low, high, *arguments, d_tables, ctx.frozen_relations, train_entities)

        parallel_for(ranges, work)
        d_trained, d_entity, d_time, d_unseen = (torch.stack(parts).sum(0) for parts in zip(*copies, strict=True))
        d_relation = torch.cat([relation.new_zeros(ctx.frozen_relations, relation.shape[1]), d_trained])
        d_tables = d_relation, d_entity if train_entities else None, d_time, d_query_entity, d_unseen
        return (d_history, d_query, *d_tables, None, None, None)


def _arrays(tables: list[Tensor]) -> EmbeddingTables:
    return EmbeddingTables(*(table.numpy() for table in tables))
