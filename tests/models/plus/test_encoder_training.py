"""Training of the encoder, its cache, and its file in a run."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config.schema import EncoderConfig
from fitcarl.config.settings import configure
from fitcarl.core.process_group import ONE_PROCESS, BatchShard
from fitcarl.core.progress import Progress
from fitcarl.core.storage import Artifacts
from fitcarl.core.thread_shards import thread_shards
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import write_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import FitcarlError, InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext, Preparation
from fitcarl.models.plus import parts
from fitcarl.models.plus.encoder.batches import EncoderBatches
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.encoder.optimizer import EncoderOptimizer
from fitcarl.models.plus.encoder.training import load_or_train_encoder, train_encoder
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.tasks.sampler import TaskSampler
from fitcarl.training.api import TrainingInterrupted, resume, train

TINY = (
    "encoder.max_updates=2",
    "encoder.min_updates=1",
    "encoder.dim=4",
    "encoder.batch_size=16",
    "policy.queries_per_episode=20",
)


@pytest.fixture
def data(dataset: Dataset, tmp_path: Path) -> Path:
    write_dataset(dataset, tmp_path / "data")
    return tmp_path / "data"


def test_encoder_is_trained_without_pseudo_unseen_entities(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = configure("plus", ["training.tasks=both", "encoder.max_updates=1", "encoder.min_updates=1"], shots=3)
    sampler, graphs = TaskSampler(dataset, config), []

    def record(graph: TemporalGraph, *given: object, **ways: object) -> object:
        graphs.append(graph)
        return load_or_train_encoder(graph, *given, **ways)  # type: ignore[arg-type]

    monkeypatch.setattr(parts, "load_or_train_encoder", record)
    context, visible = GraphContext.from_dataset(dataset), sampler.always_visible_facts
    PlusModel.prepare(
        Preparation(dataset, config, context, visible, Artifacts(tmp_path), lambda _now: None, lambda: False)
    )
    assert sampler.pseudo_unseen is not None
    hidden = np.concatenate(sampler.pseudo_unseen.groups)
    degree = np.diff(graphs[0].base.offsets)
    assert len(hidden)
    assert degree.any()
    assert not degree[hidden].any()


def test_encoder_is_trained_once_and_read_from_cache(
    context: GraphContext, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    graph, names = context.graph, Names.empty(context.graph.entities)
    config = EncoderConfig(dim=8, max_updates=3, min_updates=3, batch_size=32)
    updates: list[int] = []

    def record(progress: Progress) -> None:
        updates.append(progress.done)

    first, seconds = load_or_train_encoder(graph, 1.0, names, config, 0, 3, tmp_path, record)
    again, same = load_or_train_encoder(graph, 1.0, names, config, 0, 1, tmp_path, record)
    assert updates == [1, 2, 3]
    assert seconds == same
    for name, part in first.state_dict().items():
        assert torch.equal(part, again.state_dict()[name])
    load_or_train_encoder(graph, 1.0, names, config, 1, 3, tmp_path, record)
    assert len(updates) == 6
    damaged = next(iter(tmp_path.glob("*.safetensors")))
    damaged.write_bytes(b"damaged")
    for seed in (0, 1):
        load_or_train_encoder(graph, 1.0, names, config, seed, 3, tmp_path, record)
    assert len(updates) == 9
    assert [line.split(": ")[1] for line in caplog.messages] == ["is damaged; training the encoder again"]
    assert damaged.stat().st_size > 100


def test_unwritable_cache_is_skipped(context: GraphContext, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("not a folder")
    config = EncoderConfig(dim=8, max_updates=1, min_updates=1, batch_size=32)
    names = Names.empty(context.graph.entities)
    load_or_train_encoder(context.graph, 1.0, names, config, 0, 3, tmp_path / "file")
    assert "cannot be cached" in caplog.text


@pytest.mark.parametrize("steps", [1, 2, 9, 10, 11])
def test_any_number_of_updates_works(context: GraphContext, steps: int) -> None:
    config = EncoderConfig(dim=4, max_updates=steps, min_updates=1, batch_size=16)
    names = Names.empty(context.graph.entities)
    assert torch.isfinite(train_encoder(context.graph, 1 / 24, names, config, 0, shots=5).entity).all()


def test_equal_seeds_give_equal_encoders(context: GraphContext) -> None:
    graph, names = context.graph, Names.empty(context.graph.entities)
    config = EncoderConfig(dim=8, max_updates=4, min_updates=4, batch_size=64)
    one, other = (train_encoder(graph, 1.0, names, config, seed=3) for _ in range(2))
    assert all(torch.equal(part, other.state_dict()[name]) for name, part in one.state_dict().items())
    assert math.isfinite(float(one.entity.sum()))


def test_no_batch_is_drawn_any_more_after_an_error(context: GraphContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_THREADS", "2")
    config = EncoderConfig(dim=4, max_updates=9, min_updates=9, batch_size=16)
    draw, failed, began, ended = EncoderBatches.draw, threading.Event(), [], []

    def draw_slowly(batches: EncoderBatches, rng: np.random.Generator) -> object:
        began.append(1)
        if len(began) == 2:
            failed.wait(10)
            time.sleep(0.3)
        batch = draw(batches, rng)
        ended.append(1)
        return batch

    def fail(_: Progress) -> None:
        failed.set()
        raise ValueError("stopped")

    monkeypatch.setattr(EncoderBatches, "draw", draw_slowly)
    with pytest.raises(ValueError, match="stopped") as error:
        train_encoder(context.graph, 1.0, Names.empty(context.graph.entities), config, seed=0, on_progress=fail)
    assert error.tb is not None  # which keeps everything that the training has created
    assert len(began) == len(ended) == 2


def test_stop_during_encoder_training_can_be_resumed(
    data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = [
        "encoder.max_updates=5",
        "encoder.min_updates=5",
        "encoder.dim=8",
        "encoder.batch_size=64",
        "policy.queries_per_episode=20",
    ]
    calls: list[int] = []

    def at_third_update() -> bool:
        calls.append(1)
        return len(calls) == 3

    with pytest.raises(TrainingInterrupted, match="before the first episode"):
        train(data, out=tmp_path / "run", episodes=1, settings=settings, should_stop=at_third_update)
    assert not RunFolder(tmp_path / "run").artifacts.exists("encoder")
    caplog.set_level("INFO", "fitcarl")
    run = resume(tmp_path / "run")
    assert caplog.messages[1].startswith("pre-training the encoder on")
    assert run.folder.artifacts.read("encoder")[1]["seconds"] > 0
    run.folder.artifacts.path("encoder").write_bytes(b"no")
    with pytest.raises(InputError, match=r"encoder\.safetensors"):
        Run.load(run.folder.path)


def test_support_excludes_self_loops_and_the_query_fact() -> None:
    base = Quadruples(*np.array([(0, 0, 0, 1), (0, 0, 1, 2), (0, 0, 2, 3), (1, 0, 2, 3)], dtype=np.int32).T)
    graph = TemporalGraph.from_facts(base, 3, RelationIds(1))
    batches = EncoderBatches(graph, 1.0, Names.empty(3), EncoderConfig(batch_size=500), shots=3)
    edge, support, known = batches._draw(np.random.default_rng(0))
    subject = np.repeat(np.arange(3), np.diff(graph.base.offsets))[edge]
    assert len(edge)
    assert known.any(1).all()
    assert not (known & (support == edge[:, None])).any()
    assert not (known & (graph.base.target[support] == subject[:, None])).any()
    assert not (known & (graph.base.target[support] == graph.base.target[edge][:, None])).any()


def test_name_dropout_is_the_share_of_queries_without_name() -> None:
    graph, names = ring_of_police()
    for dropout, share in ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)):
        batches = EncoderBatches(graph, 1.0, names, EncoderConfig(dim=4, name_dropout=dropout), shots=3)
        named = batches._draw_named(1000, np.random.default_rng(0))
        assert float(named.mean()) == pytest.approx(share, abs=0.05)


def test_queries_without_name_do_not_depend_on_it() -> None:
    graph, names = ring_of_police()
    config = EncoderConfig(dim=4, dropout=0.0, name_dropout=0.5)
    batches = EncoderBatches(graph, 1.0, names, config, shots=3)
    encoder = SupportEncoder(config, 50, 2, torch.from_numpy(batches.word_weight))
    batch = batches.draw(np.random.default_rng(0))
    assert batch is not None
    batch.select_rows(encoder)
    assert batch.named.any()
    assert not batch.named.all()
    for named in (True, False):
        (rows,) = np.nonzero(batch.named == named)
        one = ONE_PROCESS.shard(len(batch.edge))
        shard = BatchShard(slice(int(rows[0]), int(rows[0]) + 1), 1 / len(batch.edge), one.total)
        (gradient,) = torch.autograd.grad(batches.loss(encoder, batch, shard), [encoder.word_input])
        assert bool((gradient != 0).any()) == named


def ring_of_police() -> tuple[TemporalGraph, Names]:
    """50 entities in a ring, each with facts with four others, and names of two words that many share."""
    facts = [(i, 0, (i + step) % 50, i + step) for i in range(50) for step in (1, 3)]
    ring = Quadruples(*np.array(facts, dtype=np.int32).T)
    graph = TemporalGraph.from_facts(ring, 50, RelationIds(1))
    return graph, Names.from_texts([f"Police {i % 2}" for i in range(50)], graph)


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_shards_add_up_to_the_loss_and_gradients_of_the_batch(parts: int) -> None:
    graph, names = ring_of_police()
    config = EncoderConfig(dim=8, dropout=0.3)
    batches = EncoderBatches(graph, 1.0, names, config, shots=3)
    torch.manual_seed(1)
    encoder = SupportEncoder(config, 50, 2, torch.from_numpy(batches.word_weight))
    optimizer = EncoderOptimizer(encoder)

    def computed(parts: int, monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
        monkeypatch.setenv("FITCARL_THREADS", str(parts))
        torch.manual_seed(2)
        batch = batches.draw(np.random.default_rng(3))
        assert batch is not None
        batch.select_rows(encoder)
        shards = thread_shards(ONE_PROCESS.shard(len(batch.edge)), torch.device("cpu"))
        assert len(shards) == parts
        loss = optimizer.differentiate(shards, lambda shard: batches.loss(encoder, batch, shard))
        assert encoder.selected is not None
        gradients = [part.grad for part in (*encoder.parameters(), encoder.selected.rows) if part.grad is not None]
        return [loss, *gradients]

    with pytest.MonkeyPatch.context() as monkeypatch:
        expected, found = computed(1, monkeypatch), computed(parts, monkeypatch)
    assert len(found) == len(expected) > 20
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(one, other, atol=1e-6, rtol=1e-4)


def test_encoder_with_non_finite_loss_is_not_cached(context: GraphContext, tmp_path: Path) -> None:
    names = Names.empty(context.graph.entities)
    config = EncoderConfig(dim=8, max_updates=60, min_updates=60, batch_size=32, learning_rate=1e30)
    with pytest.raises(FitcarlError, match=r"smaller encoder\.learning_rate"):
        load_or_train_encoder(context.graph, 1.0, names, config, 0, 3, tmp_path)
    assert not list(tmp_path.iterdir())


def test_statistics_of_an_older_version_are_reported(data: Path, tmp_path: Path) -> None:
    settings = ["features.encoder=off", "policy.queries_per_episode=20"]
    run = train(data, out=tmp_path / "run", episodes=1, settings=settings)
    assert not run.folder.artifacts.exists("encoder")
    parts, about = run.folder.artifacts.read("statistics")
    del parts["excitation"]
    run.folder.artifacts.write("statistics", parts, about)
    run.folder.write_manifest()
    with pytest.raises(InputError, match=r"older version.*train it again"):
        Run.load(run.folder.path)


def test_encoder_of_another_shape_is_reported(data: Path, tmp_path: Path) -> None:
    run = train(data, out=tmp_path / "run", episodes=1, settings=TINY)
    parts, about = run.folder.artifacts.read("encoder")
    parts["key_embedding"] = parts["key_embedding"][:, :-1].contiguous()
    run.folder.artifacts.write("encoder", parts, about)
    run.folder.write_manifest()
    with pytest.raises(InputError, match=r"encoder.safetensors.*older version.*train it again"):
        Run.load(run.folder.path)


def test_remaining_time_is_estimated_from_episodes_only(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The training time of the encoder is not part of the estimate."""
    monkeypatch.setattr(
        parts, "load_or_train_encoder", lambda *given, **ways: (load_or_train_encoder(*given, **ways)[0], 1e6)
    )
    left: list[float] = []

    def on_progress(now: Progress) -> None:
        if now.stage == "training":
            left.append(now.seconds_left or 0.0)

    run = train(data, out=tmp_path / "run", episodes=3, settings=TINY, on_progress=on_progress)
    assert run.folder.artifacts.read("encoder")[1]["seconds"] == 1e6
    assert len(left) == 3
    assert max(left) < 1e4
    assert left[-1] == 0
