"""The same claims of both kinds of store."""

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

MET = Fact("newcomer", "Consult", "Peliland", "2023-05-01")
LEFT = Fact("Heskonia", "Accuse", "newcomer", "2023-05-02")
OTHER = Fact("Heskonia", "Accuse", "Peliland", "2023-05-02")
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)


@pytest.fixture
def store(store_place: str) -> Iterator[Store]:
    store = Store.open(store_place)
    yield store
    store.close()


def facts(kept: list[StoredFact]) -> list[Fact]:
    return [one.fact for one in kept]


def test_a_fact_is_found_by_either_end_in_the_order_it_came(store: Store) -> None:
    store.add([MET, LEFT, OTHER])
    assert facts(store.mentioning("newcomer")) == [MET, LEFT]
    assert facts(store.mentioning("Peliland")) == [MET, OTHER]
    assert facts(store.mentioning("nobody")) == []
    assert facts(list(store.all())) == [MET, LEFT, OTHER]


def test_the_latest_are_given_where_only_so_many_are_wanted(store: Store) -> None:
    store.add([MET, LEFT])
    assert facts(store.mentioning("newcomer", most=1)) == [LEFT]


def test_the_same_fact_is_kept_once_under_one_id(store: Store) -> None:
    first, added = store.add([MET, MET, LEFT])
    assert (facts(first), added) == ([MET, LEFT], 2)
    again, added = store.add([LEFT, MET])
    assert added == 0
    assert {one.id for one in again} == {one.id for one in first}
    assert store.count() == 2


def test_what_is_removed_is_gone_and_nothing_else(store: Store) -> None:
    [kept, _, _], _ = store.add([MET, LEFT, OTHER])
    assert store.remove(kept.id) == 1
    assert store.remove(kept.id) == 0
    assert facts(list(store.all())) == [LEFT, OTHER]
    assert store.remove_actor("newcomer") == 1
    assert store.remove_actor("newcomer") == 0
    assert facts(list(store.all())) == [OTHER]


def test_actors_are_counted_by_mention_and_a_deed_to_oneself_counts_once(store: Store) -> None:
    store.add([MET, LEFT, Fact("newcomer", "Consult", "newcomer", "2023-05-03")])
    assert store.actors() == {"newcomer": 3, "Heskonia": 1, "Peliland": 1}
    assert store.actors("LAND") == {"Peliland": 1}
    assert store.actors("%") == {}
    assert list(store.actors(most=1)) == ["newcomer"]
    assert store.mentioned(["Peliland", "nobody", "newcomer"]) == {"Peliland", "newcomer"}


def test_a_check_sees_what_would_be_there_and_can_refuse_it(store: Store) -> None:
    store.add([MET])
    seen: list[StoreUsage] = []

    def refuse(tally: StoreUsage) -> None:
        seen.append(tally)
        raise InputError("no room")

    with pytest.raises(InputError):
        store.add([MET, LEFT, OTHER], refuse)
    assert seen == [StoreUsage(3, {"newcomer": 2, "Heskonia": 2, "Peliland": 2})]
    assert facts(list(store.all())) == [MET]


def test_writers_at_the_same_time_never_pass_a_limit_together(store: Store) -> None:
    def refuse_more_than_ten(tally: StoreUsage) -> None:
        if tally.total > 10:
            raise InputError("no room")

    def add(number: int) -> int:
        try:
            return store.add([MET._replace(subject=f"actor {number}")], refuse_more_than_ten)[1]
        except InputError:
            return 0

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(add, range(40))) == 10
    assert store.count() == 10


def test_facts_are_there_when_the_store_is_opened_again(store_place: str) -> None:
    first, second = Store.open(store_place), Store.open(store_place)
    first.add([MET])
    assert facts(second.mentioning("newcomer")) == [MET]
    first.close()
    second.close()
    third = Store.open(store_place)
    assert facts(list(third.all())) == [MET]
    third.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.builds(Fact, TEXT, TEXT, TEXT, TEXT), max_size=5))
def test_whatever_a_name_holds_comes_back_as_it_was(store: Store, given_facts: list[Fact]) -> None:
    kept, _ = store.add(given_facts)
    assert facts(kept) == list(dict.fromkeys(given_facts))
    for one in kept:
        assert one in store.mentioning(one.fact.subject)
        store.remove(one.id)
    assert store.count() == 0


def test_different_facts_have_different_ids_however_their_names_run_together() -> None:
    assert StoredFact.of(Fact("a", "b c", "d", "1")).id != StoredFact.of(Fact("a b", "c", "d", "1")).id


def test_a_file_that_is_no_store_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no database " * 1000)
    with pytest.raises(InputError, match=r"notes\.txt: cannot be used as a store"):
        Store.open(tmp_path / "notes.txt")
    with pytest.raises(InputError, match="no such folder"):
        Store.open(tmp_path / "nowhere" / "store.sqlite")


def test_a_database_of_another_kind_is_refused_and_a_password_never_shown() -> None:
    with pytest.raises(InputError, match="unknown database; found 'mysql'"):
        Store.open("mysql://user:secret@host/base")
    pytest.importorskip("psycopg")
    with pytest.raises(InputError) as raised:
        Store.open("postgresql://user:secret@127.0.0.1:1/base")
    assert "secret" not in str(raised.value)


def test_sqlite_writes_ahead_and_waits_for_the_disk(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store.sqlite")
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    store.close()
