"""Durable store of observed facts: a SQLite file by default, PostgreSQL by URL. Each space has its own facts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sql
from sqlalchemy.exc import SQLAlchemyError

from fitcarl.errors import InputError
from fitcarl.predict.fact import Fact
from fitcarl.serve.name_index import NameIndex
from fitcarl.serve.tables import (
    DEFAULT_SPACE,
    FACTS,
    NAMES,
    SPACES,
    mention_counts,
    open_engine,
    prepare_tables,
    space_number,
    without_password,
    write_transaction,
)

_COLUMNS = [FACTS.c.id, FACTS.c.subject, FACTS.c.relation, FACTS.c.object, FACTS.c.time]
_MAX_PARAMETERS = 400
"""Values per statement; databases limit them."""
_MAX_DELETED = 10_000
"""Names in the index in memory, besides twice those at first, before it is built again without the deleted ones."""


def _mentions(limit: sql.BindParameter[int] | None) -> sql.Select[Any]:
    """Facts that mention a name, the latest first. With OR, all facts of a frequent entity would be sorted; instead,
    subjects and objects are looked up in their indices."""
    space = sql.bindparam("space", type_=sql.Integer)
    name = sql.bindparam("name", type_=sql.Text)
    ends = [
        sql.select(FACTS.c.number, *_COLUMNS)
        .where(FACTS.c.space == space, column == name)
        .order_by(FACTS.c.number.desc())
        .limit(limit)
        .subquery()
        for column in (FACTS.c.subject, FACTS.c.object)
    ]
    both = sql.union(*(sql.select(end) for end in ends)).subquery()
    return sql.select(*(both.c[column.name] for column in _COLUMNS)).order_by(both.c.number.desc()).limit(limit)


_ALL_MENTIONS = _mentions(None)
_LATEST_MENTIONS = _mentions(sql.bindparam("limit", type_=sql.Integer))


@dataclass(frozen=True)
class StoredFact:
    """A stored fact. Its id is a hash of the fact, so the same fact has the same id in every store."""

    id: str
    fact: Fact

    @classmethod
    def from_fact(cls, fact: Fact) -> StoredFact:
        text = json.dumps(list(fact), ensure_ascii=True, separators=(",", ":"))
        return cls(hashlib.sha256(text.encode()).hexdigest()[:20], fact)

    def columns(self) -> dict[str, str]:
        """Values by column name."""
        return {"id": self.id, **self.fact._asdict()}


class StoredName(NamedTuple):
    """An entity that stored facts mention."""

    name: str
    facts: int
    known: bool
    """Whether the background has facts about the entity, too."""


@dataclass(frozen=True)
class KnownNames:
    """Which entities the background of a run knows."""

    background: str = "none"
    """Identifies the background: the same text for the same known names."""
    knows: Callable[[str], bool] = lambda _name: False


Check = Callable[["StoreUsage"], None]
"""Called with the usage of a space before facts are added; an exception leaves the store unchanged."""


@dataclass(frozen=True)
class StoreUsage:
    """Number of facts in a space, in total and for each name that the new facts mention."""

    total: int
    by_name: Mapping[str, int]


class Store:
    """A database with the facts of all spaces. It may be used from any thread."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, location: str | Path) -> Store:
        """The store in a file, or at a URL such as ``postgresql://user@host/database``; created if it is missing."""
        store = cls(open_engine(str(location)))
        try:
            prepare_tables(store._engine)
        except (SQLAlchemyError, UnicodeError) as error:
            store.close()
            reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise InputError(
                f"cannot be used as a store ({reason})",
                file=without_password(str(location)),
                expected="a writable file or the URL of a PostgreSQL database",
            ) from None
        return store

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    def space(self, name: str = DEFAULT_SPACE, known: KnownNames | None = None) -> FactSpace:
        """The facts of one space, which is created if it does not exist.

        Args:
            name: Name of the space.
            known: What the background of the served run knows; nothing by default.
        """
        with write_transaction(self._engine) as connection:
            return FactSpace(self._engine, space_number(connection, name), known or KnownNames())

    def count(self) -> int:
        """Number of facts in all spaces."""
        with self._engine.connect() as connection:
            return connection.scalar(sql.select(sql.func.sum(SPACES.c.facts))) or 0


