"""Vectors of the entities of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fitcarl.errors import InputError
from fitcarl.models.entity_vectors import EntityVectors
from fitcarl.runs.run import Run
from fitcarl.training.api import train
from tests.small import SMALL_MODELS, data, home, small

__all__ = ["data", "home"]


@pytest.fixture(scope="module", params=["plus", "paper", "complex", "tero", "filt", "gen"])
def run(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    out = tmp_path_factory.mktemp("runs") / request.param
    if request.param in SMALL_MODELS:
        return train(data, out=out, shots=3, model=request.param, episodes=2, settings=SMALL_MODELS[request.param])
    return train(data, out=out, shots=3, preset=request.param, episodes=2, settings=small(request.param))


def test_vectors_and_nearest_entities(run: Run) -> None:
    known = [run.vocabulary.entities[index] for index in np.flatnonzero(run.entity_vectors.known)]
    name = known[3]
    vector = run.embedding(name)
    assert vector.dtype == np.float32
    nearest = run.nearest(name, 5)
    assert len(nearest) == 5
    assert name not in [other for other, _ in nearest]
    similarities = {}
    for other in known:
        row = run.embedding(other).astype(np.float64)
        similarities[other] = float(row @ vector / np.linalg.norm(row) / np.linalg.norm(vector))
    best = sorted((value for other, value in similarities.items() if other != name), reverse=True)[:5]
    assert [similarity for _, similarity in nearest] == pytest.approx(best)
    assert all(similarity == pytest.approx(similarities[other]) for other, similarity in nearest)
    vector[:] = 0
    assert run.embedding(name).any()  # a copy


def test_unknown_entities_have_no_vector(run: Run) -> None:
    with pytest.raises(InputError, match="unknown entity"):
        run.embedding("No such entity")
    unseen = [run.vocabulary.entities[e] for e in run.dataset().test.entities if not run.entity_vectors.known[e]]
    if run.config.model in ("complex", "tero"):  # trained on the support facts of all entities
        assert not unseen
        return
    with pytest.raises(InputError, match="without a trained vector"):
        run.nearest(unseen[0])


def test_plus_without_encoder_has_the_spectral_embedding(data: Path, tmp_path: Path) -> None:
    settings = [*small("plus"), "features.encoder=false"]
    run = train(data, out=tmp_path / "run", shots=3, preset="plus", episodes=2, settings=settings)
    assert "spectral" in run.entity_vectors.kind
    assert run.nearest(run.vocabulary.entities[int(np.flatnonzero(run.entity_vectors.known)[0])], 1)


def test_model_without_vectors(data: Path, tmp_path: Path) -> None:
    run = train(data, out=tmp_path / "run", shots=3, model="titer", episodes=2, settings=SMALL_MODELS["titer"])
    with pytest.raises(InputError, match="the model titer has no vectors of entities"):
        run.embedding(run.vocabulary.entities[0])


def test_ties_are_ordered_by_entity() -> None:
    vectors = EntityVectors.of("test", np.array([[1, 0], [2, 0], [0, 0], [3, 0], [0, 1]], dtype=np.float32))
    assert vectors.nearest(1, 9) == [(0, 1.0), (3, 1.0), (4, 0.0)]
