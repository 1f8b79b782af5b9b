"""ComplEx: entities and relations as complex vectors, trained on the background in both directions."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.core.arrays import Positions
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.models.factorization.embeddings import Embeddings, trained_entities
from fitcarl.models.factorization.loss import cubes, filtered_softmax
from fitcarl.models.factorization.triples import Triples

_SECONDS_BETWEEN_CALLS = 0.5


@dataclass(frozen=True)
class Progress:
    """How far pre-training is."""

    epoch: int
    """Epochs that are finished."""
    epochs: int
    loss: float
    """Weighted mean over the facts of the running epoch that were seen so far."""
    seconds: float
    """Since pre-training began."""
    eta: float
    """Seconds that are left, at the pace so far."""


def compose(entity: Tensor, relation: Tensor) -> Tensor:
    """q = e ∘ r, [n, d], so that ComplEx's score Re⟨e, r, conj(o)⟩ of (e, r, o) is the real dot product q · o."""
    real, imaginary = entity.chunk(2, dim=-1)
    turn_real, turn_imaginary = relation.chunk(2, dim=-1)
    parts = (real * turn_real - imaginary * turn_imaginary, real * turn_imaginary + imaginary * turn_real)
    return torch.cat(parts, dim=-1)


def pretrain(
    background: Quadruples,
    entities: int,
    relations: RelationIds,
    config: EmbeddingConfig | None = None,
    seed: int = 0,
    progress: Callable[[Progress], object] | None = None,
) -> Embeddings:
    """Embeddings of everything that occurs in the background; all other rows are zero.

    Times are dropped, and a triple that is left n times weighs √n. The same seed gives the same bits on the same
    machine with the same number of threads. ``progress`` is called about twice a second and at the end; whatever it
    raises stops the training, as Ctrl-C does.
    """
    config = config or EmbeddingConfig()
    triples = Triples.of(background, relations)
    trained = trained_entities(background, entities)
    number = np.cumsum(trained) - 1  # among the trained: nothing else is ever touched
    training = _Training(triples, number, entities, config, torch.Generator().manual_seed(seed))
    if len(triples):
        training.run(progress)

    entity = np.zeros((entities, config.dim), dtype=np.float32)
    entity[trained] = training.entity.values.numpy()
    relation = np.zeros((relations.directed, config.dim), dtype=np.float32)
    met = np.unique(triples.relation)
    relation[met] = training.relation.values.numpy()[met]
    about = {"origin": "ComplEx", "seed": seed, "config": config.model_dump()}
    return Embeddings(entity, relation, trained, about)


class _Training:
    """The rows under training and the order in which facts are shown to them."""

    def __init__(
        self, triples: Triples, number: Positions, entities: int, config: EmbeddingConfig, generator: torch.Generator
    ) -> None:
        self.config = config
        self.triples = triples
        self.generator = generator
        self.trained = int(number[-1]) + 1 if len(number) else 0
        self.silent = entities - self.trained
        self.asking = torch.from_numpy(number[triples.entity])
        self.asked = torch.from_numpy(triples.relation)
        self.answer = torch.from_numpy(number[triples.answer])
        # A pair that met a hundred times is surer than one that met once, but not worth a hundred others.
        self.weight = torch.from_numpy(np.sqrt(triples.count).astype(np.float32))
        self.entity = _Rows.random(self.trained, config, generator)
        self.relation = _Rows.random(triples.relations.directed, config, generator)

    def run(self, progress: Callable[[Progress], object] | None) -> None:
        """All epochs."""
        pairs, batch = len(self.triples), self.config.batch_size
        steps = math.ceil(pairs / batch)
        epochs = max(self.config.epochs, math.ceil(self.config.min_updates / steps))
        began = called = time.perf_counter()
        for epoch in range(epochs):
            order = torch.randperm(pairs, generator=self.generator).numpy()
            loss = weight = 0.0
            for step in range(steps):
                more = self._step(order[step * batch : (step + 1) * batch])
                loss, weight = loss + more[0], weight + more[1]
                now = time.perf_counter()
                done = epoch * steps + step + 1
                finished = done == epochs * steps
                if progress is not None and (finished or now - called > _SECONDS_BETWEEN_CALLS):
                    left = (now - began) / done * (epochs * steps - done)
                    progress(Progress(done // steps, epochs, loss / weight, now - began, left))
                    called = now

    def _step(self, pairs: Positions) -> tuple[float, float]:
        """One update; the summed loss, without the regulariser, and the summed weight of its facts."""
        flat_row, position = (torch.from_numpy(part) for part in self.triples.answers(pairs))
        index = torch.from_numpy(pairs)
        asking, answer, weight = self.asking[index], self.answer[position], self.weight[position]
        if self.trained <= self.config.negatives:
            touched = None
        else:
            others = torch.randint(self.trained, (self.config.negatives,), generator=self.generator)
            touched, place = torch.unique(torch.cat([asking, answer, others]), return_inverse=True)
            asking, answer = place[: len(asking)], place[len(asking) :][: len(answer)]

        candidates = self.entity.leaf(touched)
        relation = self.relation.leaf(None)
        turn = embedding(self.asked[index], relation)
        start = embedding(asking, candidates)
        # Entities outside the sample are left out of the sum, not made up for: only differences of scores rank.
        loss = filtered_softmax(compose(start, turn), candidates, flat_row, answer, weight, self.silent)
        size = cubes(candidates)
        answers = torch.bincount(flat_row, minlength=len(pairs))
        cubed = (answers * (size[asking] + cubes(turn))).sum() + size[answer].sum()
        ((loss + self.config.n3_weight * cubed) / len(answer)).backward()
        self.entity.descend(touched, candidates.grad, self.config.learning_rate)
        self.relation.descend(None, relation.grad, self.config.learning_rate)
        return loss.item(), weight.sum().item()


@dataclass(frozen=True, eq=False)
class _Rows:
    """A table that is trained, with Adagrad's memory. A step costs as much as the rows it touches."""

    values: Tensor
    squares: Tensor

    @classmethod
    def random(cls, count: int, config: EmbeddingConfig, generator: torch.Generator) -> _Rows:
        values = torch.randn(count, config.dim, generator=generator) * config.init_std
        return cls(values, torch.zeros_like(values))

    def leaf(self, touched: Tensor | None) -> Tensor:
        """The touched rows (None: all) as the start of a gradient."""
        rows = self.values.detach() if touched is None else self.values.index_select(0, touched)
        return rows.requires_grad_()

    def descend(self, touched: Tensor | None, gradient: Tensor | None, rate: float) -> None:
        """Adagrad's update of the touched rows; an untouched row has gradient 0, for which it does nothing."""
        assert gradient is not None
        if touched is None:
            self.squares.addcmul_(gradient, gradient)
            self.values.addcdiv_(gradient, self.squares.sqrt().add_(1e-10), value=-rate)
            return
        squares = self.squares.index_select(0, touched).addcmul_(gradient, gradient)
        self.squares.index_copy_(0, touched, squares)
        self.values.index_add_(0, touched, gradient / squares.sqrt_().add_(1e-10), alpha=-rate)
