"""Features of the directed relations of an entity's next fact; all are logarithms of probabilities or of their ratios.

Each source is a distribution over the 2R directed relations, smoothed with relation popularity: the less is known, the
nearer it is to popularity and the nearer to 0 is its log-ratio to popularity.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.history import Histories

Floats = NDArray[np.float64]

FEATURES = ("popularity", "recent_popularity", "own_relations", "successors", "counterparts", "direction")
"""What the weights of a relation model belong to, in order.

popularity: share of the relation among all facts before the tick; recent_popularity: its ratio over the last half-life;
own_relations: relations of the entity's own facts, recent ones with more weight; successors: relations that usually
follow those of the entity's facts; counterparts: relations that others have to the entities of its facts; direction:
how often the entity was the subject, or the object.
"""

_FACTS = 0.5  # pseudo-counts: per relation for popularity,
_RECENT, _SUCCESSORS, _OWN = 20.0, 50.0, 1.0  # and in total for distributions that are smoothed with popularity


def relation_features(index: EventIndex, histories: Histories, half_life: float) -> Floats:
    """The features of all directed relations.

    Args:
        index: Counts on the background.
        histories: Entities with their visible facts.
        half_life: Ticks after which a fact of the entity has half the weight; also the window of recent popularity.

    Returns:
        float64 [histories, 2R, features].
    """
    out = np.empty((len(histories), index.directed, len(FEATURES)))
    for row in range(len(histories)):
        out[row] = _features(index, histories, row, half_life)
    return out


def _features(index: EventIndex, histories: Histories, row: int, half_life: float) -> Floats:
    relation, other, time = histories.facts_of(row)
    before = int(histories.before[row])
    popular = popularity(index, before)
    since = before - max(1, round(half_life))
    recent = _smoothed(index.popularity(before, since), popular, _RECENT)
    age = np.maximum(int(histories.time[row]) - time.astype(np.float64), 0)
    own = np.bincount(relation, weights=0.5 ** (age / half_life), minlength=index.directed)
    following = [_smoothed(index.successors(int(r), before), popular, _SUCCESSORS) for r in relation]
    around = [_smoothed(index.relations_around(int(e), before), popular, _SUCCESSORS) for e in other]
    inverse = index.graph.relations.is_inverse(np.arange(index.directed))
    as_subject = (np.count_nonzero(~index.graph.relations.is_inverse(relation)) + 0.5) / (len(relation) + 1)
    sources = [recent, _smoothed(own, popular, _OWN), _mean(following, popular), _mean(around, popular)]
    base = np.log(popular)
    columns = [
        base,
        *(np.log(source) - base for source in sources),
        np.log(np.where(inverse, 1 - as_subject, as_subject)),
    ]
    return np.stack(columns, axis=1)


def popularity(index: EventIndex, before: int) -> Floats:
    """float64 [2R], sums to 1: the share of each directed relation among the facts before a tick."""
    count = index.popularity(before) + _FACTS
    share: Floats = count / count.sum()
    return share


def _smoothed(count: NDArray[np.int64] | Floats, prior: Floats, strength: float) -> Floats:
    smoothed: Floats = (count + strength * prior) / (count.sum() + strength)
    return smoothed


def _mean(parts: list[Floats], default: Floats) -> Floats:
    return np.asarray(np.mean(parts, axis=0)) if parts else default
