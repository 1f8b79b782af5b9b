"""Pre-training: embeddings of entities and relations, trained on both directions of the background facts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.core.arrays import Positions
from fitcarl.core.device import CPU
from fitcarl.core.progress import Interrupted, OnProgress, Progress, ShouldStop
from fitcarl.core.subnormals import subnormals
from fitcarl.core.tensors import array_of, tensor_of
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.models.factorization.complex import ComplEx
from fitcarl.models.factorization.embeddings import Embeddings, trained_entities
from fitcarl.models.factorization.loss import filtered_softmax, n3_penalty
from fitcarl.models.factorization.score_function import ScoreFunction
from fitcarl.models.factorization.triples import Triples

_SECONDS_BETWEEN_CALLS = 0.5


def pretrain(
    background: Quadruples,
    entities: int,
    relations: RelationIds,
    config: EmbeddingConfig | None = None,
    seed: int = 0,
    on_progress: OnProgress | None = None,
    should_stop: ShouldStop | None = None,
    score: ScoreFunction | None = None,
    device: torch.device = CPU,
) -> Embeddings:
    """Trains embeddings of all entities and relations of the background; other rows are zero.

    Times are dropped; a triple that occurs n times has weight √n. The same seed gives the same bits on the same machine
    with the same number of threads.

    Args:
        background: The facts to train on.
        entities: The number of entities.
        relations: The relation ids.
        config: Settings; by default those of the paper's pre-training.
        seed: Seed of initialization, order of facts and sampled negatives.
        on_progress: Called about twice a second and at the end, with finished epochs and the loss.
        should_stop: Polled as often.
        score: The score function; ComplEx by default.
        device: Where the training runs; random numbers are drawn on the CPU.

    Raises:
        Interrupted: If ``should_stop`` returns True.
    """
    config, score = config or EmbeddingConfig(), score or ComplEx()
    triples = Triples.of(background, relations)
    trained = trained_entities(background, entities)
    row_of_entity = np.cumsum(trained) - 1  # only entities with facts have a row
    training = _Training(triples, row_of_entity, entities, config, score, torch.Generator().manual_seed(seed), device)
    if len(triples):
        with subnormals(as_zero=True):  # here: all that train them write the same file of the cache
            training.run(on_progress, should_stop)

    entity = np.zeros((entities, config.dim), dtype=np.float32)
    entity[trained] = array_of(training.entity.weight)
    relation = np.zeros((relations.directed, config.dim), dtype=np.float32)
    used = np.unique(triples.relation)
    relation[used] = array_of(training.relation.weight)[used]
    about = {"origin": score.name, "seed": seed, "config": config.model_dump()}
    return Embeddings(entity, relation, trained, about)


class _Training:
    """The training loop: mini-batches of (entity, relation) pairs, filtered softmax, N3 penalty, Adagrad."""

    def __init__(
        self,
        triples: Triples,
        row_of_entity: Positions,
        entities: int,
        config: EmbeddingConfig,
        score: ScoreFunction,
        generator: torch.Generator,
        device: torch.device,
    ) -> None:
        self.config = config
        self.score = score
        self.triples = triples
        self.generator, self.device = generator, device
        self.rows = int(row_of_entity[-1]) + 1 if len(row_of_entity) else 0
        self.zero_candidates = entities - self.rows
        self.pair_entity = tensor_of(row_of_entity[triples.entity], device)
        self.pair_relation = tensor_of(triples.relation, device)
        self.answer = tensor_of(row_of_entity[triples.answer], device)
        # Repeated triples count more, but sublinearly.
        self.weight = tensor_of(np.sqrt(triples.count).astype(np.float32), device)
        self.entity = _AdagradTable.random(self.rows, config, generator, device)
        self.relation = _AdagradTable.random(triples.relations.directed, config, generator, device)

    def run(self, on_progress: OnProgress | None, should_stop: ShouldStop | None) -> None:
        """Runs all epochs."""
        pairs, batch = len(self.triples), self.config.batch_size
        updates = math.ceil(pairs / batch)
        epochs = max(self.config.epochs, math.ceil(self.config.min_updates / updates))
        began = last_call = time.perf_counter()
        for epoch in range(epochs):
            order = torch.randperm(pairs, generator=self.generator).numpy()
            loss = weight = 0.0
            for update in range(updates):
                batch_loss, batch_weight = self._update(order[update * batch : (update + 1) * batch])
                loss, weight = loss + batch_loss, weight + batch_weight
                now = time.perf_counter()
                done, total = epoch * updates + update + 1, epochs * updates
                if done < total and now - last_call <= _SECONDS_BETWEEN_CALLS:
                    continue
                last_call = now
                if on_progress is not None:
                    left = (now - began) / done * (total - done)
                    on_progress(
                        Progress("embeddings", done // updates, epochs, "epochs", {"loss": loss / weight}, left)
                    )
                if should_stop is not None and should_stop():
                    raise Interrupted

    def _update(self, pairs: Positions) -> tuple[float, float]:
        """One optimizer step; returns the summed loss without the penalty and the summed weight of the triples."""
        query, position = (tensor_of(part, self.device) for part in self.triples.answers(pairs))
        index = tensor_of(pairs, self.device)
        subject, answer, weight = self.pair_entity[index], self.answer[position], self.weight[position]
        if self.rows <= self.config.negatives:
            sampled = None
        else:
            negatives = torch.randint(self.rows, (self.config.negatives,), generator=self.generator).to(self.device)
            sampled, row = torch.unique(torch.cat([subject, answer, negatives]), return_inverse=True)
            subject, answer = row[: len(subject)], row[len(subject) :][: len(answer)]

        candidates = self.entity.rows(sampled)
        relations = self.relation.rows(None)
        relation_rows = embedding(self.pair_relation[index], relations)
        subject_rows = embedding(subject, candidates)
        # Entities outside the sample are left out of the sum without correction: only differences of scores rank.
        composed = self.score.compose(subject_rows, relation_rows)
        loss = filtered_softmax(composed, candidates, query, answer, weight, self.zero_candidates)
        n3 = n3_penalty(candidates, self.score.components)
        answers = torch.bincount(query, minlength=len(pairs))
        penalty = (answers * (n3[subject] + n3_penalty(relation_rows, self.score.components))).sum() + n3[answer].sum()
        ((loss + self.config.n3_weight * penalty) / len(answer)).backward()
        self.entity.adagrad_step(sampled, candidates.grad, self.config.learning_rate)
        self.relation.adagrad_step(None, relations.grad, self.config.learning_rate)
        return loss.item(), weight.sum().item()


@dataclass(frozen=True, eq=False)
class _AdagradTable:
    """An embedding table with its Adagrad state. A step costs as much as the rows it updates.

    Not ``torch.optim.Adagrad``: its dense step touches all rows of the table on every update, and its sparse step needs
    sparse gradients, while the softmax over sampled candidates yields a dense gradient of the selected rows.
    """

    weight: Tensor
    squared_sum: Tensor
    """The sum of squared gradients, as large as the table."""

    @classmethod
    def random(
        cls, count: int, config: EmbeddingConfig, generator: torch.Generator, device: torch.device
    ) -> _AdagradTable:
        weight = (torch.randn(count, config.dim, generator=generator) * config.init_std).to(device)
        return cls(weight, torch.zeros_like(weight))

    def rows(self, index: Tensor | None) -> Tensor:
        """The selected rows (None: all) as a leaf that collects gradients."""
        rows = self.weight.detach() if index is None else self.weight.index_select(0, index)
        return rows.requires_grad_()

    def adagrad_step(self, index: Tensor | None, gradient: Tensor | None, learning_rate: float) -> None:
        """Updates the selected rows (None: all); Adagrad leaves rows with zero gradient unchanged."""
        assert gradient is not None
        if index is None:
            self.squared_sum.addcmul_(gradient, gradient)
            self.weight.addcdiv_(gradient, self.squared_sum.sqrt().add_(1e-10), value=-learning_rate)
            return
        squared_sum = self.squared_sum.index_select(0, index).addcmul_(gradient, gradient)
        self.squared_sum.index_copy_(0, index, squared_sum)
        self.weight.index_add_(0, index, gradient / squared_sum.sqrt_().add_(1e-10), alpha=-learning_rate)
