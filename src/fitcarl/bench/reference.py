"""Reference implementation of an episode and of beam search, written directly from the paper's equations.

Every map is applied to every (query, action) pair: no map is folded, no product is shared between queries, and action
spaces are padded to their full size. Apart from the selection of edges everything is a few large tensor operations.

This is a deliberate second implementation, against which ``fitcarl.models.fitcarl`` is timed and tested
(tests/models/fitcarl/paper/test_reference_episode.py): it therefore builds padded support facts and action spaces by
itself instead of sharing ``models.support`` and ``graph.actions``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from fitcarl.config.schema import FitcarlConfig
from fitcarl.core.tensors import long_tensor
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Ids
from fitcarl.graph.actions import Adaptive
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import EpisodeResult
from fitcarl.models.fitcarl.entity_encoder import AttentionLayer
from fitcarl.models.fitcarl.network import Fitcarl
from fitcarl.models.fitcarl.rewards import reward
from fitcarl.models.fitcarl.rollout import ConceptPrior
from fitcarl.models.sampling import sample_actions
from fitcarl.tasks.task import Queries, Task


def reference_episode(
    model: Fitcarl,
    background: TemporalGraph,
    task: Task,
    config: FitcarlConfig,
    concept_prior: ConceptPrior | None,
    max_delta: int,
    seed: int,
) -> EpisodeResult:
    """The loss of a task (Eq. 12) with time-adaptive sampling; takes the arguments of ``run_episode``."""
    if model.config.sampling != "adaptive" or not model.config.temporal:
        raise ValueError("the reference implementation only supports time-adaptive sampling")
    search = _Search.begin(model, background, task, max_delta)
    generator = torch.Generator().manual_seed(seed)
    every = torch.arange(len(task.queries))
    total, gain = torch.zeros((), dtype=torch.float64), torch.zeros(())
    for hop in range(model.config.hops):
        log_policy, mask = search.policy()
        action = sample_actions(log_policy.detach(), generator)
        search.advance(action)
        with torch.no_grad():
            gain = reward(search.embed(task.queries.answer), search.embed(search.entity), config.training.reward_margin)
        loss = -log_policy[every, action] * gain
        if concept_prior is not None:
            loss = loss + config.training.kl_weight * search.divergence(log_policy, mask, concept_prior)
        total = total + config.training.gamma**hop * loss.mean()
    hit_rate = (search.entity == task.queries.answer).mean()
    return EpisodeResult(total, {"reward": float(gain.mean()), "hit_rate": float(hit_rate)})


@torch.no_grad()
def reference_paths(
    model: Fitcarl, background: TemporalGraph, task: Task, max_delta: int, beam: int, chunk: int = 16
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """Last entities and scores of the best paths of a task's queries, [queries, paths] each; adaptive sampling only.

    The same beam search as ``fitcarl.models.fitcarl.beam``, with the policy computed for every pair.
    """
    for low in range(0, len(task.queries), chunk):
        part = Task(task.support, task.queries.take(slice(low, low + chunk)))
        count = len(part.queries)
        search = _Search.begin(model, background, part, max_delta)
        score = torch.zeros(count, 1, dtype=torch.float64)
        for _ in range(model.config.hops):
            log_policy, _mask = search.policy()
            width = log_policy.shape[1]
            total = (score.flatten().unsqueeze(1) + log_policy).view(count, -1)
            kept = score.shape[1]
            score, position = total.topk(min(beam, total.shape[1]), dim=1)
            search = search.take((position // width + torch.arange(count).unsqueeze(1) * kept).flatten())
            search.advance((position % width).flatten())
        yield search.entity.reshape(count, -1), score.numpy()


def reference_actions(
    graph: TemporalGraph, sampling: Adaptive, entity: Ids, current_time: Ids, query_time: Ids, size: int
) -> tuple[Ids, Ids, Ids, NDArray[np.bool_]]:
    """Relations, entities, times and mask, each [states, size + 1]: the self-loop, the best edges, then padding."""
    shape = (len(entity), size + 1)
    relation = np.full(shape, graph.relations.self_loop, dtype=np.int32)
    target = np.repeat(entity[:, None], size + 1, axis=1)
    time = np.repeat(current_time[:, None], size + 1, axis=1)
    mask = np.zeros(shape, dtype=bool)
    mask[:, 0] = True
    for row, node in enumerate(entity.tolist()):
        parts = [(layer, layer.offsets[node], layer.offsets[node + 1]) for layer in (graph.base, graph.overlay)]
        times = np.concatenate([layer.time[low:high] for layer, low, high in parts])
        # The position is part of the key, so that ties keep the first edge.
        rank = sampling.rank[query_time[row] - times + sampling.max_delta].astype(np.int64)
        key = (rank << 32) | np.arange(len(times))
        best = np.sort(np.partition(key, size - 1)[:size] if len(key) > size else key) & 0xFFFFFFFF
        taken = slice(1, len(best) + 1)
        time[row, taken] = times[best]
        relation[row, taken] = np.concatenate([layer.relation[low:high] for layer, low, high in parts])[best]
        target[row, taken] = np.concatenate([layer.target[low:high] for layer, low, high in parts])[best]
        mask[row, taken] = True
    return relation, target, time, mask


@dataclass
class _Search:
    """The state of the search of every query."""

    model: Fitcarl
    graph: TemporalGraph
    sampling: Adaptive
    queries: Queries
    entity_embedding: Tensor
    """h_e' at t_q, [queries, d]."""
    unseen_embeddings: Tensor
    """[unseen, d]."""
    unseen_row: NDArray[np.int32]
    """int32 [entities]: the row of an entity in ``unseen_embeddings``, or -1."""
    entity: Ids
    time: Ids
    history: Tensor
    space: tuple[Ids, Ids, Ids, NDArray[np.bool_]]

    @classmethod
    def begin(cls, model: Fitcarl, background: TemporalGraph, task: Task, max_delta: int) -> _Search:
        queries, support = task.queries, task.support
        unseen_row = np.full(background.entities, -1, dtype=np.int32)
        unseen_row[support.entities] = np.arange(len(support.entities), dtype=np.int32)
        last = np.array([support.facts.time[low:high].max() for low, high in _segments(support)], dtype=np.int32)
        unseen_embeddings = encode_entities(model, support, np.arange(len(last), dtype=np.int32), last)
        entity_embedding = encode_entities(model, support, unseen_row[queries.entity], queries.time)
        score = model.time(torch.arange(-max_delta, max_delta + 1)).detach() @ model.policy.w_delta.detach()
        h_0 = model.time(torch.zeros(len(queries), dtype=torch.int64))
        dummy = model.special_relations[1].expand(len(queries), -1)
        history = model.history.cell(torch.cat([dummy, entity_embedding, h_0], 1))
        sampling = Adaptive.by_score(score.double().numpy())
        no_actions = (queries.entity[:, None],) * 3 + (np.ones((len(queries), 1), dtype=bool),)
        graph = background.with_facts(support.facts)
        encoded = entity_embedding, unseen_embeddings, unseen_row
        return cls(model, graph, sampling, queries, *encoded, queries.entity, queries.time, history, no_actions)

    def take(self, rows: Tensor) -> _Search:
        """The given states, in this order; a state may be taken more than once."""
        chosen = rows.numpy()
        relation, entity, time, exists = (column[chosen] for column in self.space)
        return replace(
            self,
            queries=self.queries.take(chosen),
            entity_embedding=self.entity_embedding[rows],
            entity=self.entity[chosen],
            time=self.time[chosen],
            history=self.history[rows],
            space=(relation, entity, time, exists),
        )

    def embed(self, entity: Ids) -> Tensor:
        """h_e of entities [queries, ...]: pre-trained, encoded from the support, or h_e' of the query entity."""
        rows = functional.embedding(long_tensor(entity), self.model.entity_rows)
        row = long_tensor(self.unseen_row[entity])
        unseen = (row >= 0).unsqueeze(-1)
        rows = torch.where(unseen, functional.embedding(row.clamp(min=0), self.unseen_embeddings), rows)
        shape = (len(entity), *(1 for _ in entity.shape[1:]))
        is_query_entity = torch.from_numpy(entity == self.queries.entity.reshape(shape)).unsqueeze(-1)
        return torch.where(is_query_entity, self.entity_embedding.view(*shape, -1), rows)

    def policy(self) -> tuple[Tensor, Tensor]:
        """log π, [queries, n + 1], and its mask, by Eq. 4 to 9 for every (query, action) pair."""
        model, weights = self.model, self.model.policy
        query_time = self.queries.time[:, None]
        self.space = reference_actions(
            self.graph, self.sampling, self.entity, self.time, self.queries.time, model.config.action_space
        )
        relation, entity, time, exists = self.space
        mask = torch.from_numpy(exists)

        node = torch.cat([self.embed(entity), model.time(long_tensor(query_time - time))], -1)
        h_a = torch.cat([self._relation(relation), node], -1) @ weights.w3.T
        start = torch.cat(
            [self.entity_embedding, model.time(torch.zeros(len(self.entity_embedding), dtype=torch.int64))], 1
        )
        h_r = functional.embedding(long_tensor(self.queries.relation), model.relation_rows)
        h_hist = (self.history @ weights.w1.T).unsqueeze(1)
        h_q = (torch.cat([h_r, start], 1) @ weights.w2.T).unsqueeze(1)
        to_history = (h_a * h_hist).sum(-1) + model.time(long_tensor(time - self.time[:, None])) @ weights.w_delta
        to_query = (h_a * h_q).sum(-1) + model.time(long_tensor(time - query_time)) @ weights.w_delta
        attention = torch.stack([to_history, to_query], -1).softmax(-1)
        feature = attention[..., :1] * h_hist + attention[..., 1:] * h_q
        score = (h_a * (feature @ weights.w4.T)).sum(-1)
        log_probability = score.masked_fill(~mask, float("-inf")).log_softmax(-1)
        if model.confidence is None:
            return log_probability, mask

        core = torch.einsum("qi,ijk->qjk", start, model.confidence.core)
        psi = (torch.einsum("qj,qjk->qk", h_r, core).unsqueeze(1) * node).sum(-1)
        log_confidence = psi.masked_fill(~mask, float("-inf")).log_softmax(-1)
        if model.config.policy == "product":
            logit = log_probability.double() + log_confidence.double()
        else:
            logit = log_probability.exp().double() * log_confidence.exp().double()
        return logit.masked_fill(~mask, float("-inf")).log_softmax(-1), mask

    def advance(self, action: Tensor) -> None:
        """Takes the chosen actions and updates the history (Eq. 3)."""
        position = np.arange(len(action)), action.numpy()
        relation, self.entity, self.time = (column[position] for column in self.space[:3])
        since = self.model.time(long_tensor(self.queries.time - self.time))
        step = torch.cat([self._relation(relation), self.embed(self.entity), since], 1)
        history = self.model.history.cell(step, self.history)
        stays = torch.from_numpy(relation == self.model.relations.self_loop).unsqueeze(1)
        keeps = stays & (not self.model.config.self_loop_history)
        self.history = torch.where(keeps, self.history, history)

    def divergence(self, log_policy: Tensor, mask: Tensor, concept_prior: ConceptPrior) -> Tensor:
        """L_KL [queries], by Eq. 10 and 11."""
        of_relation = torch.from_numpy(concept_prior.probability)[long_tensor(self.queries.relation)]
        fit = of_relation @ torch.from_numpy(concept_prior.concepts.matrix()).double().T
        fit = fit.gather(1, long_tensor(self.space[1])).to(log_policy.dtype)
        log_concept = fit.masked_fill(~mask, float("-inf")).log_softmax(-1)
        return (log_policy.exp() * (log_policy - log_concept).masked_fill(~mask, 0)).sum(-1)

    def _relation(self, relation: Ids) -> Tensor:
        rows = torch.cat([self.model.relation_rows, self.model.special_relations])
        return functional.embedding(long_tensor(relation), rows)


