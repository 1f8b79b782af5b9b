from __future__ import annotations

import numpy as np
import pytest
import torch

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.core.progress import Interrupted, Progress
from fitcarl.core.subnormals import subnormals_are_zero
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.factorization.complex import ComplEx, complex_product
from fitcarl.models.factorization.distmult import DistMult
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.factorization.pretrain import pretrain
from fitcarl.models.factorization.quality import static_filtered_mrr
from tests.models.factorization.graphs import ENTITIES, KNOWN, RELATIONS, small_background

QUICK = EmbeddingConfig(dim=20, epochs=2, min_updates=40, batch_size=8)


def _complex(rows: np.ndarray) -> np.ndarray:
    half = rows.shape[-1] // 2
    return rows[..., :half] + 1j * rows[..., half:]


def _score(embeddings: Embeddings, subject: int, relation: int, object: int) -> float:
    s, r, o = embeddings.entity[subject], embeddings.relation[relation], embeddings.entity[object]
    return float(np.sum(_complex(s) * _complex(r) * np.conj(_complex(o))).real)


def test_score_of_a_hand_computed_example() -> None:
    # s = 1 + 2i, r = 3 - i, s·r = 5 + 5i; o = 2 + 4i: Re((5 + 5i)(2 - 4i)) = 10 + 20.
    query = complex_product(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, -1.0]]))
    assert query.tolist() == [[5.0, 5.0]]
    assert (query @ torch.tensor([[2.0], [4.0]])).item() == 30.0


def test_score_is_the_real_part_of_the_complex_product() -> None:
    random = np.random.default_rng(0)
    s, r, o = (random.normal(size=(7, 10)) for _ in range(3))
    expected = np.sum(_complex(s) * _complex(r) * np.conj(_complex(o)), axis=1).real
    found = (complex_product(torch.from_numpy(s), torch.from_numpy(r)) * torch.from_numpy(o)).sum(dim=1)
    assert np.allclose(found.numpy(), expected, rtol=1e-12)


@pytest.fixture(scope="module")
def fitted() -> tuple[Quadruples, Embeddings]:
    background = small_background()
    return background, pretrain(background, ENTITIES, RELATIONS, EmbeddingConfig(dim=40, batch_size=16), seed=1)


def test_small_graph_is_fitted_in_both_directions(fitted: tuple[Quadruples, Embeddings]) -> None:
    background, embeddings = fitted
    assert min(static_filtered_mrr(embeddings, background)) > 0.95


def test_relation_and_inverse_both_score_facts_above_corruptions(fitted: tuple[Quadruples, Embeddings]) -> None:
    """(s, r, o) and (o, r⁻¹, s) each score above every corruption that is no fact; the two rows differ."""
    background, embeddings = fitted
    true = {(s, r, o) for s, r, o, _ in background}
    ahead = {"object": 0, "subject": 0}
    for s, r, o in true:
        wrong_objects = [_score(embeddings, s, r, e) for e in range(ENTITIES) if (s, r, e) not in true]
        inverse = RELATIONS.inverse(r)
        wrong_subjects = [_score(embeddings, o, inverse, e) for e in range(ENTITIES) if (e, r, o) not in true]
        ahead["object"] += _score(embeddings, s, r, o) > max(wrong_objects)
        ahead["subject"] += _score(embeddings, o, inverse, s) > max(wrong_subjects)
    assert min(ahead.values()) > 0.9 * len(true)
    assert not np.allclose(embeddings.relation[: RELATIONS.count], embeddings.relation[RELATIONS.count :])


def test_swapping_relations_with_inverses_ruins_the_fit(fitted: tuple[Quadruples, Embeddings]) -> None:
    background, embeddings = fitted
    swapped = Embeddings(embeddings.entity, np.roll(embeddings.relation, RELATIONS.count, axis=0), embeddings.trained)
    assert max(static_filtered_mrr(swapped, background)) < 0.5


def test_same_seed_gives_identical_embeddings() -> None:
    background = small_background()
    for negatives in (5, 8192):
        config = QUICK.model_copy(update={"negatives": negatives})
        first, second = (pretrain(background, ENTITIES, RELATIONS, config, seed=3) for _ in range(2))
        assert first == second
        assert first.digest == second.digest


def test_subnormal_numbers_are_zero_in_every_training() -> None:
    treated: list[bool] = []

    class Recording(ComplEx):
        def compose(
            self, entity: torch.Tensor, relation: torch.Tensor, time: torch.Tensor | None = None
        ) -> torch.Tensor:
            treated.append(subnormals_are_zero())
            return super().compose(entity, relation, time)

    supported = torch.set_flush_denormal(True)
    torch.set_flush_denormal(False)
    pretrain(small_background(), ENTITIES, RELATIONS, QUICK, score=Recording())
    assert set(treated) == {supported}
    assert not subnormals_are_zero()


