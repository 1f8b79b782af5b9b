from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fitcarl.config import EncoderConfig, configure
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.folder import write_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.errors import FitcarlError, InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.learn import trainer
from fitcarl.learn.agent import PlusAgent, Surroundings
from fitcarl.learn.encoding import Rehearsal, encoder_for, train_encoder
from fitcarl.learn.files import read_tensors, write_tensors
from fitcarl.learn.lessons import Lessons
from fitcarl.learn.run import Run, RunFolder
from fitcarl.learn.start import resume, train
from fitcarl.learn.trainer import Stopped
from fitcarl.plus.candidates import Candidates, Shortlist, candidates
from fitcarl.plus.description import FAMILIES
from fitcarl.plus.encoder import Asking, Reader, SupportEncoder, Words, telling_words
from fitcarl.plus.evidence import _best_first
from fitcarl.plus.happenings import around, happened
from fitcarl.plus.names import Names
from fitcarl.plus.statistics import Statistics, count, meetings
from fitcarl.tasks import Queries, Task

SMALL = EncoderConfig(size=16, steps=60, least_steps=60, batch=128)


@pytest.fixture(scope="module")
def encoder(surroundings: Surroundings) -> SupportEncoder:
    return train_encoder(surroundings.graph, 1.0, Names.none(surroundings.graph.entities), SMALL, seed=0)


def said_of(found: Candidates) -> np.ndarray:
    begin = list(FAMILIES).index("encoder")
    first = sum(list(FAMILIES.values())[:begin])
    return found.features[:, first : first + FAMILIES["encoder"]]


def test_what_happened_and_its_gradient_are_those_of_a_plain_sum(surroundings: Surroundings) -> None:
    graph, rng = surroundings.graph, np.random.default_rng(1)
    day, n = meetings(graph), graph.relations.directed
    time = rng.integers(5, 60, 7).astype(np.int32)
    entity, relation = rng.integers(0, graph.entities, 7), rng.integers(0, n, 7)
    place = np.where(np.arange(graph.entities) % 3 == 0, -1, 0)
    place[place == 0] = np.arange((place == 0).sum())
    given = [torch.randn(7, 6), torch.randn(graph.entities, 6), torch.randn(n, n), torch.randn(5)]
    slope = torch.randn(7, place.max() + 1)

    fast = [part.clone().requires_grad_() for part in given]
    mass = happened(around(day, 1.0, entity, relation, time, place), *fast)
    (mass * slope).sum().backward()

    slow = [part.clone().requires_grad_() for part in given]
    rows = []
    for q in range(7):
        row = [torch.zeros(()) for _ in range(place.max() + 1)]
        for t, y, r, x in zip(*(day[f"day_{c}"] for c in ("time", "source", "relation", "target")), strict=True):
            if abs(int(t) - int(time[q])) <= 2 and place[x] >= 0 and entity[q] not in (x, y):
                weight = slow[0][q] @ slow[1][y] + slow[2][relation[q], r] + slow[3][int(t) - int(time[q]) + 2]
                row[place[x]] = row[place[x]] + weight.clamp(max=8).exp()
        rows.append(torch.stack(row))
    plain = torch.stack(rows)
    (plain * slope).sum().backward()

    assert float(mass.detach().max()) > 0
    torch.testing.assert_close(mass, plain, rtol=1e-4, atol=1e-4)
    for one, other in zip(fast, slow, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-3, atol=1e-3)


