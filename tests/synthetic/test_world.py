"""Properties of the demo world: size, order, names, new entities, and lookup of facts."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.calendar import Calendar
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.split import split_facts
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.synthetic import SIZES, Rule, World, WorldSize, generate_world, names
from fitcarl.synthetic.verbs import HOSTILE, VERBS


@pytest.fixture(scope="module")
def demo() -> World:
    return generate_world()


@pytest.fixture(scope="module")
def tiny() -> World:
    return generate_world("tiny")


def degrees(world: World) -> NDArray[np.int64]:
    facts, actors = world.facts.quadruples, len(world.facts.vocabulary.entities)
    return np.bincount(facts.subject, minlength=actors) + np.bincount(facts.object, minlength=actors)


def first_days(world: World) -> NDArray[np.int64]:
    facts = world.facts.quadruples
    first = np.full(len(world.facts.vocabulary.entities), 10**6)
    for end in (facts.subject, facts.object):
        np.minimum.at(first, end, facts.time)
    return first


def digest(world: World) -> str:
    sha = hashlib.sha256("\n".join(world.facts.vocabulary.entities).encode())
    for array in (world.facts.quadruples.rows(), world.truth.rule, world.truth.causes, world.facts.concepts.ids):
        sha.update(np.ascontiguousarray(array).tobytes())
    return sha.hexdigest()


# --- facts and names ---


def test_world_is_deterministic(tiny: World) -> None:
    assert digest(generate_world("tiny", seed=7)) == digest(tiny)
    assert digest(generate_world("tiny", seed=8)) != digest(tiny)


def test_world_is_independent_of_the_hash_seed(tiny: World) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_world as t; print(t.digest(t.generate_world('tiny')))"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program, os.path.dirname(__file__)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=60)
        assert done.stdout.strip() == digest(tiny)


def test_facts_are_distinct_and_have_no_self_loops(demo: World) -> None:
    rows = demo.facts.quadruples.rows()
    assert len(np.unique(rows, axis=0)) == len(rows) == demo.facts.rows
    assert not np.any(rows[:, 0] == rows[:, 2])


def test_facts_are_sorted_by_time(demo: World) -> None:
    time = demo.facts.quadruples.time
    assert time[0] == 0
    assert np.all(np.diff(time) >= 0)
    assert demo.facts.calendar.label(0) == "2023-01-01"
    assert demo.facts.calendar.ticks.tolist() == np.unique(time).tolist()


def test_every_entity_has_facts_a_unique_name_and_concepts(demo: World) -> None:
    actors = demo.facts.vocabulary.entities
    assert len(set(actors)) == len(actors) == SIZES["default"].actors
    assert degrees(demo).min() >= 1
    width = np.diff(demo.facts.concepts.offsets)
    assert set(width.tolist()) == {1, 2, 3, 4}
    for actor in range(len(actors)):
        ids = demo.facts.concepts.ids[demo.facts.concepts.offsets[actor] : demo.facts.concepts.offsets[actor + 1]]
        assert np.all(np.diff(ids) > 0)


def test_concepts_and_places_agree_with_names(demo: World) -> None:
    concepts, index = demo.facts.concepts, demo.facts.vocabulary.entity_index
    countries = [name for name, actor in index.items() if concepts.of(actor) == ("Country",)]
    assert len(countries) == SIZES["default"].countries
    for country in countries:
        defence = index[f"Ministry of Defence ({country})"]
        assert set(concepts.of(defence)) == {"Government", "Executive", "Ministry", "Defence"}
        assert "Armed Forces (" + country + ")" in index


def test_country_names_are_invented() -> None:
    real = """Albania Algeria Andorra Armenia Australia Austria Bavaria Bolivia Bosnia Bulgaria Cambodia Catalonia
        Colombia Croatia Denmark Ecuador Estonia Ethiopia Finland Gambia Georgia Greenland Iceland India Indonesia
        Ireland Istria Labrador Latvia Liberia Lithuania Macedonia Malaysia Mauritania Moldavia Mongolia Moravia
        Namibia Nigeria Poland Pomerania Romania Russia Salvador Scandinavia Scotland Serbia Silesia Slovakia Slovenia
        Somalia Swaziland Switzerland Syria Tanzania Tasmania Thailand Transylvania Tunisia Yugoslavia Zambia"""
    assert not set(real.split()) & set(names.country_names(1800, np.random.default_rng(0)))


# --- lookup of facts ---


def test_rows_of_finds_facts_by_ids(tiny: World) -> None:
    facts = tiny.facts.quadruples
    np.testing.assert_array_equal(tiny.truth.rows_of(facts), np.arange(len(facts)))
    s, r, o, t = next(iter(facts))
    unknown = Quadruples.from_rows([(s, r, s, t), (s, r, o, 10**6), (-1, r, o, t)])
    assert tiny.truth.rows_of(unknown).tolist() == [-1, -1, -1]
    with pytest.raises(IndexError):
        tiny.truth.causes_of(len(tiny.truth))


def test_rows_of_finds_the_facts_of_a_split(tiny: World) -> None:
    data = split_facts(tiny.facts, bounds=BENCHMARK_BOUNDS)
    parts = [data.background, data.train.facts, data.valid.facts, data.test.facts, data.dropped]
    rows = np.concatenate([tiny.truth.rows_of(part) for part in parts])
    assert np.array_equal(np.sort(rows), np.arange(len(tiny.truth)))


def test_rows_of_finds_facts_with_other_ids_and_calendar(tiny: World) -> None:
    rng = np.random.default_rng(0)
    facts, vocabulary = tiny.facts.quadruples, tiny.facts.vocabulary
    entity, relation = rng.permutation(len(vocabulary.entities)), rng.permutation(len(vocabulary.relations))
    entities, relations = np.empty(len(entity), object), np.empty(len(relation), object)
    entities[entity], relations[relation] = vocabulary.entities, vocabulary.relations
    later = np.flatnonzero(facts.time >= 5)
    shuffled = facts.take(rng.permutation(later))
    calendar = Calendar.of_granules("day", tiny.facts.calendar.origin + 5 + np.arange(400))
    renamed = Quadruples.of(
        entity[shuffled.subject], relation[shuffled.relation], entity[shuffled.object], shuffled.time - 5
    )
    rows = tiny.rows_of(renamed, Vocabulary(tuple(entities), tuple(relations)), calendar)
    assert facts.take(rows) == shuffled
    unknown_rows = tiny.rows_of(Quadruples.of([0], [0], [0], [0]), Vocabulary(("Unknown",), ("Nothing",)), calendar)
    assert unknown_rows.tolist() == [-1]


# --- new entities ---


def test_new_entities_appear_late_and_have_few_facts(demo: World) -> None:
    new_entities = demo.truth.new_entities
    assert len(new_entities) == SIZES["default"].new_entities
    assert degrees(demo)[new_entities].min() >= 10
    assert degrees(demo)[new_entities].max() <= 25
    assert first_days(demo)[new_entities].min() >= demo.size.days // 2


def test_demo_groups_are_large_enough_to_evaluate(demo: World) -> None:
    degree = degrees(demo)
    assert np.sum((degree >= 10) & (degree <= 25)) >= 200
    data = split_facts(demo.facts, bounds=BENCHMARK_BOUNDS)
    assert len(data.train.entities) >= 80
    assert len(data.valid.entities) >= 10
    assert len(data.test.entities) >= 10


def test_many_facts_of_new_entities_are_reachable_in_two_steps_and_not_copies(demo: World) -> None:
    facts = demo.facts.quadruples
    new = np.zeros(len(degrees(demo)), np.bool_)
    new[demo.truth.new_entities] = True
    met: dict[int, set[int]] = {}
    times: dict[tuple[int, int], int] = {}
    for s, _, o, _ in facts:
        for one, other in ((s, o), (o, s)):
            met.setdefault(one, set()).add(other)
            times[one, other] = times.get((one, other), 0) + 1
    novel = [(e, x) for (e, x), count in times.items() if new[e] and count == 1]
    ends = sum(count for (e, _), count in times.items() if new[e])
    reached = [any(x in met[via] for via in met[e] - {x}) for e, x in novel]
    assert 0.25 <= len(novel) / ends <= 0.6
    assert np.mean(reached) >= 0.85, "all but some ends of referrals, which are three steps away"
    made = demo.truth.rule != Rule.NONE
    assert np.mean(made[new[facts.subject] | new[facts.object]]) >= 0.6


def test_degree_distribution_has_hubs(demo: World) -> None:
    degree = degrees(demo)
    assert degree.max() >= 15 * np.median(degree)
    top = demo.facts.concepts.of(int(degree.argmax()))
    assert top == ("Country",)


# --- sizes ---


@pytest.mark.parametrize("size", ["tiny", "small", "default", 5_000, 40_000])
def test_world_has_the_requested_size(size: str | int) -> None:
    world = generate_world(size)
    assert len(world.facts.quadruples) == world.size.facts
    assert len(world.facts.vocabulary.entities) == world.size.actors
    assert world.size.days - 14 <= world.facts.calendar.span <= world.size.days
    if isinstance(size, int):
        assert world.size.facts == size


def test_only_the_default_size_is_called_demo(demo: World, tiny: World) -> None:
    assert (demo.facts.name, tiny.facts.name) == ("demo", "demo-tiny")
    assert generate_world(3_300).facts.name == "demo-3300"


def test_invalid_size_is_rejected_in_one_line() -> None:
    with pytest.raises(
        InputError,
        match=r"unknown world size; found 'larg'; .* did you mean 'large'",
    ):
        generate_world("larg")
    with pytest.raises(InputError, match="field facts: unsupported world size; found 10; expected 3000"):
        generate_world(10)
    with pytest.raises(InputError, match=r"field blocs.*found 3; expected an even number"):
        WorldSize(actors=200, new_entities=10, facts=5000, days=365, countries=6, blocs=3)
    with pytest.raises(InputError, match=r"field actors.*found 60; expected at least 80 besides the new entities"):
        WorldSize(actors=60, new_entities=10, facts=5000, days=365, countries=6, blocs=2)


@settings(max_examples=15)
@given(
    countries=st.integers(2, 6),
    residents=st.integers(10, 80),
    new_entities=st.integers(0, 30),
    days=st.integers(90, 900),
    seed=st.integers(0, 2**32),
)
def test_worlds_of_any_size_are_consistent(
    countries: int, residents: int, new_entities: int, days: int, seed: int
) -> None:
    actors = 12 * countries + 8 + residents + new_entities
    size = WorldSize(
        actors=actors, new_entities=new_entities, facts=20 * actors, days=days, countries=countries, blocs=2
    )
    world = generate_world(size, seed)
    consistent(world)
    assert len(world.facts.quadruples) >= size.facts


def consistent(world: World) -> None:
    """Checks that hold for every world; fast enough for large ones."""
    facts, truth = world.facts.quadruples, world.truth
    assert len(set(world.facts.vocabulary.entities)) == world.size.actors
    assert np.array_equal(truth.rows_of(facts), np.arange(len(facts))), "distinct facts, each found again"
    assert np.all(np.diff(facts.time) >= 0)
    assert np.all(facts.subject != facts.object)
    effect = np.repeat(np.arange(len(truth)), np.diff(truth.cause_offsets))
    assert np.all(truth.causes < effect)
    assert np.array_equal(np.diff(truth.cause_offsets) > 0, truth.rule != Rule.NONE)
    degree, first = degrees(world)[truth.new_entities], first_days(world)[truth.new_entities]
    assert np.all((degree >= 10) & (degree <= 25))
    assert np.all(first >= world.size.days // 2)

    join = np.flatnonzero(truth.rule == Rule.ENEMY_OF_ENEMY)
    one, other = truth.causes[truth.cause_offsets[join]], truth.causes[truth.cause_offsets[join] + 1]
    hostile = np.array([verb.tone == HOSTILE for verb in VERBS])
    assert np.all(hostile[facts.relation[one]] & hostile[facts.relation[other]])
    assert np.array_equal(facts.object[one], facts.object[other])
    ends = np.sort([facts.subject[join], facts.object[join]], axis=0)
    assert np.array_equal(ends, np.sort([facts.subject[one], facts.subject[other]], axis=0))


@pytest.mark.slow
def test_large_world_is_consistent_and_heavy_tailed() -> None:
    world = generate_world(200_000)
    assert len(world.facts.quadruples) == 200_000
    consistent(world)
    degree = degrees(world)
    assert degree.max() >= 40 * np.median(degree)
    assert min(world.truth.counts().values()) >= 3_000
