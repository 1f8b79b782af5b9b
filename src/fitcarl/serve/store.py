"""Durable store of observed facts: a SQLite file by default, PostgreSQL by URL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from fitcarl.errors import InputError, require_extra
from fitcarl.predict.fact import Fact

_TABLES = sql.MetaData()
_FACTS = sql.Table(
    "observed_facts",
    _TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("id", sql.String(20), nullable=False, unique=True),
    sql.Column("subject", sql.Text, nullable=False, index=True),
    sql.Column("relation", sql.Text, nullable=False),
    sql.Column("object", sql.Text, nullable=False, index=True),
    sql.Column("time", sql.Text, nullable=False),
    sqlite_autoincrement=True,
)
_COLUMNS = [_FACTS.c.id, _FACTS.c.subject, _FACTS.c.relation, _FACTS.c.object, _FACTS.c.time]
_TIMEOUT_SECONDS = 5
"""How long a writer waits for another one, or a call for the database."""
_MAX_PARAMETERS = 400
"""Values per statement; databases limit them."""


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


Check = Callable[["StoreUsage"], None]
"""Called with the usage of the store before facts are added; an exception leaves the store unchanged."""


@dataclass(frozen=True)
class StoreUsage:
    """Number of facts in the store, in total and for each name that the new facts mention."""

    total: int
    by_name: Mapping[str, int]


class Store:
    """Stored facts. Every method is one transaction and may be called from any thread."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, location: str | Path) -> Store:
        """The store in a file, or at a URL such as ``postgresql://user@host/database``; created if it is missing."""
        store = cls(_engine(str(location)))
        try:
            _TABLES.create_all(store._engine)
            store.count()
        except SQLAlchemyError as error:
            store.close()
            reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
            raise InputError(
                f"cannot be used as a store ({reason})",
                file=_without_password(str(location)),
                expected="a writable file or the URL of a PostgreSQL database",
            ) from None
        return store

    def close(self) -> None:
        """Closes all connections."""
        self._engine.dispose()

    def add(self, facts: Iterable[Fact], check: Check = lambda _: None) -> tuple[list[StoredFact], int]:
        """Adds facts; they are on disk when this returns.

        Args:
            facts: Facts to add; those that are already stored are skipped.
            check: Called with the resulting usage before new facts are written.

        Returns:
            The distinct facts with their ids, and how many of them are new.
        """
        distinct = list(dict.fromkeys(map(StoredFact.from_fact, facts)))
        with self._writing() as connection:
            existing = self._existing(connection, [item.id for item in distinct])
            new = [item for item in distinct if item.id not in existing]
            if new:
                check(self._usage(connection, new))
                connection.execute(sql.insert(_FACTS), [item.columns() for item in new])
        return distinct, len(new)

    def mentioning(self, name: str, limit: int | None = None) -> list[StoredFact]:
        """Facts with this subject or object in the order of their arrival; with ``limit`` only the latest ones."""
        latest = self._mentions(name).order_by(_FACTS.c.number.desc()).limit(limit)
        with self._engine.connect() as connection:
            return [_stored(row) for row in reversed(connection.execute(latest).all())]

    def entity_counts(self, search: str = "", limit: int | None = None) -> dict[str, int]:
        """Entity → number of stored facts, for entities whose name contains a text; the most mentioned ones first."""
        ends = sql.union_all(
            sql.select(_FACTS.c.subject.label("name")),
            # A fact whose subject is its object mentions the entity once.
            sql.select(_FACTS.c.object.label("name")).where(_FACTS.c.object != _FACTS.c.subject),
        ).subquery()
        counted = sql.select(ends.c.name, sql.func.count().label("facts")).group_by(ends.c.name)
        if search:
            counted = counted.where(ends.c.name.icontains(search, autoescape=True))
        counted = counted.order_by(sql.desc("facts"), ends.c.name).limit(limit)
        with self._engine.connect() as connection:
            return {row.name: row.facts for row in connection.execute(counted)}

    def mentioned(self, names: Sequence[str]) -> set[str]:
        """Those of the names that stored facts mention."""
        found: set[str] = set()
        with self._engine.connect() as connection:
            for chunk in _chunks(names):
                for column in (_FACTS.c.subject, _FACTS.c.object):
                    found.update(connection.scalars(sql.select(column).where(column.in_(chunk)).distinct()))
        return found

    def remove(self, identity: str) -> int:
        """Deletes one fact; returns the number of deleted facts, 0 or 1."""
        with self._writing() as connection:
            return connection.execute(sql.delete(_FACTS).where(_FACTS.c.id == identity)).rowcount

    def remove_entity(self, name: str) -> int:
        """Deletes all facts that mention an entity; returns their number."""
        mentions = (_FACTS.c.subject == name) | (_FACTS.c.object == name)
        with self._writing() as connection:
            return connection.execute(sql.delete(_FACTS).where(mentions)).rowcount

    def count(self) -> int:
        """Number of stored facts."""
        with self._engine.connect() as connection:
            return _total(connection)

    def all(self) -> Iterator[StoredFact]:
        """All stored facts in the order of their arrival."""
        with self._engine.connect() as connection:
            for row in connection.execute(sql.select(*_COLUMNS).order_by(_FACTS.c.number)):
                yield _stored(row)

    @contextmanager
    def _writing(self) -> Iterator[sql.Connection]:
        """A transaction that excludes other writers, so that counts are still valid when it writes."""
        with self._engine.connect().execution_options(fitcarl_writes=True) as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(sql.text("LOCK TABLE observed_facts IN SHARE ROW EXCLUSIVE MODE"))
            yield connection

    @staticmethod
    def _mentions(name: str) -> sql.Select[Any]:
        return sql.select(*_COLUMNS).where((_FACTS.c.subject == name) | (_FACTS.c.object == name))

    @staticmethod
    def _existing(connection: sql.Connection, identities: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for chunk in _chunks(identities):
            found.update(connection.scalars(sql.select(_FACTS.c.id).where(_FACTS.c.id.in_(chunk))))
        return found

    def _usage(self, connection: sql.Connection, new: Sequence[StoredFact]) -> StoreUsage:
        by_name: dict[str, int] = {}
        for one in new:
            for name in {one.fact.subject, one.fact.object}:
                by_name[name] = by_name.get(name, 0) + 1
        for name in by_name:
            mentions = self._mentions(name).subquery()
            by_name[name] += connection.scalar(sql.select(sql.func.count()).select_from(mentions)) or 0
        return StoreUsage(_total(connection) + len(new), by_name)


def _total(connection: sql.Connection) -> int:
    return connection.scalar(sql.select(sql.func.count()).select_from(_FACTS)) or 0


def _stored(row: Any) -> StoredFact:
    return StoredFact(row[0], Fact(*row[1:]))


def _chunks(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _MAX_PARAMETERS):
        yield values[start : start + _MAX_PARAMETERS]


def _engine(location: str) -> sql.Engine:
    if "://" not in location:
        return _sqlite(Path(location))
    try:
        url = sql.make_url(location)
    except ArgumentError:
        raise InputError(
            "not a URL", found=_without_password(location), expected="postgresql://user@host/database"
        ) from None
    kind = url.get_backend_name()
    if kind == "sqlite":
        raise InputError("unsupported URL", found=_without_password(location), expected="the path of a file for SQLite")
    if kind not in ("postgresql", "postgres"):
        raise InputError("unknown database", found=kind, expected="postgresql, or the path of a file for SQLite")
    require_extra("postgres", "psycopg", needed_by="a PostgreSQL store")
    return sql.create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        pool_timeout=_TIMEOUT_SECONDS,
        connect_args={
            "connect_timeout": _TIMEOUT_SECONDS,
            "options": f"-c statement_timeout={_TIMEOUT_SECONDS}s -c lock_timeout={_TIMEOUT_SECONDS}s",
        },
    )


def _sqlite(path: Path) -> sql.Engine:
    if not path.parent.is_dir():
        raise InputError("no such folder", file=path.parent, expected="an existing folder for the store")
    engine = sql.create_engine(
        sql.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _TIMEOUT_SECONDS},
        pool_timeout=_TIMEOUT_SECONDS,
    )

    @sql.event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # ``begin`` below starts transactions, not the driver
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # acknowledged facts also survive a power failure

    @sql.event.listens_for(engine, "begin")
    def begin(connection: sql.Connection) -> None:
        # Writers lock at the start: SQLite does not let a reader wait when it becomes a writer.
        writes = connection.get_execution_options().get("fitcarl_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _without_password(location: str) -> str:
    """A location for messages."""
    if "://" not in location:
        return location
    try:
        return sql.make_url(location).render_as_string(hide_password=True)
    except ArgumentError:
        return location.partition("://")[0] + "://…"
