"""References for tests: a small dataset and a slow, simple ranker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.evaluation.filtering import Filter
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries

Fact = tuple[int, int, int, int]


def meta_set(rows: Sequence[tuple[int, int, int, int, int]]) -> MetaSet:
    table = np.array(rows, dtype=np.int32).reshape(-1, 5)
    return MetaSet(np.ascontiguousarray(table[:, 0]), Quadruples.from_rows(table[:, 1:]))


def dataset_of(
    background: Sequence[Fact],
    *,
    entities: int,
    relations: int,
    train: MetaSet | None = None,
    valid: MetaSet | None = None,
    test: MetaSet | None = None,
    dropped: Sequence[Fact] = (),
    days: int = 365,
) -> Dataset:
    """A dataset with a calendar of days from 2014-01-01."""
    no_facts = meta_set([])
    vocabulary = Vocabulary(tuple(f"e{i}" for i in range(entities)), tuple(f"r{i}" for i in range(relations)))
    return Dataset(
        "small",
        vocabulary,
        Calendar.of_granules("day", np.arange(16071, 16071 + days)),
        Quadruples.from_rows(np.array(background, dtype=np.int32).reshape(-1, 4)),
        train or no_facts,
        valid or no_facts,
        test or no_facts,
        Quadruples.from_rows(np.array(dropped, dtype=np.int32).reshape(-1, 4)),
        Concepts.none(entities),
    )


def random_dataset(seed: int = 0, entities: int = 40, relations: int = 5, days: int = 365) -> Dataset:
    """Twelve unseen entities in three groups, with facts that tend to repeat, and a random background."""
    rng = np.random.default_rng(seed)
    unseen = np.arange(entities - 12, entities).reshape(3, 4)

    def fact(owner: int, others: int) -> Fact:
        ends = (owner, int(rng.integers(others)))
        subject, object = ends if rng.random() < 0.6 else ends[::-1]
        return subject, int(rng.integers(relations)), object, int(rng.integers(days))

    background = [fact(int(rng.integers(entities - 12)), entities - 12) for _ in range(400)]
    groups = []
    for group in unseen:
        partners = {int(owner): int(rng.integers(3, 8)) for owner in group}
        groups.append(meta_set([(int(o), *fact(int(o), partners[int(o)])) for o in group for _ in range(12)]))
    dropped = [(int(unseen[0, 0]), 0, int(unseen[1, 0]), 3)]
    names = dict(zip(("train", "valid", "test"), groups, strict=True))
    return dataset_of(background, entities=entities, relations=relations, dropped=dropped, days=days, **names)


def queries_of(rows: Sequence[Fact]) -> Queries:
    """Queries from rows (entity, relation, answer, time)."""
    table = np.array(rows, dtype=np.int32).reshape(-1, 4)
    return Queries(*(np.ascontiguousarray(table[:, column]) for column in (0, 1, 3, 2)))


def scores_of(listed: Sequence[Mapping[int, float]]) -> Scores:
    """Scores from one mapping entity → score per query."""
    counts = [len(scores) for scores in listed]
    return Scores(
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array([entity for scores in listed for entity in scores], dtype=np.int32),
        np.array([score for scores in listed for score in scores.values()], dtype=np.float64),
    )


def plain_counts(
    scores: Mapping[int, float],
    query: Fact,
    facts: Sequence[Fact],
    entities: int,
    relations: int,
    filter: Filter,
) -> tuple[int, int, int, bool]:
    """(greater, equal, candidates, covered) of one query (entity, relation, answer, time), by plain loops."""
    entity, relation, answer, time = query
    true = set()
    for s, r, o, t in facts:
        for subject, directed, object in ((s, r, o), (o, r + relations, s)):
            same = subject == entity and directed == relation and (filter == "time-unaware" or t == time)
            if same and object != answer:
                true.add(object)
    candidates = [e for e in range(entities) if e not in true]
    dense = [scores.get(e, -np.inf) for e in range(entities)]
    greater = sum(dense[e] > dense[answer] for e in candidates)
    equal = sum(dense[e] == dense[answer] for e in candidates)
    return greater, equal, len(candidates), answer in scores
