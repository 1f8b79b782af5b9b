from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.factorization import complex
from fitcarl.models.factorization.cache import cache_file, embeddings_for
from fitcarl.models.factorization.embeddings import Embeddings
from tests.models.factorization.graphs import dataset_of, small_background

QUICK = EmbeddingConfig(dim=8, epochs=1, min_updates=5)


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seed of every training that really took place."""
    seeds: list[int] = []
    really = complex.pretrain

    def counted(*given: Any) -> Embeddings:
        seeds.append(given[4])
        return really(*given)

    monkeypatch.setattr(complex, "pretrain", counted)
    return seeds


def test_cached_embeddings_are_not_trained_again(tmp_path: Path, trainings: list[int]) -> None:
    dataset = dataset_of(small_background())
    first = embeddings_for(dataset, QUICK, 1, tmp_path / "new" / "folder")
    second = embeddings_for(dataset, QUICK, 1, tmp_path / "new" / "folder")
    assert first == second
    assert first.about == second.about
    assert trainings == [1]


def test_other_facts_settings_or_seeds_miss_the_cache(tmp_path: Path, trainings: list[int]) -> None:
    facts = small_background()
    embeddings_for(dataset_of(facts), QUICK, 1, tmp_path)
    embeddings_for(dataset_of(facts.take(slice(0, 79))), QUICK, 1, tmp_path)
    embeddings_for(dataset_of(facts), QUICK.model_copy(update={"rate": 0.2}), 1, tmp_path)
    embeddings_for(dataset_of(facts), QUICK, 2, tmp_path)
    assert trainings == [1, 1, 1, 2]
    assert len(list(tmp_path.iterdir())) == 4


def test_names_times_and_other_splits_do_not_change_the_cache_key(tmp_path: Path) -> None:
    facts = small_background()
    dataset = dataset_of(facts)
    moved = Quadruples.of(facts.subject, facts.relation, facts.object, facts.time[::-1])
    elsewhere = replace(dataset, name="other", background=moved, dropped=facts)
    assert cache_file(dataset, QUICK, 1, tmp_path) == cache_file(elsewhere, QUICK, 1, tmp_path)


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied"])
def test_damaged_cache_file_is_replaced(tmp_path: Path, trainings: list[int], damage: str) -> None:
    dataset = dataset_of(small_background())
    file = cache_file(dataset, QUICK, 1, tmp_path)
    first = embeddings_for(dataset, QUICK, 1, tmp_path)
    whole = file.read_bytes()
    flipped = whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:]
    file.write_bytes({"cut": whole[: len(whole) // 2], "flipped": flipped, "emptied": b""}[damage])

    notes: list[str] = []
    assert embeddings_for(dataset, QUICK, 1, tmp_path, note=notes.append) == first
    assert trainings == [1, 1]
    assert len(notes) == 1
    assert str(file) in notes[0]
    assert "training the embeddings again" in notes[0]
    assert file.read_bytes() == whole


def test_unwritable_cache_only_logs_a_warning(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    notes: list[str] = []
    dataset = dataset_of(small_background())
    found = embeddings_for(dataset, QUICK, 1, tmp_path / "file" / "folder", note=notes.append)
    assert found.trained.any()
    assert len(notes) == 1
    assert "cannot be kept" in notes[0]


def test_interrupted_training_leaves_no_file(tmp_path: Path) -> None:
    def stop(_now: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embeddings_for(dataset_of(small_background()), QUICK, 1, tmp_path, stop)
    assert list(tmp_path.iterdir()) == []


def test_default_cache_is_in_the_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_HOME", str(tmp_path))
    file = cache_file(dataset_of(small_background()), QUICK, 1)
    assert file.parent == tmp_path / "embeddings"
    assert file.suffix == ".safetensors"
