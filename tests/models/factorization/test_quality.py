from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from fitcarl.data.quadruples import Quadruples
from fitcarl.models.factorization.embeddings import Embeddings, import_npy
from fitcarl.models.factorization.pretrain import pretrain
from fitcarl.models.factorization.quality import static_filtered_mrr


def _flat(entity: list[list[float]], relation: list[list[float]]) -> Embeddings:
    rows = np.array(entity, dtype=np.float32)
    return Embeddings(rows, np.array(relation, dtype=np.float32), np.ones(len(rows), dtype=np.bool_))


def test_ranks_of_a_hand_computed_example() -> None:
    # With relation rows 1 + 0i a score is a product: entity 1 scores 2 against 0..3 with 2, 4, 6, 8.
    embeddings = _flat([[1, 0], [2, 0], [3, 0], [4, 0]], [[1, 0], [1, 0]])
    background = Quadruples.from_rows([(1, 0, 2, 0)])
    # Object 2 (score 6) is behind 3: rank 2. Subject 1, queried from 2 (3, 6, 9, 12), is behind 2 and 3: rank 3.
    assert static_filtered_mrr(embeddings, background) == (1 / 2, pytest.approx(1 / 3))


def test_other_true_answers_are_filtered_at_any_time() -> None:
    embeddings = _flat([[1, 0], [2, 0], [3, 0], [4, 0]], [[1, 0], [1, 0]])
    background = Quadruples.from_rows([(1, 0, 2, 0), (1, 0, 3, 9)])
    # With 3 filtered, 2 is first; 3 is first anyway. Subject 1 is behind 2 and 3 in both cases.
    assert static_filtered_mrr(embeddings, background) == (1.0, pytest.approx(1 / 3))


def test_tied_ranks_are_averaged() -> None:
    embeddings = _flat([[1, 0]] * 5, [[1, 0], [1, 0]])
    assert static_filtered_mrr(embeddings, Quadruples.from_rows([(0, 0, 1, 0)])) == (1 / 3, 1 / 3)


def test_empty_background_gives_nan() -> None:
    assert all(math.isnan(mrr) for mrr in static_filtered_mrr(_flat([[1, 0]], [[1, 0]] * 2), Quadruples.empty()))


@pytest.mark.data
def test_published_icews14_embeddings_reach_their_known_mrr(benchmarks: Path) -> None:
    from fitcarl.data.io.dataset_folder import read_dataset

    dataset = read_dataset(benchmarks / "icews14-oog")
    folder = benchmarks / "icews14-oog-complex"
    embeddings = import_npy(
        folder / "ComplEx_entity_100.npy",
        folder / "ComplEx_relation_100.npy",
        dataset.background,
        len(dataset.vocabulary.entities),
        dataset.vocabulary.relation_ids,
    )
    assert np.count_nonzero(~embeddings.trained) == 482 + 191
    by_object, by_subject = static_filtered_mrr(embeddings, dataset.background)
    assert by_object == pytest.approx(0.868, abs=0.02)
    assert by_subject == pytest.approx(0.870, abs=0.02)


@pytest.mark.data
@pytest.mark.slow
def test_pretrained_icews14_embeddings_reach_mrr_080(benchmarks: Path) -> None:
    from fitcarl.data.io.dataset_folder import read_dataset

    dataset = read_dataset(benchmarks / "icews14-oog")
    entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
    embeddings = pretrain(dataset.background, entities, relations)
    assert min(static_filtered_mrr(embeddings, dataset.background)) >= 0.80