def test_different_seeds_give_different_embeddings() -> None:
    first, second = (pretrain(small_background(), ENTITIES, RELATIONS, QUICK, seed=seed) for seed in (3, 4))
    assert first != second


def test_global_random_state_does_not_matter() -> None:
    torch.manual_seed(0)
    first = pretrain(small_background(), ENTITIES, RELATIONS, QUICK)
    torch.manual_seed(1)
    assert first == pretrain(small_background(), ENTITIES, RELATIONS, QUICK)


def test_order_and_times_of_facts_do_not_matter() -> None:
    facts = small_background()
    moved = Quadruples.of(facts.subject, facts.relation, facts.object, facts.time + 7).take(slice(None, None, -1))
    assert pretrain(facts, ENTITIES, RELATIONS, QUICK) == pretrain(moved, ENTITIES, RELATIONS, QUICK)


@pytest.mark.parametrize("negatives", [5, 8192])
def test_rows_of_entities_without_facts_are_zero(negatives: int) -> None:
    facts = small_background()
    background = facts.take(facts.relation != 2)
    config = QUICK.model_copy(update={"negatives": negatives})
    embeddings = pretrain(background, ENTITIES, RELATIONS, config)
    known = set(background.subject.tolist()) | set(background.object.tolist())
    assert set(np.flatnonzero(embeddings.trained).tolist()) == known
    assert set(np.flatnonzero(np.abs(embeddings.entity).sum(axis=1)).tolist()) == known
    assert np.flatnonzero(np.abs(embeddings.relation).sum(axis=1)).tolist() == [0, 1, 3, 4]


def test_empty_background_gives_zero_embeddings() -> None:
    embeddings = pretrain(Quadruples.empty(), ENTITIES, RELATIONS, QUICK)
    assert not embeddings.trained.any()
    assert not embeddings.entity.any()


def test_sampled_negatives_fit_a_small_graph() -> None:
    background = small_background()
    config = EmbeddingConfig(dim=40, batch_size=16, negatives=6)
    assert min(static_filtered_mrr(pretrain(background, ENTITIES, RELATIONS, config), background)) > 0.9


def test_regularisation_shrinks_embeddings() -> None:
    def mean_norm(weight: float) -> float:
        config = QUICK.model_copy(update={"n3_weight": weight, "min_updates": 200})
        rows = pretrain(small_background(), ENTITIES, RELATIONS, config).entity[:KNOWN]
        return float(np.linalg.norm(rows, axis=1).mean())

    assert mean_norm(0.1) < 0.8 * mean_norm(0.0)


def test_progress_ends_at_the_last_update() -> None:
    updates: list[Progress] = []
    pretrain(small_background(), ENTITIES, RELATIONS, QUICK, on_progress=updates.append)
    assert updates[-1].done == updates[-1].total > 2  # small graphs get more epochs than configured
    assert updates[-1].seconds_left == 0
    assert updates[-1].metrics["loss"] > 0


def test_should_stop_interrupts_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fitcarl.models.factorization.pretrain._SECONDS_BETWEEN_CALLS", 0.0)
    updates: list[Progress] = []
    with pytest.raises(Interrupted):
        pretrain(small_background(), ENTITIES, RELATIONS, QUICK, on_progress=updates.append, should_stop=lambda: True)
    assert len(updates) == 1


def test_distmult_fits_triples_and_scores_both_directions_alike() -> None:
    facts, config = small_background(), EmbeddingConfig(dim=40, batch_size=16, min_updates=300)
    embeddings = pretrain(facts, ENTITIES, RELATIONS, config, seed=1, score=DistMult())
    entity, relation = torch.from_numpy(embeddings.entity), torch.from_numpy(embeddings.relation)
    scores = (DistMult().compose(entity[facts.subject], relation[facts.relation]) @ entity.T)[:, :KNOWN]
    answer = torch.from_numpy(facts.object.astype(np.int64))
    better = (scores > scores.gather(1, answer[:, None])).sum(dim=1).float()
    assert better.mean() < 2  # several answers of one query rank above each other
    assert embeddings.about["origin"] == "DistMult"
    swapped = DistMult().compose(entity[facts.object], relation[facts.relation])
    assert torch.allclose((swapped * entity[facts.subject]).sum(dim=1), scores.gather(1, answer[:, None])[:, 0], 1e-4)
