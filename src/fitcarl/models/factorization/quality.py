"""How well ComplEx embeddings fit the facts they were trained on."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.data.quadruples import Quadruples
from fitcarl.models.factorization.complex import complex_product
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.factorization.triples import Triples

_BATCH = 250


def static_filtered_mrr(
    embeddings: Embeddings, background: Quadruples, sample: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """Filtered MRR on a sample of background facts, times ignored.

    Candidates are all entities; other answers of the background at any time are filtered; ranks are realistic.

    Args:
        embeddings: The embeddings to evaluate.
        background: The facts they were trained on.
        sample: The number of facts to sample.
        seed: Seed of the sample.

    Returns:
        The MRR of objects and the MRR of subjects (through the inverse relation); nan without facts.
    """
    if not len(background):
        return float("nan"), float("nan")
    sampled = np.random.default_rng(seed).permutation(len(background))[:sample]
    facts = background.take(sampled)
    triples = Triples.of(background, embeddings.relations)
    objects, subjects = (
        float(np.mean(1 / _realistic_ranks(embeddings, triples, directed)))
        for directed in (facts, facts.inverted(embeddings.relations))
    )
    return objects, subjects


def _realistic_ranks(embeddings: Embeddings, triples: Triples, facts: Quadruples) -> NDArray[np.float64]:
    """float64 [facts]: the realistic rank of each object among all entities."""
    entity, relation = torch.from_numpy(embeddings.entity), torch.from_numpy(embeddings.relation)
    ranks = []
    for first in range(0, len(facts), _BATCH):
        batch = facts.take(slice(first, first + _BATCH))
        queries = complex_product(entity[batch.subject], relation[batch.relation]).double()
        scores = (queries @ entity.double().T).numpy()
        target = scores[np.arange(len(batch)), batch.object][:, None]
        query, position = triples.answers(triples.find(batch.subject, batch.relation))
        scores[query, triples.answer[position]] = -np.inf  # includes the answer, which is counted below
        greater, equal = (scores > target).sum(axis=1), (scores == target).sum(axis=1) + 1
        ranks.append(greater + (1 + equal) / 2)
    return np.concatenate(ranks)