def encode_entities(model: Fitcarl, support: MetaSet, unseen_row: Ids, at: Ids) -> Tensor:
    """h_e', [queries, d] (Eq. 2): one sequence per query, of [CLS] at time ``at`` and the support of its entity."""
    seen_facts = support.facts.seen_from(support.entity_of_fact, model.relations)
    segments = _segments(support)
    shape = (len(segments), max(high - low for low, high in segments))
    other, relation, time = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    known = np.zeros(shape, dtype=bool)
    for row, (low, high) in enumerate(segments):
        other[row, : high - low] = seen_facts.object[low:high]
        relation[row, : high - low] = model.relations.inverse(seen_facts.relation[low:high])
        time[row, : high - low] = seen_facts.time[low:high]
        known[row, : high - low] = True
    seen = torch.from_numpy(~np.isin(other, support.entities)[unseen_row]).unsqueeze(-1)
    entity = functional.embedding(long_tensor(other[unseen_row]), model.entity_rows) * seen
    relations = functional.embedding(long_tensor(relation[unseen_row]), model.relation_rows)
    meta = model.encoder.meta(torch.cat([entity, relations], -1))
    tokens = torch.cat([model.encoder.cls.expand(len(unseen_row), 1, -1), meta], 1)
    exists = torch.from_numpy(np.concatenate([np.ones((len(unseen_row), 1), dtype=bool), known[unseen_row]], axis=1))
    times = torch.from_numpy(np.concatenate([at.astype(np.int64)[:, None], time[unseen_row]], axis=1))
    between = model.time(times.unsqueeze(2) - times.unsqueeze(1))
    for layer in model.encoder.layers:
        assert isinstance(layer, AttentionLayer)
        score = layer.scores(tokens, tokens)
        if model.config.biased:
            score = score + (between @ layer.position).unsqueeze(1)
        score = score.masked_fill(~exists[:, None, None, :], float("-inf"))
        tokens = layer.finish(tokens, score, layer.values(tokens))
    return tokens[:, 0]


def _segments(support: MetaSet) -> list[tuple[int, int]]:
    return list(zip(support.offsets[:-1].tolist(), support.offsets[1:].tolist(), strict=True))