def test_the_memory_and_its_gradient_are_the_same_on_any_number_of_threads(
    surroundings: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, rng = surroundings.graph, np.random.default_rng(2)
    day, n, queries = meetings(graph), graph.relations.directed, 200
    time, place = rng.integers(5, 60, queries).astype(np.int32), np.arange(graph.entities)
    days = around(day, 1.0, rng.integers(0, graph.entities, queries), rng.integers(0, n, queries), time, place, 20, rng)
    given = [torch.randn(queries, 32), torch.randn(graph.entities, 32), torch.randn(n, n), torch.randn(5)]
    slope = torch.randn(queries, graph.entities)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("FITCARL_THREADS", threads)
        parts = [part.clone().requires_grad_() for part in given]
        mass = happened(days, *parts)
        (mass * slope).sum().backward()
        found.append([mass.detach(), *(part.grad for part in parts)])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_of_many_facts_a_part_stands_for_all(surroundings: Surroundings) -> None:
    graph = surroundings.graph
    day, place = meetings(graph), np.arange(graph.entities)
    time, nobody, relation = np.full(400, 30, dtype=np.int32), np.full(400, -1), np.zeros(400, dtype=np.int64)
    directed = graph.relations.directed
    level = torch.zeros(400, 1), torch.zeros(graph.entities, 1), torch.zeros(directed, directed)
    rng = np.random.default_rng(0)
    windows = [around(day, 1.0, nobody, relation, time, place, most, rng) for most in (1000, 9)]
    full, part = (happened(days, *level, torch.zeros(5)) for days in windows)
    assert not torch.equal(full, part)
    torch.testing.assert_close(part.mean(0), full.mean(0), rtol=0.15, atol=0.15)


def test_it_learns_whom_one_with_such_a_support_deals_with() -> None:
    """Whoever visits door 2i is later asked about window 2i + 1; newcomers are judged by one visit alone."""
    pairs, visitors, relations = 12, 240, RelationIds(2)
    rng = np.random.default_rng(0)
    which = rng.integers(0, pairs, visitors)
    people = 2 * pairs + np.arange(visitors)
    rows = [(p, 0, 2 * w, 3 * t) for t in range(2) for p, w in zip(people, which, strict=True)]
    rows += [(p, 1, 2 * w + 1, 50 + 3 * t) for t in range(2) for p, w in zip(people, which, strict=True)]
    facts = Quadruples(*np.array(rows, dtype=np.int32).T)
    entities = 2 * pairs + visitors + 1
    graph = TemporalGraph.index(facts, entities, relations)
    names = Names.none(entities)
    no_concepts = Concepts((), np.zeros(entities + 1, dtype=np.int64), np.empty(0, dtype=np.int32))
    statistics = count(facts, graph, no_concepts)
    config = EncoderConfig(size=32, steps=500, least_steps=500, batch=128)
    newcomer = np.full(pairs, entities - 1, dtype=np.int32)
    asking = Asking(
        relation=torch.ones(pairs, dtype=torch.int64),
        known=torch.ones(pairs, 1, dtype=torch.bool),
        support_entity=2 * torch.arange(pairs)[:, None],
        support_relation=torch.zeros(pairs, 1, dtype=torch.int64),
        gap=torch.full((pairs, 1), 50.0),
        name=torch.zeros(pairs, 32),
    )
    time = np.full(pairs, 200, dtype=np.int32)
    learned = train_encoder(graph, 1.0, names, config, seed=0)
    found = Reader(learned, statistics).read(asking, newcomer, time)
    assert (found.alone.argmax(1) == 2 * np.arange(pairs) + 1).mean() > 0.9
    assert entities - 1 not in found.likely[:, 0]


def test_the_asked_fact_itself_changes_nothing(
    surroundings: Surroundings, statistics: Statistics, task: Task, encoder: SupportEncoder
) -> None:
    """Facts of the newcomer, planted in the memory of days at the asked time, are not remembered for it."""
    queries = task.queries.take(np.arange(1))
    graph = surroundings.graph.overlay(task.support.facts)
    e, r, x, t = (int(column[0]) for column in (queries.entity, queries.relation, queries.answer, queries.time))
    planted = {
        "day_time": np.append(statistics.day_time, [t, t]),
        "day_source": np.append(statistics.day_source, [e, x]),
        "day_relation": np.append(statistics.day_relation, [r, surroundings.graph.relations.inverse(r)]),
        "day_target": np.append(statistics.day_target, [x, e]),
    }
    order = np.argsort(planted["day_time"], kind="stable")
    leaky = replace(statistics, **{name: part[order].astype(np.int32) for name, part in planted.items()})
    one = candidates(graph, task.support, statistics, queries, Shortlist(500), Reader(encoder, statistics))
    other = candidates(graph, task.support, leaky, queries, Shortlist(500), Reader(encoder, leaky))
    assert said_of(one).any()
    same = {int(entity): row for entity, row in zip(one.entity, said_of(one), strict=True)}
    for entity, row in zip(other.entity, said_of(other), strict=True):
        np.testing.assert_allclose(row, same[int(entity)], atol=1e-5)


def test_without_an_encoder_its_evidence_is_blank(
    surroundings: Surroundings, statistics: Statistics, task: Task
) -> None:
    graph = surroundings.graph.overlay(task.support.facts)
    assert not said_of(candidates(graph, task.support, statistics, task.queries, Shortlist(100))).any()


def test_room_for_more_entities_changes_nothing_for_the_others(
    encoder: SupportEncoder, statistics: Statistics, surroundings: Surroundings, task: Task
) -> None:
    wide_place = surroundings.widened(3)
    queries: Queries = task.queries.take(np.arange(5))
    given = [
        (surroundings.graph, statistics, encoder),
        (wide_place.graph, statistics.widened(3), encoder.widened(3)),
    ]
    found = [
        candidates(
            graph.overlay(task.support.facts), task.support, counts, queries, Shortlist(500), Reader(own, counts)
        )
        for graph, counts, own in given
    ]
    assert found[0].entity.tolist() == found[1].entity.tolist()
    np.testing.assert_allclose(found[0].features, found[1].features, atol=1e-4)


def test_those_who_play_newcomers_are_never_met(
    dataset: Dataset, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = configure("plus", ["learn.tasks=both"], shots=3)
    lessons, met = Lessons(dataset, config), []
    monkeypatch.setattr(trainer, "encoder_for", lambda graph, *_, **__: met.append(graph))
    trainer._encoder(dataset, config, lessons, None, None, RunFolder(tmp_path))
    assert lessons.newcomers is not None
    hidden = np.concatenate(lessons.newcomers.groups)
    degree = np.diff(met[0].base.offsets)
    assert len(hidden)
    assert degree.any()
    assert not degree[hidden].any()


def test_rare_words_do_not_tell_who_somebody_is() -> None:
    texts = [f"Police (Land {i % 2}) unique{i}" for i in range(50)]
    relations, known = RelationIds(1), np.ones(50, dtype=np.bool_)
    ring = Quadruples(*np.array([(i, 0, (i + 1) % 50, i) for i in range(50)], dtype=np.int32).T)
    names = Names.of(texts, TemporalGraph.index(ring, 50, relations))
    telling = telling_words(names, known)
    words = Words.of(names, telling)
    assert {word for word, number in names.number.items() if telling[number] > 0} == {"police", "land", "0", "1"}
    assert words.weight[words.offsets[3] : words.offsets[4]].sum() == pytest.approx(1)
    table = torch.eye(len(names.weight))
    assert float(words.sum(table, np.array([3]))[0, names.number["1"]]) > 0


def test_it_is_made_once_and_read_from_the_cache(surroundings: Surroundings, tmp_path: Path) -> None:
    graph, names = surroundings.graph, Names.none(surroundings.graph.entities)
    config = EncoderConfig(size=8, steps=3, least_steps=3, batch=32)
    told: list[int] = []
    first, seconds = encoder_for(graph, 1.0, names, config, 0, 3, tmp_path, lambda step, _: told.append(step))
    again, same = encoder_for(graph, 1.0, names, config, 0, 1, tmp_path, lambda step, _: told.append(step))
    assert told == [1, 2, 3]
    assert seconds == same
    for name, part in first.state_dict().items():
        assert torch.equal(part, again.state_dict()[name])
    encoder_for(graph, 1.0, names, config, 1, 3, tmp_path, lambda step, _: told.append(step))
    assert len(told) == 6
    damaged = next(iter(tmp_path.glob("*.safetensors")))
    damaged.write_bytes(b"damaged")
    notes: list[str] = []
    for seed in (0, 1):
        encoder_for(graph, 1.0, names, config, seed, 3, tmp_path, lambda step, _: told.append(step), notes.append)
    assert len(told) == 9
    assert [note.split(": ")[1] for note in notes] == ["is damaged; training the encoder again"]
    assert damaged.stat().st_size > 100


def test_a_cache_that_cannot_be_written_is_done_without(surroundings: Surroundings, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    notes: list[str] = []
    config = EncoderConfig(size=8, steps=1, least_steps=1, batch=32)
    names = Names.none(surroundings.graph.entities)
    encoder_for(surroundings.graph, 1.0, names, config, 0, 3, tmp_path / "file", None, notes.append)
    assert "cannot be kept" in notes[0]


@pytest.mark.parametrize("steps", [1, 2, 9, 10, 11])
def test_any_number_of_steps_will_do(surroundings: Surroundings, steps: int) -> None:
    config = EncoderConfig(size=4, steps=steps, least_steps=1, batch=16)
    names = Names.none(surroundings.graph.entities)
    assert torch.isfinite(train_encoder(surroundings.graph, 1 / 24, names, config, 0, shots=5).entity).all()


def test_who_is_looked_at_closely_are_the_best() -> None:
    prior = np.random.default_rng(0).permutation(5000).astype(np.float64)
    prior[7] = -1
    for most in (1, 120, 4998, 6000):
        order = _best_first(prior, most)
        assert order[:most].tolist() == np.argsort(-prior)[: min(most, 4999)].tolist()
        assert sorted(order.tolist()) == [i for i in range(5000) if i != 7]


def test_who_came_later_is_average_and_who_is_not_there_yet_no_answer(
    surroundings: Surroundings, statistics: Statistics, task: Task, encoder: SupportEncoder
) -> None:
    """One whom the encoder has not met, but the graph has, is neither first nor last; without facts nobody answers."""
    busy = int(np.argmax(statistics.degree))
    stranger = SupportEncoder.of(encoder.state_dict())
    known = statistics.degree > 0
    known[busy] = False
    stranger.settle(known)
    gone = replace(statistics, degree=np.where(known, statistics.degree, 0).astype(np.int32))
    graph = surroundings.graph.overlay(task.support.facts)

    def said(reader: Reader) -> np.ndarray:
        found = candidates(graph, task.support, statistics, task.queries, Shortlist(500), reader)
        return said_of(found)[found.entity == busy][:, 0]

    before, average, absent = (
        said(Reader(*given)) for given in ((encoder, statistics), (stranger, statistics), (stranger, gone))
    )
    assert average.std() < before.std()
    assert (absent < average - 1).all()


def test_equal_seeds_give_equal_encoders(surroundings: Surroundings) -> None:
    graph, names = surroundings.graph, Names.none(surroundings.graph.entities)
    config = EncoderConfig(size=8, steps=4, least_steps=4, batch=64)
    one, other = (train_encoder(graph, 1.0, names, config, seed=3) for _ in range(2))
    assert all(torch.equal(part, other.state_dict()[name]) for name, part in one.state_dict().items())
    assert math.isfinite(float(one.entity.sum()))


def test_a_stop_before_the_first_episode_loses_nothing(dataset: Dataset, tmp_path: Path) -> None:
    write_dataset(dataset, tmp_path / "data")
    settings = ["encoder.steps=5", "encoder.least_steps=5", "encoder.size=8", "encoder.batch=64", "plus.queries=20"]
    asked: list[int] = []

    def at_the_third_step() -> bool:
        asked.append(1)
        return len(asked) == 3

    with pytest.raises(Stopped, match="before the first episode"):
        train(tmp_path / "data", out=tmp_path / "run", episodes=1, settings=settings, stop=at_the_third_step)
    assert not RunFolder(tmp_path / "run").encoder.exists()
    told: list[str] = []
    run = resume(tmp_path / "run", note=told.append)
    assert told[0].startswith("the encoder learns from")
    assert run.folder.encoder_seconds() > 0
    run.folder.encoder.write_bytes(b"no")
    with pytest.raises(InputError, match=r"encoder\.safetensors"):
        Run.load(run.folder.path)


def test_a_support_of_itself_and_of_the_asked_fact_is_never_drawn() -> None:
    base = Quadruples(*np.array([(0, 0, 0, 1), (0, 0, 1, 2), (0, 0, 2, 3), (1, 0, 2, 3)], dtype=np.int32).T)
    graph = TemporalGraph.index(base, 3, RelationIds(1))
    rehearsal = Rehearsal(graph, 1.0, Names.none(3), EncoderConfig(batch=500), shots=3)
    edge, support, known = rehearsal._draw(np.random.default_rng(0))
    subject = np.repeat(np.arange(3), np.diff(graph.base.offsets))[edge]
    assert len(edge)
    assert known.any(1).all()
    assert not (known & (support == edge[:, None])).any()
    assert not (known & (graph.base.target[support] == subject[:, None])).any()
    assert not (known & (graph.base.target[support] == graph.base.target[edge][:, None])).any()


def test_newcomers_come_without_a_name_as_often_as_said() -> None:
    texts = [f"Police {i % 2}" for i in range(50)]
    ring = Quadruples(*np.array([(i, 0, (i + 1) % 50, i) for i in range(50)], dtype=np.int32).T)
    graph = TemporalGraph.index(ring, 50, RelationIds(1))
    names, everybody = Names.of(texts, graph), np.arange(50).repeat(20)
    for nameless, share in ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0)):
        config = EncoderConfig(size=4, nameless=nameless)
        rehearsal = Rehearsal(graph, 1.0, names, config, shots=3)
        encoder = SupportEncoder(config, 50, 2, torch.from_numpy(rehearsal.telling))
        said = rehearsal._name(encoder, everybody, np.random.default_rng(0)).detach()
        assert float((said != 0).any(1).float().mean()) == pytest.approx(share, abs=0.05)


def test_a_loss_that_is_no_number_is_said_and_not_kept(surroundings: Surroundings, tmp_path: Path) -> None:
    names = Names.none(surroundings.graph.entities)
    config = EncoderConfig(size=8, steps=60, least_steps=60, batch=32, rate=1e30)
    with pytest.raises(FitcarlError, match=r"smaller encoder\.rate"):
        encoder_for(surroundings.graph, 1.0, names, config, 0, 3, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_named_newcomer_is_read_by_its_name(dataset: Dataset) -> None:
    """The scorer of an agent with names on hears of a newcomer's name through the encoder, too."""
    config = configure("plus+names", shots=3)
    surroundings = Surroundings.of(dataset)
    graph = surroundings.graph
    names = Names.of(surroundings.names, graph)
    small = EncoderConfig(size=8, steps=20, least_steps=20, batch=64)
    agent = PlusAgent(config, surroundings, None, train_encoder(graph, 1.0, names, small, seed=0)).widened(
        surroundings.widened(1)
    )
    word = max(names.number, key=lambda text: float(agent.encoder.telling[names.number[text]]) if agent.encoder else 0)
    new = np.array([graph.entities])
    plain, named = (agent.scorer(names=given)._reader for given in ({}, {graph.entities: word}))
    assert plain is not None
    assert named is not None
    assert not plain.name_of(new).any()
    assert named.name_of(new).any()


def test_a_run_of_an_older_version_says_so(dataset: Dataset, tmp_path: Path) -> None:
    write_dataset(dataset, tmp_path / "data")
    settings = ["features.encoder=off", "plus.queries=20"]
    run = train(tmp_path / "data", out=tmp_path / "run", episodes=1, settings=settings)
    assert not run.folder.encoder.exists()
    parts, about = read_tensors(run.folder.statistics)
    del parts["day_relation"]
    write_tensors(run.folder.statistics, parts, about)
    with pytest.raises(InputError, match=r"older version.*train it again"):
        Run.load(run.folder.path)


def test_an_encoder_of_another_shape_says_so(dataset: Dataset, tmp_path: Path) -> None:
    write_dataset(dataset, tmp_path / "data")
    settings = ["encoder.steps=2", "encoder.least_steps=1", "encoder.size=4", "encoder.batch=16", "plus.queries=20"]
    run = train(tmp_path / "data", out=tmp_path / "run", episodes=1, settings=settings)
    parts, about = read_tensors(run.folder.encoder)
    parts["kin"] = parts["kin"][:, :-1].contiguous()
    write_tensors(run.folder.encoder, parts, about)
    with pytest.raises(InputError, match=r"encoder.safetensors.*older version.*train it again"):
        Run.load(run.folder.path)


def test_the_time_left_is_told_from_the_episodes_alone(
    dataset: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the encoder took, it is done by then."""
    write_dataset(dataset, tmp_path / "data")
    settings = ["encoder.steps=2", "encoder.least_steps=1", "encoder.size=4", "encoder.batch=16", "plus.queries=20"]
    monkeypatch.setattr(trainer, "encoder_for", lambda *given, **ways: (encoder_for(*given, **ways)[0], 1e6))
    left: list[float] = []
    run = train(
        tmp_path / "data",
        out=tmp_path / "run",
        episodes=3,
        settings=settings,
        watch=lambda now: left.append(now.seconds_left),
    )
    assert run.folder.encoder_seconds() == 1e6
    assert len(left) == 3
    assert max(left) < 1e4
    assert left[-1] == 0
