"""The compiled loops of FITCARL as PyTorch operations, for tensors that are not on the CPU.

Results and gradients are those of ``kernels`` up to rounding. States are processed in chunks whose gathered embeddings
are computed again in the backward pass, so that memory does not grow with the number of states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from fitcarl.core.tensors import tensor_of
from fitcarl.models.fitcarl.kernels import ActionIndex

if TYPE_CHECKING:
    from fitcarl.models.fitcarl.action_scores import ActionEmbeddings

_NUMBERS = 1 << 25
"""Numbers of gathered embeddings per chunk, 4 bytes each."""


def torch_action_scores(
    history: Tensor, query: Tensor, query_entity: Tensor, embeddings: ActionEmbeddings, index: ActionIndex
) -> Tensor:
    """``action_scores`` as PyTorch operations, on the device of its tensors.

    Args:
        history: [states, 2, 3d].
        query: [states, 3, 3d].
        query_entity: [states, d].
        embeddings: The tables of embeddings.
        index: The actions of every state.
    """
    device, actions = history.device, index.relation.shape[1]
    unseen_row = embeddings.unseen_row[index.entity]
    is_query_entity = (unseen_row >= 0) & (index.entity == index.query_entity[:, None])
    padding = np.arange(actions) >= index.action_count[:, None]
    arrays = index.relation, index.entity, index.difference, unseen_row, is_query_entity, padding
    frozen = embeddings.frozen_relations
    relation = torch.cat([embeddings.relation[:frozen].detach(), embeddings.relation[frozen:]])
    tables = relation, embeddings.entity, embeddings.time, embeddings.unseen_embeddings
    chunk = max(1, _NUMBERS // max(1, actions * history.shape[2]))
    parts = []
    for low in range(0, len(history), chunk):
        part = slice(low, low + chunk)
        rows = [tensor_of(array[part], device) for array in arrays]
        vectors = torch.cat([history[part], query[part]], 1)
        parts.append(
            checkpoint(
                _chunk_scores,
                vectors,
                query_entity[part],
                *tables,
                *rows,
                use_reentrant=False,
                preserve_rng_state=False,
            )
        )
    return torch.cat(parts) if parts else history.new_zeros(0, 5, actions)


def _chunk_scores(
    vectors: Tensor,
    query_entity: Tensor,
    relation_rows: Tensor,
    entity_rows: Tensor,
    time_rows: Tensor,
    unseen_rows: Tensor,
    relation: Tensor,
    entity: Tensor,
    difference: Tensor,
    unseen_row: Tensor,
    is_query_entity: Tensor,
    padding: Tensor,
) -> Tensor:
    """[states, 5, actions] of one chunk; ``vectors`` is [states, 5, 3d], the last six are [states, actions]."""
    h_e = _gather(entity_rows, entity)
    if len(unseen_rows):
        h_e = torch.where((unseen_row >= 0).unsqueeze(-1), _gather(unseen_rows, unseen_row.clamp_min(0)), h_e)
    h_e = torch.where(is_query_entity.unsqueeze(-1), query_entity.unsqueeze(1), h_e)
    embedded = torch.cat([_gather(relation_rows, relation), h_e, _gather(time_rows, difference)], -1)
    return (vectors @ embedded.mT).masked_fill(padding.unsqueeze(1), 0)


def _gather(rows: Tensor, index: Tensor) -> Tensor:
    """[states, actions, d]."""
    return rows.index_select(0, index.flatten()).view(*index.shape, rows.shape[1])
