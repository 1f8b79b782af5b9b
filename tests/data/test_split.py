"""The out-of-graph split against a reference implementation, its properties, and the published datasets."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import SPLITS, Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.io.icews import read_icews
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.split import split_facts
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError

Row = tuple[int, int, int, int]
SMALL = {"bounds": (2, 6), "share": 0.6, "parts": (0.5, 0.25, 0.25)}


def facts_of(rows: list[Row], entities: int | None = None) -> Facts:
    count = max(max(s, o) for s, _, o, _ in rows) + 1 if entities is None else entities
    return Facts(
        name="events",
        quadruples=Quadruples.from_rows(rows),
        vocabulary=Vocabulary(tuple(f"e{i}" for i in range(count)), ("visits", "praises")),
        calendar=Calendar.of_granules("day", range(30)),
        concepts=Concepts.none(count),
        rows=len(rows),
        duplicates=0,
        self_loops=sum(s == o for s, _, o, _ in rows),
    )


@st.composite
def random_facts(draw: st.DrawFn) -> Facts:
    """Facts of a few entities with different numbers of facts, self-loops included."""
    entities = draw(st.integers(16, 40))
    numbers = np.random.default_rng(draw(st.integers(0, 10_000)))
    count = draw(st.integers(2 * entities, 3 * entities))
    ends = (entities * numbers.random((count, 2)) ** draw(st.sampled_from([1.0, 1.5, 2.0]))).astype(int)
    rest = numbers.integers(0, [2, 30], (count, 2))
    rows = dict.fromkeys((int(s), int(r), int(o), int(t)) for (s, o), (r, t) in zip(ends, rest, strict=True))
    return facts_of(list(rows), entities)


def split_or_pass(facts: Facts, seed: int) -> Dataset:
    try:
        return split_facts(facts, seed=seed, **SMALL)
    except InputError:
        assume(False)
        raise


def all_rows(dataset: Dataset) -> list[Row]:
    parts = [dataset.background, dataset.dropped, *(dataset.meta(split).facts for split in SPLITS)]
    return [row for part in parts for row in part]


def plain_split(rows: list[Row], seed: int, low: int, high: int, share: float, parts: tuple[float, ...]):
    """Reference implementation of the recipe, fact by fact."""
    table = np.array(rows)
    np.random.RandomState(seed).shuffle(table)
    frequency = Counter(table[:, 0].tolist())
    frequency.update(table[:, 2].tolist())
    candidates = [entity for entity, count in frequency.items() if low <= count <= high]
    drawn = np.random.RandomState(seed).choice(candidates, int(share * len(candidates)), replace=False).tolist()
    first, second = int(parts[0] * len(drawn)), int(parts[1] * len(drawn))
    groups = [drawn[:first], drawn[first : first + second], drawn[first + second :]]
    background, dropped = [], []
    metas: list[dict[int, list[Row]]] = [{}, {}, {}]
    coin = random.Random(seed)
    for row in map(tuple, table.tolist()):
        homes = [[number for number, group in enumerate(groups) if end in group] for end in (row[0], row[2])]
        unseen = homes[0] + homes[1]
        if not unseen:
            background.append(row)
        elif len(set(unseen)) == 2:
            dropped.append(row)
        else:
            owner = row[coin.randrange(0, 4, 2)] if len(unseen) == 2 else row[0] if homes[0] else row[2]
            metas[unseen[0]].setdefault(owner, []).append(row)
    return background, dropped, [[(owner, *row) for owner, rows in meta.items() for row in rows] for meta in metas]


@given(random_facts(), st.integers(0, 2**32 - 1))
def test_split_matches_the_reference_recipe(facts: Facts, seed: int) -> None:
    dataset = split_or_pass(facts, seed)
    background, dropped, metas = plain_split(
        list(facts.quadruples), seed, *SMALL["bounds"], SMALL["share"], SMALL["parts"]
    )
    assert list(dataset.background) == background
    assert list(dataset.dropped) == dropped
    for split, expected in zip(SPLITS, metas, strict=True):
        meta = dataset.meta(split)
        assert [(owner, *row) for owner, row in zip(meta.entity_of_fact.tolist(), meta.facts, strict=True)] == expected


@given(random_facts(), st.integers(0, 1000))
def test_every_fact_is_in_exactly_one_part(facts: Facts, seed: int) -> None:
    dataset = split_or_pass(facts, seed)
    assert sorted(all_rows(dataset)) == sorted(facts.quadruples)


@given(random_facts(), st.integers(0, 1000))
def test_unseen_entities_are_in_one_group_and_not_in_the_background(facts: Facts, seed: int) -> None:
    dataset = split_or_pass(facts, seed)
    groups = [set(dataset.meta(split).entities.tolist()) for split in SPLITS]
    assert sum(map(len, groups)) == len(set.union(*groups))
    seen = set(dataset.background.subject.tolist()) | set(dataset.background.object.tolist())
    assert not seen & set.union(*groups)
    for split, group in zip(SPLITS, groups, strict=True):
        meta = dataset.meta(split)
        assert len(meta.entities) == len(group), "the facts of an entity are not contiguous"
        assert all(
            owner in (s, o) for owner, (s, _, o, _) in zip(meta.entity_of_fact.tolist(), meta.facts, strict=True)
        )


@given(random_facts(), st.integers(0, 1000), st.randoms(use_true_random=False))
def test_split_is_independent_of_entity_ids(facts: Facts, seed: int, shuffler: random.Random) -> None:
    dataset = split_or_pass(facts, seed)
    number = list(range(len(facts.vocabulary.entities)))
    shuffler.shuffle(number)
    renamed = [(number[s], r, number[o], t) for s, r, o, t in facts.quadruples]
    other = split_facts(facts_of(renamed, len(number)), seed=seed, **SMALL)
    assert [(number[s], r, number[o], t) for s, r, o, t in all_rows(dataset)] == all_rows(other)


def star(entity: int, facts: int, hub: int = 99) -> list[Row]:
    return [(entity, 0, hub, day) if day % 2 else (hub, 1, entity, day) for day in range(facts)]


def stars(*facts: int) -> list[Row]:
    """Entities 0, 1, ... with this many facts each, all with one hub that stays in the background."""
    return [row for entity, count in enumerate(facts) for row in star(entity, count)] + [
        (98, 0, 99, d) for d in range(30)
    ]


THIRDS = (1 / 3, 1 / 3, 1 / 3)


def test_bounds_are_inclusive() -> None:
    dataset = split_facts(facts_of(stars(9, 10, 17, 25, 26)), share=1, parts=THIRDS)
    assert {int(dataset.meta(split).entities[0]) for split in SPLITS} == {1, 2, 3}
    assert sorted(dataset.background) == sorted(star(0, 9) + star(4, 26) + [(98, 0, 99, day) for day in range(30)])
    assert not len(dataset.dropped)


def test_self_loop_counts_twice_and_is_listed_once() -> None:
    rows = [*stars(10, 10, 8), (2, 0, 2, 5)]
    dataset = split_facts(facts_of(rows), share=1, parts=THIRDS)
    meta = next(dataset.meta(split) for split in SPLITS if 2 in dataset.meta(split).entities)
    assert sorted(meta.facts) == sorted([*star(2, 8), (2, 0, 2, 5)])


def test_fact_between_two_groups_is_dropped() -> None:
    rows = [*stars(10, 10, 10), (0, 0, 1, 3), (2, 1, 1, 4)]
    dataset = split_facts(facts_of(rows), share=1, parts=THIRDS)
    assert sorted(dataset.dropped) == [(0, 0, 1, 3), (2, 1, 1, 4)]
    assert [len(dataset.meta(split)) for split in SPLITS] == [10, 10, 10]


def test_swap_exchanges_only_valid_and_test() -> None:
    facts = facts_of(stars(*[12] * 40))
    plain, swapped = split_facts(facts, parts=(0.5, 0.2, 0.3)), split_facts(facts, parts=(0.5, 0.2, 0.3), swap=True)
    assert (plain.valid, plain.test) == (swapped.test, swapped.valid)
    assert plain.valid != plain.test
    assert (plain.background, plain.train, plain.dropped) == (swapped.background, swapped.train, swapped.dropped)


def test_split_depends_on_the_seed() -> None:
    facts = facts_of(stars(*[12] * 40))
    draws = [split_facts(facts, seed=seed) for seed in (42, 42, 43)]
    assert draws[0].digest == draws[1].digest != draws[2].digest
    assert set(draws[0].train.entities) != set(draws[2].train.entities)


def test_global_random_state_is_neither_used_nor_changed() -> None:
    facts = facts_of(stars(*[12] * 40))
    np.random.seed(1)  # noqa: NPY002 - the claim is about this state
    random.seed(1)
    before = np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    first = split_facts(facts)
    assert np.array_equal(before[0], np.random.get_state()[1])  # noqa: NPY002
    assert before[1] == random.getstate()
    random.seed(2)
    assert split_facts(facts).digest == first.digest


def test_group_sizes_are_rounded_down_and_test_takes_the_remainder() -> None:
    dataset = split_facts(facts_of(stars(*[12] * 59)))  # half of 59 is 29: 23.2, 2.9 and the remainder
    assert [len(dataset.meta(split).entities) for split in SPLITS] == [23, 2, 4]


def test_share_is_robust_to_binary_rounding() -> None:
    dataset = split_facts(facts_of(stars(*[12] * 50), 100), share=0.58, parts=(0.4, 0.3, 0.3))
    assert int(50 * 0.58) == 28  # 28.999999999999996
    assert sum(len(dataset.meta(split).entities) for split in SPLITS) == 29


def test_no_entity_within_the_bounds_is_reported_with_counts() -> None:
    rows = [(s, 0, 3, day) for s in range(3) for day in range(9)]
    with pytest.raises(InputError, match="none of 4 has 10 to 25 facts; found '3 with fewer facts and 1 with more'"):
        split_facts(facts_of(rows))


def test_too_few_entities_are_reported_with_the_number_needed() -> None:
    with pytest.raises(InputError, match=r"found '19 with 10 to 25 facts'; expected at least 20 for a share of 0\.5"):
        split_facts(facts_of(stars(*[12] * 19)))
    assert len(split_facts(facts_of(stars(*[12] * 20))).valid.entities) == 1


def test_split_without_background_is_rejected() -> None:
    ring = [(e, 0, (e + 1) % 12, day) for e in range(12) for day in range(6)]
    with pytest.raises(InputError, match="no facts would remain for the background"):
        split_facts(facts_of(ring), share=1, parts=(0.8, 0.1, 0.1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": (0, 5)}, "invalid bounds; found '0 to 5'"),
        ({"bounds": (9, 5)}, "invalid bounds; found '9 to 5'"),
        ({"share": 0.0}, "invalid share; found 0.0"),
        ({"share": 1.5}, "invalid share; found 1.5"),
        ({"share": float("nan")}, "invalid share; found nan"),
        ({"parts": (0.8, 0.1, 0.2)}, "invalid parts; found '0.8/0.1/0.2'"),
        ({"parts": (0.9, 0.1, 0.0)}, "invalid parts; found '0.9/0.1/0'"),
        ({"parts": (0.9, 0.1)}, "invalid parts; found '0.9/0.1'"),
        ({"seed": -1}, "invalid seed; found -1"),
        ({"seed": 2**32}, "invalid seed; found 4294967296"),
    ],
)
def test_invalid_options_are_rejected(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        split_facts(facts_of(stars(*[12] * 40)), **options)


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    ["icews14", pytest.param("icews18", marks=pytest.mark.slow), pytest.param("icews0515", marks=pytest.mark.slow)],
)
def test_published_datasets_are_rebuilt_from_raw_facts_order_included(benchmarks: Path, name: str) -> None:
    dataset = split_facts(read_icews(benchmarks / "raw" / name), swap=name == "icews18")

    def lines(facts: Quadruples, *before: np.ndarray) -> str:
        codes = dataset.calendar.codes_of_ticks(facts.time)
        columns = [column.tolist() for column in (*before, facts.subject, facts.relation, facts.object, codes)]
        return "".join("\t".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))

    official = benchmarks / f"{name}-oog"
    for split in SPLITS:
        meta = dataset.meta(split)
        assert lines(meta.facts, meta.entity_of_fact) == (official / f"meta_{split}.tsv").read_text(encoding="utf-8"), (
            split
        )
    assert lines(dataset.dropped) == (official / "dropped_cross_facts.tsv").read_text(encoding="utf-8")
    assert lines(dataset.background) == (official / "background.tsv").read_text(encoding="utf-8")


def test_too_long_time_span_is_rejected() -> None:
    calendar = Calendar.of_granules("integer", [0, 1, 2_000_000])
    facts = dataclasses.replace(facts_of([(0, 0, 1, 0)]), calendar=calendar)
    with pytest.raises(InputError, match="the time span is too long; found '2000001 ticks'; expected at most 2000000"):
        split_facts(facts)
