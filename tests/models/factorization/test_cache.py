from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fitcarl.config.schema import EmbeddingConfig
from fitcarl.core.progress import Interrupted
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.factorization import pretrain as pretraining
from fitcarl.models.factorization.cache import cache_file, embeddings_for
from fitcarl.models.factorization.embeddings import Embeddings
from tests.models.factorization.graphs import ENTITIES, KNOWN, dataset_of, small_background

QUICK = EmbeddingConfig(dim=8, epochs=1, min_updates=5)


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of all trainings so far."""
    seeds: list[int] = []
    original = pretraining.pretrain

    def counted(*given: Any) -> Embeddings:
        seeds.append(given[4])
        return original(*given)

    monkeypatch.setattr(pretraining, "pretrain", counted)
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
    embeddings_for(dataset_of(facts), QUICK.model_copy(update={"learning_rate": 0.2}), 1, tmp_path)
    embeddings_for(dataset_of(facts), QUICK, 2, tmp_path)
    assert trainings == [1, 1, 1, 2]
    assert len(list(tmp_path.iterdir())) == 4


def test_names_times_and_other_splits_do_not_change_the_cache_key(tmp_path: Path) -> None:
    facts = small_background()
    dataset = dataset_of(facts)
    moved = Quadruples.of(facts.subject, facts.relation, facts.object, facts.time[::-1])
    elsewhere = replace(dataset, name="other", background=moved, dropped=facts)
    assert cache_file(dataset, QUICK, 1, tmp_path) == cache_file(elsewhere, QUICK, 1, tmp_path)


def test_only_background_facts_are_trained_on(tmp_path: Path) -> None:
    """Facts of meta-train, meta-validation and meta-test entities must not leak into the embeddings."""
    dataset = dataset_of(small_background())
    unseen = np.arange(KNOWN, ENTITIES, dtype=np.int32)
    facts = Quadruples.of(unseen, unseen % 3, unseen - KNOWN, unseen % 6)
    plain = embeddings_for(dataset, QUICK, 1, tmp_path / "plain")
    for split in ("train", "valid", "test", "dropped"):
        held_out = facts if split == "dropped" else MetaSet(unseen, facts)
        extended = embeddings_for(replace(dataset, **{split: held_out}), QUICK, 1, tmp_path / split)
        assert extended == plain
        assert not extended.trained[unseen].any()


def test_score_functions_have_separate_files(tmp_path: Path, trainings: list[int]) -> None:
    dataset = dataset_of(small_background())
    real, complex_ = (embeddings_for(dataset, QUICK, 1, tmp_path, score=score) for score in ("distmult", "complex"))
    assert real != complex_
    assert embeddings_for(dataset, QUICK, 1, tmp_path, score="distmult") == real
    assert trainings == [1, 1]


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied"])
def test_damaged_cache_file_is_replaced(
    tmp_path: Path, trainings: list[int], damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    dataset = dataset_of(small_background())
    file = cache_file(dataset, QUICK, 1, tmp_path)
    first = embeddings_for(dataset, QUICK, 1, tmp_path)
    content = file.read_bytes()
    flipped = content[:-40] + bytes([content[-40] ^ 1]) + content[-39:]
    file.write_bytes({"cut": content[: len(content) // 2], "flipped": flipped, "emptied": b""}[damage])

    assert embeddings_for(dataset, QUICK, 1, tmp_path) == first
    assert trainings == [1, 1]
    [warning] = caplog.messages
    assert str(file) in warning
    assert "training the embeddings again" in warning
    assert file.read_bytes() == content


def test_unwritable_cache_only_logs_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    dataset = dataset_of(small_background())
    found = embeddings_for(dataset, QUICK, 1, tmp_path / "file" / "folder")
    assert found.trained.any()
    [warning] = caplog.messages
    assert "cannot be stored" in warning


def test_interrupted_training_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(Interrupted):
        embeddings_for(dataset_of(small_background()), QUICK, 1, tmp_path, should_stop=lambda: True)
    assert list(tmp_path.iterdir()) == []


def test_default_cache_is_in_the_cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_HOME", str(tmp_path))
    file = cache_file(dataset_of(small_background()), QUICK, 1)
    assert file.parent == tmp_path / "embeddings"
    assert file.suffix == ".safetensors"
