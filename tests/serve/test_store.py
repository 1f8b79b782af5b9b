"""SQLite and PostgreSQL stores pass the same tests."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fitcarl.errors import InputError
from fitcarl.predict import Fact
from fitcarl.serve.store import Store, StoredFact, StoreUsage

MET = Fact("Harbour Union", "Consult", "Peliland", "2023-05-01")
LEFT = Fact("Heskonia", "Accuse", "Harbour Union", "2023-05-02")
OTHER = Fact("Heskonia", "Accuse", "Peliland", "2023-05-02")
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)


@pytest.fixture
def store(store_place: str) -> Iterator[Store]:
    store = Store.open(store_place)
    yield store
    store.close()


def facts(stored: list[StoredFact]) -> list[Fact]:
    return [one.fact for one in stored]


def test_facts_are_found_by_subject_and_object_in_order_of_arrival(store: Store) -> None:
    store.add([MET, LEFT, OTHER])
    assert facts(store.mentioning("Harbour Union")) == [MET, LEFT]
    assert facts(store.mentioning("Peliland")) == [MET, OTHER]
    assert facts(store.mentioning("unknown")) == []
    assert facts(list(store.all())) == [MET, LEFT, OTHER]


def test_limit_returns_latest_facts(store: Store) -> None:
    store.add([MET, LEFT])
    assert facts(store.mentioning("Harbour Union", limit=1)) == [LEFT]


def test_duplicate_facts_are_stored_once_with_same_id(store: Store) -> None:
    first, added = store.add([MET, MET, LEFT])
    assert (facts(first), added) == ([MET, LEFT], 2)
    again, added = store.add([LEFT, MET])
    assert added == 0
    assert {one.id for one in again} == {one.id for one in first}
    assert store.count() == 2


def test_remove_deletes_only_the_given_facts(store: Store) -> None:
    [stored, _, _], _ = store.add([MET, LEFT, OTHER])
    assert store.remove(stored.id) == 1
    assert store.remove(stored.id) == 0
    assert facts(list(store.all())) == [LEFT, OTHER]
    assert store.remove_entity("Harbour Union") == 1
    assert store.remove_entity("Harbour Union") == 0
    assert facts(list(store.all())) == [OTHER]


def test_entities_are_counted_by_mention_and_self_loops_count_once(store: Store) -> None:
    store.add([MET, LEFT, Fact("Harbour Union", "Consult", "Harbour Union", "2023-05-03")])
    assert store.entity_counts() == {"Harbour Union": 3, "Heskonia": 1, "Peliland": 1}
    assert store.entity_counts("LAND") == {"Peliland": 1}
    assert store.entity_counts("%") == {}
    assert list(store.entity_counts(limit=1)) == ["Harbour Union"]
    assert store.mentioned(["Peliland", "unknown", "Harbour Union"]) == {"Peliland", "Harbour Union"}


def test_check_gets_resulting_usage_and_can_reject_facts(store: Store) -> None:
    store.add([MET])
    seen: list[StoreUsage] = []

    def reject(usage: StoreUsage) -> None:
        seen.append(usage)
        raise InputError("no room")

    with pytest.raises(InputError):
        store.add([MET, LEFT, OTHER], reject)
    assert seen == [StoreUsage(3, {"Harbour Union": 2, "Heskonia": 2, "Peliland": 2})]
    assert facts(list(store.all())) == [MET]


def test_concurrent_writers_do_not_exceed_limit(store: Store) -> None:
    def reject_more_than_ten(usage: StoreUsage) -> None:
        if usage.total > 10:
            raise InputError("no room")

    def add(number: int) -> int:
        try:
            return store.add([MET._replace(subject=f"entity {number}")], reject_more_than_ten)[1]
        except InputError:
            return 0

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(add, range(40))) == 10
    assert store.count() == 10


def test_facts_persist_after_reopening(store_place: str) -> None:
    first, second = Store.open(store_place), Store.open(store_place)
    first.add([MET])
    assert facts(second.mentioning("Harbour Union")) == [MET]
    first.close()
    second.close()
    third = Store.open(store_place)
    assert facts(list(third.all())) == [MET]
    third.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.builds(Fact, TEXT, TEXT, TEXT, TEXT), max_size=5))
def test_names_round_trip_unchanged(store: Store, given_facts: list[Fact]) -> None:
    stored, _ = store.add(given_facts)
    assert facts(stored) == list(dict.fromkeys(given_facts))
    for one in stored:
        assert one in store.mentioning(one.fact.subject)
        store.remove(one.id)
    assert store.count() == 0


def test_different_facts_have_different_ids() -> None:
    assert StoredFact.from_fact(Fact("a", "b c", "d", "1")).id != StoredFact.from_fact(Fact("a b", "c", "d", "1")).id


def test_invalid_store_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database " * 1000)
    with pytest.raises(InputError, match=r"notes\.txt: cannot be used as a store"):
        Store.open(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="no such folder"):
        Store.open(tmp_path / "nowhere" / "store.sqlite")


def test_unknown_database_is_rejected_and_passwords_are_hidden() -> None:
    with pytest.raises(InputError, match="unknown database; found 'mysql'"):
        Store.open("mysql://user:secret@host/base")
    pytest.importorskip("psycopg")
    with pytest.raises(InputError) as raised:
        Store.open("postgresql://user:secret@127.0.0.1:1/base")
    assert "secret" not in str(raised.value)


def test_sqlite_uses_wal_and_full_sync(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store.sqlite")
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    store.close()