class FactSpace:
    """The facts of one space; nothing here reads or changes those of others.

    Every method is one transaction and may be called from any thread.
    """

    def __init__(self, engine: sql.Engine, number: int, known: KnownNames) -> None:
        self._engine = engine
        self._number = number
        self._known = known
        self._mine = FACTS.c.space == number
        self._index, self._indexed = NameIndex(), 0

    def add(self, facts: Iterable[Fact], check: Check = lambda _: None) -> tuple[list[StoredFact], int]:
        """Adds facts; they are on disk when this returns.

        Args:
            facts: Facts to add; those that are already stored are skipped.
            check: Called with the resulting usage before new facts are written.

        Returns:
            The distinct facts with their ids, and how many of them are new.
        """
        distinct = list(dict.fromkeys(map(StoredFact.from_fact, facts)))
        with write_transaction(self._engine) as connection:
            existing = self._existing(connection, [item.id for item in distinct])
            new = [item for item in distinct if item.id not in existing]
            if new:
                mentions = Counter(name for item in new for name in {item.fact.subject, item.fact.object})
                before = self._counts(connection, list(mentions))
                by_name = {name: facts + before.get(name, 0) for name, facts in mentions.items()}
                check(StoreUsage(self._total(connection) + len(new), by_name))
                connection.execute(sql.insert(FACTS), [{"space": self._number, **item.columns()} for item in new])
                self._count_mentions(connection, mentions, before)
                self._change_total(connection, len(new))
        return distinct, len(new)

    def mentioning(self, name: str, limit: int | None = None) -> list[StoredFact]:
        """Facts with this subject or object in the order of their arrival; with ``limit`` only the latest ones."""
        latest = _ALL_MENTIONS if limit is None else _LATEST_MENTIONS
        values = {"space": self._number, "name": name, "limit": limit}
        with self._engine.connect() as connection:
            return [_stored(row) for row in reversed(connection.execute(latest, values).all())]

    def names(self, search: str = "", limit: int | None = None, new_only: bool = False) -> list[StoredName]:
        """Entities that stored facts mention: those that the background does not know first, then by number of facts.

        Args:
            search: Text that the names contain, in upper or lower case.
            limit: Maximum number of names.
            new_only: Leave out entities that the background knows.
        """
        matching = sql.select(NAMES.c.name, NAMES.c.facts, NAMES.c.known).where(NAMES.c.space == self._number)
        if search:
            found = self._search(search.casefold())
            if found is not None:
                matching = matching.where(NAMES.c.name.in_(found))
            else:  # so frequent that the list soon has enough of them
                position = sql.func.instr if self._engine.dialect.name == "sqlite" else sql.func.strpos
                matching = matching.where(position(NAMES.c.folded, search.casefold()) > 0)
        ordered = matching.order_by(NAMES.c.known, NAMES.c.facts.desc(), NAMES.c.name)
        self._decide_known()
        with self._engine.connect() as connection:
            if self._flags_are_valid(connection):
                if new_only:
                    ordered = ordered.where(NAMES.c.known == sql.false())
                return [StoredName(*row) for row in connection.execute(ordered.limit(limit))]
            rows = connection.execute(matching.order_by(NAMES.c.facts.desc(), NAMES.c.name)).all()
        listed = [StoredName(name, facts, self._known.knows(name)) for name, facts, _ in rows]
        listed = [one for one in listed if not (new_only and one.known)]
        return sorted(listed, key=lambda one: one.known)[:limit]

    def mentioned(self, names: Sequence[str]) -> set[str]:
        """Those of the names that stored facts mention."""
        with self._engine.connect() as connection:
            return set(self._counts(connection, names))

    def remove(self, identity: str) -> int:
        """Deletes one fact; returns the number of deleted facts, 0 or 1."""
        return self._remove(FACTS.c.id == identity)

    def remove_entity(self, name: str) -> int:
        """Deletes all facts that mention an entity; returns their number."""
        ends = [
            sql.select(FACTS.c.number).where(self._mine, column == name) for column in (FACTS.c.subject, FACTS.c.object)
        ]
        return self._remove(FACTS.c.number.in_(sql.union(*ends)))  # two indices, as above

    def count(self) -> int:
        """Number of stored facts."""
        with self._engine.connect() as connection:
            return self._total(connection)

    def all(self) -> Iterator[StoredFact]:
        """All stored facts in the order of their arrival."""
        with self._engine.connect() as connection:
            for row in connection.execute(sql.select(*_COLUMNS).where(self._mine).order_by(FACTS.c.number)):
                yield _stored(row)

    def adopt_background(self) -> None:
        """Prepares fast lists and searches: reads the names, and decides which of them the background knows if another
        background was used before."""
        with write_transaction(self._engine) as connection:
            if not self._flags_are_valid(connection):
                mine = NAMES.c.space == self._number
                connection.execute(sql.update(NAMES).where(mine).values(known=None))
                background = {"background": self._known.background}
                connection.execute(sql.update(SPACES).where(SPACES.c.number == self._number).values(background))
        self._decide_known()
        with self._index.lock:
            self._update_index()

    def _search(self, folded: str) -> list[str] | None:
        """Names that contain a text, which may be deleted already; None if there are many."""
        with self._index.lock:
            self._update_index()
            return self._index.find(folded, _MAX_PARAMETERS)

    def _update_index(self) -> None:
        """Adds names to the index in memory that were stored since the last time, by any service."""
        if len(self._index) > 2 * self._indexed + _MAX_DELETED:
            self._index.clear()
        later = NAMES.c.space == self._number, NAMES.c.number > self._index.last
        with self._engine.connect() as connection:
            rows = connection.execute(sql.select(NAMES.c.number, NAMES.c.name).where(*later).order_by(NAMES.c.number))
            first = not len(self._index)
            self._index.add((row.number, row.name) for row in rows)
        if first:
            self._indexed = len(self._index)

    def _decide_known(self) -> None:
        """Sets ``known`` of names that were stored by a service with another background, if it is decided here."""
        undecided = sql.select(NAMES.c.name).where(NAMES.c.space == self._number, NAMES.c.known.is_(None))
        with self._engine.connect() as connection:
            if not self._flags_are_valid(connection) or connection.execute(undecided.limit(1)).first() is None:
                return
        with write_transaction(self._engine) as connection:
            if not self._flags_are_valid(connection):
                return
            values = [{"one": name, "flag": self._known.knows(name)} for name in connection.scalars(undecided)]
            one = (NAMES.c.space == self._number) & (NAMES.c.name == sql.bindparam("one"))
            if values:
                connection.execute(sql.update(NAMES).where(one).values(known=sql.bindparam("flag")), values)

    def _flags_are_valid(self, connection: sql.Connection) -> bool:
        background = connection.scalar(sql.select(SPACES.c.background).where(SPACES.c.number == self._number))
        return bool(background == self._known.background)

    def _remove(self, chosen: sql.ColumnElement[bool]) -> int:
        """Deletes facts of this space and their mentions."""
        mine = NAMES.c.space == self._number
        with write_transaction(self._engine) as connection:
            fewer = mention_counts(self._mine & chosen).subquery()
            changed = sql.update(NAMES).where(mine, NAMES.c.name == fewer.c.name)
            connection.execute(changed.values(facts=NAMES.c.facts - fewer.c.facts))
            gone = NAMES.c.name.in_(sql.select(fewer.c.name)) & (NAMES.c.facts <= 0)
            connection.execute(sql.delete(NAMES).where(mine, gone))
            removed = connection.execute(sql.delete(FACTS).where(self._mine, chosen)).rowcount
            if removed:
                self._change_total(connection, -removed)
        return removed

    def _existing(self, connection: sql.Connection, identities: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for chunk in _chunks(identities):
            found.update(connection.scalars(sql.select(FACTS.c.id).where(self._mine, FACTS.c.id.in_(chunk))))
        return found

    def _counts(self, connection: sql.Connection, names: Sequence[str]) -> dict[str, int]:
        """Name → number of facts, for those of the names that are stored."""
        found: dict[str, int] = {}
        for chunk in _chunks(names):
            chosen = NAMES.c.space == self._number, NAMES.c.name.in_(chunk)
            rows = connection.execute(sql.select(NAMES.c.name, NAMES.c.facts).where(*chosen))
            found.update((row.name, row.facts) for row in rows)
        return found

    def _count_mentions(
        self, connection: sql.Connection, mentions: Mapping[str, int], before: Mapping[str, int]
    ) -> None:
        """Adds to the numbers of facts of names; ``before`` has the names that are stored already."""
        valid = self._flags_are_valid(connection)
        new = [
            {
                "space": self._number,
                "name": name,
                "folded": name.casefold(),
                "facts": facts,
                "known": self._known.knows(name) if valid else None,
            }
            for name, facts in mentions.items()
            if name not in before
        ]
        more = [{"one": name, "more": facts} for name, facts in mentions.items() if name in before]
        if new:
            connection.execute(sql.insert(NAMES), new)
        if more:
            one = (NAMES.c.space == self._number) & (NAMES.c.name == sql.bindparam("one"))
            added = sql.update(NAMES).where(one).values(facts=NAMES.c.facts + sql.bindparam("more"))
            connection.execute(added, more)

    def _total(self, connection: sql.Connection) -> int:
        return connection.scalar(sql.select(SPACES.c.facts).where(SPACES.c.number == self._number)) or 0

    def _change_total(self, connection: sql.Connection, difference: int) -> None:
        total = {"facts": SPACES.c.facts + difference}
        connection.execute(sql.update(SPACES).where(SPACES.c.number == self._number).values(total))


def _stored(row: Any) -> StoredFact:
    return StoredFact(row[0], Fact(*row[1:]))


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _MAX_PARAMETERS):
        yield values[start : start + _MAX_PARAMETERS]
