"""How well embeddings remember the background."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.data.quadruples import Quadruples
from fitcarl.models.factorization.complex import compose
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.factorization.triples import Triples

_QUERIES_AT_ONCE = 250


def static_filtered_mrr(
    embeddings: Embeddings, background: Quadruples, sample: int = 1000, seed: int = 0
) -> tuple[float, float]:
    """(MRR of objects, MRR of subjects through the inverse row) over facts drawn from the background; nan if none.

    Candidates are all entities, trained or not; other answers of the background, at whatever time, are filtered;
    ranks are realistic.
    """
    if not len(background):
        return float("nan"), float("nan")
    drawn = np.random.default_rng(seed).permutation(len(background))[:sample]
    facts = background.take(drawn)
    triples = Triples.of(background, embeddings.relations)
    there, back = (
        float(np.mean(1 / _realistic_ranks(embeddings, triples, turned)))
        for turned in (facts, facts.inverted(embeddings.relations))
    )
    return there, back


def _realistic_ranks(embeddings: Embeddings, triples: Triples, facts: Quadruples) -> NDArray[np.float64]:
    """float64 [facts]: where each object stands among what could be the object, ties shared."""
    entity, relation = torch.from_numpy(embeddings.entity), torch.from_numpy(embeddings.relation)
    ranks = []
    for first in range(0, len(facts), _QUERIES_AT_ONCE):
        asked = facts.take(slice(first, first + _QUERIES_AT_ONCE))
        queries = compose(entity[asked.subject], relation[asked.relation]).double()
        scores = (queries @ entity.double().T).numpy()
        right = scores[np.arange(len(asked)), asked.object][:, None]
        query, position = triples.answers(triples.find(asked.subject, asked.relation))
        scores[query, triples.answer[position]] = -np.inf  # the answer itself too: it is counted below
        greater, equal = (scores > right).sum(axis=1), (scores == right).sum(axis=1) + 1
        ranks.append(greater + (1 + equal) / 2)
    return np.concatenate(ranks)
