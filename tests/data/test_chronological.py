"""The chronological split: values worked out by hand, its properties, its errors, and its folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fitcarl.data.cuts import Cuts
from fitcarl.data.dataset import SPLITS, Dataset
from fitcarl.data.describe import describe
from fitcarl.data.facts import Facts
from fitcarl.data.holdout import dataset_from_facts
from fitcarl.data.io.dataset_folder import read_dataset, validate, write_dataset
from fitcarl.data.split import split_facts
from fitcarl.errors import InputError
from fitcarl.synthetic import generate_world
from tests.data.test_split import facts_of

KNOWN = [(0, 0, 1, day) for day in range(0, 30, 2)]
"""15 facts between entities 0 and 1, which are known from the first day on."""


def arriving(entity: int, *days: int, other: int = 0) -> list[tuple[int, int, int, int]]:
    return [(entity, 1, other, day) for day in days]


EXAMPLE = [
    *KNOWN,
    *arriving(2, 10, 11, 12, 17, 25),  # meta-train; its facts of days 17 and 25 are too late
    *arriving(3, 16, 17, 18, 19),  # meta-validation
    *arriving(4, 24, 25, 26),  # meta-test
    *arriving(5, 12, 28),  # stays in the background: too few facts
    *arriving(6, 15, 16, 17, 18),  # stays in the background: too few facts before the cut of day 16
    *arriving(4, 27, other=3),  # dropped: between two groups
]


@pytest.fixture
def example() -> Dataset:
    return split_facts(facts_of(EXAMPLE), bounds=(3, None), chronological=True, cut="1970-01-09/1970-01-17/1970-01-21")


def rows_of(dataset: Dataset) -> list[list[tuple[int, int, int, int]]]:
    return [list(dataset.meta(split).facts) for split in SPLITS]


def test_groups_are_divided_by_first_appearance(example: Dataset) -> None:
    assert example.cuts == Cuts(8, 16, 20)
    assert rows_of(example) == [arriving(2, 10, 11, 12), arriving(3, 16, 17, 18, 19), arriving(4, 24, 25, 26)]
    assert sorted(example.dropped) == sorted(arriving(2, 17, 25) + arriving(4, 27, other=3))
    expected = [*KNOWN, *arriving(5, 12, 28), *arriving(6, 15, 16, 17, 18)]
    assert sorted(example.background) == sorted(expected)
    assert example.background.time.tolist() == sorted(example.background.time.tolist())


def test_description_names_the_cuts_and_what_is_dropped(example: Dataset) -> None:
    found = describe(example)
    assert found.cuts == {"train": "1970-01-09", "valid": "1970-01-17", "test": "1970-01-21"}
    assert (found.dropped_facts, found.late_facts, found.emerging_in_background) == (3, 2, 2)
    assert found.to_json()["cuts"] == found.cuts
    assert found.to_json()["groups"]["test"]["times"] == {"first": "1970-01-25", "last": "1970-01-27"}
    text = found.render()
    assert "1 facts between unseen entities of different groups are dropped." in text
    assert "2 facts of unseen entities at or after the cut of the next group are dropped." in text


@pytest.fixture
def daily() -> Facts:
    """Known entities, and entities 2 to 11 of which one arrives each day from day 10 on, with two facts."""
    return facts_of(KNOWN + [(2 + day, relation, relation, 10 + day) for day in range(10) for relation in (0, 1)])


def test_parts_divide_the_emerging_entities_by_arrival(daily: Facts) -> None:
    dataset = split_facts(daily, bounds=(2, None), chronological=True, parts=(0.5, 0.2, 0.3))
    groups = [dataset.meta(split).entities.tolist() for split in SPLITS]
    assert groups == [[2, 3, 4, 5, 6], [7, 8], [9, 10, 11]]


@pytest.mark.parametrize("cut", [0.4, "0.4", "40%", "1970-01-14", "1970-01-14/1970-01-18/1970-01-19"])
def test_cut_is_a_date_or_a_share_of_the_facts(daily: Facts, cut: str | float) -> None:
    """Of 35 facts, the 15th is on day 13. 7 entities arrive from then on; after 60 and 80 %, on days 17 and 18."""
    dataset = split_facts(daily, bounds=(2, None), chronological=True, cut=cut)
    assert dataset.cuts == Cuts(13, 17, 18)
    assert [dataset.meta(split).entities.tolist() for split in SPLITS] == [[5, 6, 7, 8], [9], [10, 11]]


@st.composite
def arriving_facts(draw: st.DrawFn) -> Facts:
    """Facts of entities that arrive over time, with repetitions on one day and facts between emerging entities."""
    entities = draw(st.integers(12, 40))
    numbers = np.random.default_rng(draw(st.integers(0, 10_000)))
    arrival = np.sort(numbers.integers(0, 28, entities))
    count = draw(st.integers(5 * entities, 10 * entities))
    subject, object = numbers.integers(0, entities, (2, count))
    time = np.maximum(arrival[subject], arrival[object]) + numbers.integers(0, 6, count)
    columns = (subject, numbers.integers(0, 2, count), object, time.clip(max=29))
    return facts_of(list(dict.fromkeys(zip(*(column.tolist() for column in columns), strict=True))), entities)


def split_or_pass(facts: Facts, **options: object) -> Dataset:
    try:
        return split_facts(facts, chronological=True, **options)
    except InputError:
        assume(False)
        raise


OPTIONS = st.fixed_dictionaries(
    {
        "bounds": st.sampled_from([(1, None), (2, 8), (4, 50)]),
        "cut": st.sampled_from([None, 0.2, "0.4", "1970-01-12", "0.2/0.5/0.7"]),
        "seed": st.integers(0, 1000),
    }
)


@given(arriving_facts(), OPTIONS)
def test_unseen_entities_appear_in_the_time_of_their_group(facts: Facts, options: dict[str, object]) -> None:
    dataset = split_or_pass(facts, **options)
    validate(dataset)
    assert dataset.cuts is not None
    first: dict[int, int] = {}
    for s, _, o, t in facts.quadruples:
        first[s], first[o] = min(first.get(s, t), t), min(first.get(o, t), t)
    cuts = [*dataset.cuts.starts, 30]
    assert cuts == sorted(cuts)
    for number, split in enumerate(SPLITS):
        meta = dataset.meta(split)
        for entity in meta.entities.tolist():
            assert cuts[number] <= first[entity] < cuts[number + 1]
        assert all(cuts[number] <= time < cuts[number + 1] for time in meta.facts.time.tolist())


@given(arriving_facts(), OPTIONS)
def test_parts_are_disjoint_and_complete(facts: Facts, options: dict[str, object]) -> None:
    dataset = split_or_pass(facts, **options)
    groups = [set(dataset.meta(split).entities.tolist()) for split in SPLITS]
    assert all(groups)
    assert sum(map(len, groups)) == len(set.union(*groups))
    known = set(dataset.background.subject.tolist()) | set(dataset.background.object.tolist())
    assert not known & set.union(*groups)
    assert sorted(dataset.everything) == sorted(facts.quadruples)


@given(arriving_facts(), OPTIONS, st.integers(0, 100))
def test_same_facts_give_the_same_split_in_any_order(facts: Facts, options: dict[str, object], order: int) -> None:
    rows = np.random.default_rng(order).permutation(len(facts.quadruples))
    shuffled = replace(facts, quadruples=facts.quadruples.take(rows))
    one, again = split_or_pass(facts, **options), split_or_pass(shuffled, **options)
    assert one.digest == again.digest
    assert one.dropped == again.dropped


@given(arriving_facts(), OPTIONS, st.integers(0, 100))
def test_facts_after_a_cut_do_not_change_what_was_before(facts: Facts, options: dict[str, object], seed: int) -> None:
    """The unseen entities of a group and their facts follow from the facts before the next cut."""
    options = options | {"cut": "1970-01-06/1970-01-12/1970-01-18"}
    dataset = split_or_pass(facts, **options)
    late = facts.quadruples.time >= 17
    rows = facts.quadruples.rows().copy()
    rows[late, 1] = np.random.default_rng(seed).integers(0, 2, late.sum())
    other = split_or_pass(
        facts_of([*dict.fromkeys(map(tuple, rows.tolist()))], len(facts.vocabulary.entities)), **options
    )
    assert other.train == dataset.train
    assert other.valid == dataset.valid


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"cut": "1970-03-01"}, "outside the data"),
        ({"cut": "1970-01-01"}, "outside the data"),
        ({"cut": "0.0"}, "between 0 and 1"),
        ({"cut": 1.5}, "between 0 and 1"),
        ({"cut": "soon"}, "invalid cut"),
        ({"cut": "0.2/0.5"}, "one or three"),
        ({"cut": "0.5/0.2/0.7"}, "cuts out of order"),
        ({"cut": "1970-01-29"}, "too few entities|no entity can become unseen"),
        ({"cut": "1970-01-09/1970-01-10/1970-01-21"}, "too few entities for meta-train"),
        ({"bounds": (90, None)}, "no entity can become unseen"),
        ({"share": 0.5}, "field share: does not apply to a chronological split"),
        ({"swap": True}, "field swap: does not apply to a chronological split"),
        ({"parts": (0.8, 0.1, 0.1), "cut": "0.2/0.5/0.7"}, "field parts"),
        ({"parts": (0.8, 0.1, 0.2)}, "invalid parts"),
    ],
)
def test_unusable_options_are_one_line(options: dict[str, object], expected: str) -> None:
    with pytest.raises(InputError, match=expected) as raised:
        split_facts(facts_of(EXAMPLE), chronological=True, **options)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_cut_is_for_chronological_splits_only() -> None:
    with pytest.raises(InputError, match="applies to a chronological split only"):
        split_facts(facts_of(EXAMPLE), cut=0.5)


def test_folder_keeps_the_cuts(example: Dataset, tmp_path: Path) -> None:
    write_dataset(example, tmp_path / "mine")
    assert (tmp_path / "mine" / "cuts.tsv").read_text() == "train\t1970-01-09\nvalid\t1970-01-17\ntest\t1970-01-21\n"
    found = read_dataset(tmp_path / "mine")
    assert found.cuts == example.cuts
    assert found.digest == example.digest != replace(example, cuts=None).digest
    write_dataset(replace(example, cuts=None), tmp_path / "mine", overwrite=True)
    assert read_dataset(tmp_path / "mine").cuts is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("train\t1970-01-09\n", "not the cuts of three groups"),
        ("train\tsoon\nvalid\t1970-01-17\ntest\t1970-01-21\n", "cuts.tsv, row 1, field time: not a date"),
        ("train\t1970-01-09\nvalid\t1970-01-05\ntest\t1970-01-21\n", "cuts.tsv, row 2, field time: cuts out of order"),
        (
            "train\t1970-01-09\nvalid\t1970-01-18\ntest\t1970-01-21\n",
            "meta_valid.tsv, row 1, field time: a time outside",
        ),
        (
            "train\t1970-01-09\nvalid\t1970-01-12\ntest\t1970-01-21\n",
            "meta_train.tsv, row 2, field time: a time outside",
        ),
    ],
)
def test_cuts_that_do_not_fit_the_facts_are_rejected(
    example: Dataset, tmp_path: Path, text: str, expected: str
) -> None:
    write_dataset(example, tmp_path / "mine")
    (tmp_path / "mine" / "cuts.tsv").write_text(text)
    with pytest.raises(InputError, match=expected):
        read_dataset(tmp_path / "mine")


@pytest.mark.parametrize("meta_train", [False, True])
def test_plain_facts_are_validated_on_the_most_recent_emerging(meta_train: bool) -> None:
    facts = generate_world("tiny").facts
    dataset, held_out = dataset_from_facts(facts, 2, 0, meta_train=meta_train, chronological=True)
    validate(dataset)
    assert sorted(dataset.everything) == sorted(facts.quadruples)
    assert dataset.cuts is not None
    first = {e: min(t for s, _, o, t in facts.quadruples if e in (s, o)) for e in range(110)}
    assert held_out.test is not None
    valid, test = held_out.valid.groups[0].tolist(), held_out.test.groups[0].tolist()
    assert set(dataset.valid.entities.tolist()) <= set(valid)
    assert set(dataset.test.entities.tolist()) <= set(test)
    assert min(first[entity] for entity in valid) == dataset.cuts.valid
    assert max(first[entity] for entity in valid) < dataset.cuts.test == min(first[entity] for entity in test)
    assert min(len(valid), len(test)) >= 5
    facts_before = np.count_nonzero(facts.quadruples.time < dataset.cuts.valid)
    assert facts_before >= 0.5 * len(facts.quadruples)
    later = [e for e, time in first.items() if time >= dataset.cuts.test and e not in test]
    count = {e: sum(e in (s, o) for s, _, o, _ in facts.quadruples) for e in later}
    assert all(not 3 <= number <= 40 for number in count.values())
    assert (dataset.valid.facts.time < dataset.cuts.test).all()
    assert bool(len(dataset.train)) == meta_train
    assert (dataset.train.facts.time < dataset.cuts.valid).all()


def test_plain_facts_without_emerging_entities_are_validated_on_random_entities() -> None:
    facts = facts_of([(s, 0, o, t) for t in range(12) for s in range(10) for o in (s + 1, s + 2)])
    found, random = (dataset_from_facts(facts, 2, 0, chronological=value)[0] for value in (True, False))
    assert found.cuts is None
    assert found.digest == random.digest
