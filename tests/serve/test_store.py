"""SQLite and PostgreSQL stores pass the same tests."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sql
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import SQLAlchemyError

from fitcarl.errors import InputError
from fitcarl.predict import Fact
from fitcarl.serve.name_index import NameIndex
from fitcarl.serve.store import FactSpace, KnownNames, Store, StoredFact, StoreUsage
from fitcarl.serve.tables import open_engine

MET = Fact("Harbour Union", "Consult", "Peliland", "2023-05-01")
LEFT = Fact("Heskonia", "Accuse", "Harbour Union", "2023-05-02")
OTHER = Fact("Heskonia", "Accuse", "Peliland", "2023-05-02")
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=30)


@pytest.fixture
def opened(store_place: str) -> Iterator[Store]:
    store = Store.open(store_place)
    yield store
    store.close()


@pytest.fixture
def store(opened: Store) -> FactSpace:
    return opened.space()


def facts(stored: list[StoredFact]) -> list[Fact]:
    return [one.fact for one in stored]


def test_facts_are_found_by_subject_and_object_in_order_of_arrival(store: FactSpace) -> None:
    store.add([MET, LEFT, OTHER])
    assert facts(store.mentioning("Harbour Union")) == [MET, LEFT]
    assert facts(store.mentioning("Peliland")) == [MET, OTHER]
    assert facts(store.mentioning("unknown")) == []
    assert facts(list(store.all())) == [MET, LEFT, OTHER]


def test_limit_returns_latest_facts(store: FactSpace) -> None:
    store.add([MET, LEFT])
    assert facts(store.mentioning("Harbour Union", limit=1)) == [LEFT]


def test_duplicate_facts_are_stored_once_with_same_id(store: FactSpace) -> None:
    first, added = store.add([MET, MET, LEFT])
    assert (facts(first), added) == ([MET, LEFT], 2)
    again, added = store.add([LEFT, MET])
    assert added == 0
    assert {one.id for one in again} == {one.id for one in first}
    assert store.count() == 2


def test_remove_deletes_only_the_given_facts(store: FactSpace) -> None:
    [stored, _, _], _ = store.add([MET, LEFT, OTHER])
    assert store.remove(stored.id) == 1
    assert store.remove(stored.id) == 0
    assert facts(list(store.all())) == [LEFT, OTHER]
    assert store.remove_entity("Harbour Union") == 1
    assert store.remove_entity("Harbour Union") == 0
    assert facts(list(store.all())) == [OTHER]


def test_entities_are_counted_by_mention_and_self_loops_count_once(store: FactSpace) -> None:
    store.add([MET, LEFT, Fact("Harbour Union", "Consult", "Harbour Union", "2023-05-03")])
    assert [(one.name, one.facts) for one in store.names()] == [("Harbour Union", 3), ("Heskonia", 1), ("Peliland", 1)]
    assert [one.name for one in store.names("LAND")] == ["Peliland"]
    assert store.names("%") == store.names("_") == []
    assert [one.name for one in store.names(limit=1)] == ["Harbour Union"]
    assert store.mentioned(["Peliland", "unknown", "Harbour Union"]) == {"Peliland", "Harbour Union"}


def test_counts_of_names_follow_every_change(store: FactSpace, opened: Store) -> None:
    loop = Fact("Harbour Union", "Consult", "Harbour Union", "2023-05-03")
    stored, _ = store.add([MET, LEFT, OTHER, loop])
    store.remove(stored[0].id)
    assert [(one.name, one.facts) for one in store.names()] == [("Harbour Union", 2), ("Heskonia", 2), ("Peliland", 1)]
    store.remove_entity("Heskonia")
    assert [(one.name, one.facts) for one in store.names()] == [("Harbour Union", 1)]
    store.remove_entity("Harbour Union")
    assert store.names() == []
    assert (store.count(), opened.count()) == (0, 0)


def test_search_ignores_case_of_all_letters(store: FactSpace) -> None:
    store.add([MET._replace(subject="ÖSTERREICH"), MET._replace(subject="Straße 5")])
    assert [one.name for one in store.names("österr")] == ["ÖSTERREICH"]
    assert [one.name for one in store.names("STRASSE")] == ["Straße 5"]


def test_searches_see_names_of_other_services_and_no_deleted_ones(opened: Store) -> None:
    one, other = opened.space(), opened.space()
    one.add([MET])
    assert [found.name for found in one.names("union")] == ["Harbour Union"]
    other.add([MET._replace(subject="Miners Union")])
    assert [found.name for found in one.names("UNION")] == ["Harbour Union", "Miners Union"]
    other.remove_entity("Harbour Union")
    assert [found.name for found in one.names("union")] == ["Miners Union"]
    one.add([MET])
    assert [found.name for found in one.names("union")] == ["Harbour Union", "Miners Union"]


@pytest.mark.parametrize("count", [300, 900])
def test_frequent_and_rare_texts_give_the_same_list(store: FactSpace, count: int) -> None:
    store.add([MET._replace(subject=f"Union {number}") for number in range(count)])
    assert [one.name for one in store.names("ion", 3)] == ["Union 0", "Union 1", "Union 10"]
    assert len(store.names("ion")) == count
    assert store.names("union 299")[0].name == "Union 299"
    assert store.names("onion") == store.names("\n") == []


@given(st.lists(TEXT.filter(lambda name: "\n" not in name), max_size=12), TEXT, st.integers(1, 5))
def test_index_finds_what_a_loop_finds(names: list[str], text: str, limit: int) -> None:
    index = NameIndex()
    index.add(enumerate(names[:5], 1))
    index.add(enumerate(names[5:], 6))
    for folded in (text.casefold(), text[:1].casefold()):
        expected = list(dict.fromkeys(name for name in names if folded in name.casefold() and "\n" not in folded))
        assert index.find(folded, limit) == (expected if len(expected) <= limit else None)
    assert (len(index), index.last) == (len(names), len(names))


def test_sqlite_looks_up_names_and_ids(tmp_path: Path) -> None:
    """Without statistics, it would read all rows of a space."""
    store = Store.open(tmp_path / "store.sqlite")
    with store._engine.connect() as connection:
        for table, column in (("stored_facts", "id"), ("stored_names", "name")):
            query = f"SELECT {column} FROM {table} WHERE space = 1 AND {column} IN ('a', 'b', 'c')"
            plan = connection.execute(sql.text(f"EXPLAIN QUERY PLAN {query}")).all()
            assert f"(space=? AND {column}=?)" in str(plan)
    store.close()


def test_new_names_are_listed_first_for_every_background(opened: Store) -> None:
    one = opened.space(known=KnownNames("one", {"Peliland", "Heskonia"}.__contains__))
    one.adopt_background()
    one.add([MET, LEFT, OTHER])
    expected = [("Harbour Union", False), ("Heskonia", True), ("Peliland", True)]
    assert [(found.name, found.known) for found in one.names()] == expected
    assert [found.name for found in one.names(new_only=True)] == ["Harbour Union"]
    assert one.names("land", new_only=True) == []
    # Another run shares the store: it knows other names, and does not decide for the first one.
    other = opened.space(known=KnownNames("other", {"Harbour Union"}.__contains__))
    other.add([MET._replace(subject="Quiet Guild"), MET._replace(subject="Peliland Club")])
    for space, new in ((other, ["Peliland", "Heskonia", "Peliland Club", "Quiet Guild"]), (one, None)):
        assert [found.name for found in space.names(new_only=True)] == (
            new or ["Harbour Union", "Peliland Club", "Quiet Guild"]
        )
        assert space.names(limit=2) == space.names()[:2]
    other.adopt_background()
    assert [found.name for found in other.names() if found.known] == ["Harbour Union"]
    assert [found.name for found in one.names() if found.known] == ["Peliland", "Heskonia"]


def test_spaces_do_not_see_each_other(opened: Store) -> None:
    one, other = opened.space("one"), opened.space("other")
    [stored], _ = one.add([MET])
    assert other.mentioning("Harbour Union") == other.names() == list(other.all()) == []
    assert other.mentioned(["Harbour Union"]) == set()
    assert other.remove(stored.id) == other.remove_entity("Harbour Union") == other.count() == 0
    assert other.add([MET, LEFT])[1] == 2
    seen: list[StoreUsage] = []
    one.add([LEFT], seen.append)
    assert seen == [StoreUsage(2, {"Harbour Union": 2, "Heskonia": 1})]
    assert one.remove_entity("Peliland") == 1
    assert facts(list(other.all())) == [MET, LEFT]
    assert opened.count() == 3


def test_store_of_earlier_version_becomes_default_space(store_place: str) -> None:
    engine = open_engine(store_place)
    columns = "id VARCHAR(20) NOT NULL UNIQUE, subject TEXT, relation TEXT, object TEXT, time TEXT"
    with engine.begin() as connection:
        key = "SERIAL PRIMARY KEY" if engine.dialect.name == "postgresql" else "INTEGER PRIMARY KEY AUTOINCREMENT"
        connection.execute(sql.text(f"CREATE TABLE observed_facts (number {key}, {columns})"))
        insert = "INSERT INTO observed_facts (id, subject, relation, object, time)"
        for stored in map(StoredFact.from_fact, [LEFT, MET]):
            values = sql.text(insert + " VALUES (:id, :subject, :relation, :object, :time)")
            connection.execute(values, stored.columns())
    engine.dispose()
    for added in (1, 0):  # the second time the store has its new form
        store = Store.open(store_place)
        default = store.space()
        assert facts(list(default.all()))[:2] == [LEFT, MET]
        assert [(one.name, one.facts) for one in default.names(limit=1)] == [("Harbour Union", 2)]
        assert default.add([MET, OTHER])[1] == added
        assert default.count() == 3
        assert store.space("another").count() == 0
        store.close()


def test_store_of_later_version_is_refused(store_place: str) -> None:
    store = Store.open(store_place)
    with store._engine.begin() as connection:
        connection.execute(sql.text("UPDATE stored_schema SET version = 3"))
    store.close()
    with pytest.raises(InputError, match="a store of a later version; found 3"):
        Store.open(store_place)


def test_errors_do_not_contain_facts(store: FactSpace) -> None:
    with store._engine.begin() as connection:
        connection.execute(sql.text("DROP TABLE stored_names"))
    with pytest.raises(SQLAlchemyError) as raised:
        store.add([MET])
    assert "Harbour Union" not in str(raised.value)


def test_check_gets_resulting_usage_and_can_reject_facts(store: FactSpace) -> None:
    store.add([MET])
    seen: list[StoreUsage] = []

    def reject(usage: StoreUsage) -> None:
        seen.append(usage)
        raise InputError("no room")

    with pytest.raises(InputError):
        store.add([MET, LEFT, OTHER], reject)
    assert seen == [StoreUsage(3, {"Harbour Union": 2, "Heskonia": 2, "Peliland": 2})]
    assert facts(list(store.all())) == [MET]


def test_concurrent_writers_do_not_exceed_limit(store: FactSpace) -> None:
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
    first.space().add([MET])
    assert facts(second.space().mentioning("Harbour Union")) == [MET]
    first.close()
    second.close()
    third = Store.open(store_place)
    assert facts(list(third.space().all())) == [MET]
    third.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.builds(Fact, TEXT, TEXT, TEXT, TEXT), max_size=5))
def test_names_round_trip_unchanged(store: FactSpace, given_facts: list[Fact]) -> None:
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
    for location in ("postgresql://user:secret/base", "postgresql://user:secret@host:port/base"):
        with pytest.raises(InputError, match="not a URL") as raised:
            Store.open(location)
        assert "secret" not in str(raised.value)
    pytest.importorskip("psycopg")
    with pytest.raises(InputError) as raised:
        Store.open("postgresql://user:secret@127.0.0.1:1/base")
    assert "secret" not in str(raised.value)
    with pytest.raises(InputError, match="not a URL"):
        Store.open("postgresql://user@127.0.0.1/base?port=bad")
    with pytest.raises(InputError, match="cannot be used as a store"):
        Store.open("postgresql://user\udcff@127.0.0.1:1/base")


def test_sqlite_uses_wal_and_full_sync(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store.sqlite")
    with store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    store.close()
