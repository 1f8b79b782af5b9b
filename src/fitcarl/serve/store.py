"""What was observed, kept where neither a restart nor ``kill -9`` loses it: SQLite by default, PostgreSQL by URL."""

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
_PATIENCE_SECONDS = 5
"""How long one writer waits for another, or for the database to answer."""
_AT_ONCE = 400
"""Values in one statement; databases bound them."""


@dataclass(frozen=True)
class StoredFact:
    """A stored fact. Its id follows from what it says, so the same fact has the same id in every store."""

    id: str
    fact: Fact

    @classmethod
    def of(cls, fact: Fact) -> StoredFact:
        text = json.dumps(list(fact), ensure_ascii=True, separators=(",", ":"))
        return cls(hashlib.sha256(text.encode()).hexdigest()[:20], fact)

    def to_json(self) -> dict[str, str]:
        return {"id": self.id, **self.fact._asdict()}


Check = Callable[["StoreUsage"], None]
"""Looks at what the store would hold before it is kept; what it raises leaves the store as it was."""


@dataclass(frozen=True)
class StoreUsage:
    """What the store would hold: facts in all, and of each name that the new facts mention."""

    total: int
    by_name: Mapping[str, int]


class Store:
    """Facts by name. Every method is one transaction and may be called from any thread."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    @classmethod
    def open(cls, place: str | Path) -> Store:
        """The store in a file, or at a URL such as ``postgresql://user@host/database``; made if it is not there."""
        store = cls(_engine(str(place)))
        try:
            _TABLES.create_all(store._engine)
            store.count()
        except SQLAlchemyError as trouble:
            store.close()
            reason = str(getattr(trouble, "orig", None) or trouble).strip().partition("\n")[0]
            raise InputError(
                f"cannot be used as a store ({reason})",
                file=_shown(str(place)),
                expected="a file that can be written, or the URL of a PostgreSQL database",
            ) from None
        return store

    def close(self) -> None:
        self._engine.dispose()

    def add(self, facts: Iterable[Fact], check: Check = lambda _: None) -> tuple[list[StoredFact], int]:
        """Keeps facts, each once, and gives them with their ids, and how many were new. On disk when this returns."""
        kept = list(dict.fromkeys(map(StoredFact.of, facts)))
        with self._writing() as connection:
            there = self._there(connection, [one.id for one in kept])
            new = [one for one in kept if one.id not in there]
            if new:
                check(self._tally(connection, new))
                connection.execute(sql.insert(_FACTS), [one.to_json() for one in new])
        return kept, len(new)

    def mentioning(self, name: str, most: int | None = None) -> list[StoredFact]:
        """Facts whose subject or object has this name, in the order they came; the latest so many."""
        latest = self._mentions(name).order_by(_FACTS.c.number.desc()).limit(most)
        with self._engine.connect() as connection:
            return [_kept(row) for row in reversed(connection.execute(latest).all())]

    def actors(self, search: str = "", most: int | None = None) -> dict[str, int]:
        """Names in stored facts that contain a text, and how many facts mention each; the most mentioned first."""
        ends = sql.union_all(
            sql.select(_FACTS.c.subject.label("name")),
            # A fact of an actor with itself mentions it once.
            sql.select(_FACTS.c.object.label("name")).where(_FACTS.c.object != _FACTS.c.subject),
        ).subquery()
        counted = sql.select(ends.c.name, sql.func.count().label("facts")).group_by(ends.c.name)
        if search:
            counted = counted.where(ends.c.name.icontains(search, autoescape=True))
        counted = counted.order_by(sql.desc("facts"), ends.c.name).limit(most)
        with self._engine.connect() as connection:
            return {row.name: row.facts for row in connection.execute(counted)}

    def mentioned(self, names: Sequence[str]) -> set[str]:
        """Which of these names stored facts mention."""
        found: set[str] = set()
        with self._engine.connect() as connection:
            for part in _parts(names):
                for column in (_FACTS.c.subject, _FACTS.c.object):
                    found.update(connection.scalars(sql.select(column).where(column.in_(part)).distinct()))
        return found

    def remove(self, identity: str) -> int:
        """Forgets one fact; how many there were, 0 or 1."""
        with self._writing() as connection:
            return connection.execute(sql.delete(_FACTS).where(_FACTS.c.id == identity)).rowcount

    def remove_actor(self, name: str) -> int:
        """Forgets every fact that mentions a name; how many there were."""
        mentions = (_FACTS.c.subject == name) | (_FACTS.c.object == name)
        with self._writing() as connection:
            return connection.execute(sql.delete(_FACTS).where(mentions)).rowcount

    def count(self) -> int:
        """How many facts are stored."""
        with self._engine.connect() as connection:
            return _total(connection)

    def all(self) -> Iterator[StoredFact]:
        """Every stored fact, in the order they came."""
        with self._engine.connect() as connection:
            for row in connection.execute(sql.select(*_COLUMNS).order_by(_FACTS.c.number)):
                yield _kept(row)

    @contextmanager
    def _writing(self) -> Iterator[sql.Connection]:
        """A transaction that no other writer runs beside, so that what it counted still holds when it writes."""
        with self._engine.connect().execution_options(fitcarl_writes=True) as connection, connection.begin():
            if connection.dialect.name == "postgresql":
                connection.execute(sql.text("LOCK TABLE observed_facts IN SHARE ROW EXCLUSIVE MODE"))
            yield connection

    @staticmethod
    def _mentions(name: str) -> sql.Select[Any]:
        return sql.select(*_COLUMNS).where((_FACTS.c.subject == name) | (_FACTS.c.object == name))

    @staticmethod
    def _there(connection: sql.Connection, identities: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in _parts(identities):
            found.update(connection.scalars(sql.select(_FACTS.c.id).where(_FACTS.c.id.in_(part))))
        return found

    def _tally(self, connection: sql.Connection, new: Sequence[StoredFact]) -> StoreUsage:
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


def _kept(row: Any) -> StoredFact:
    return StoredFact(row[0], Fact(*row[1:]))


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(values), _AT_ONCE):
        yield values[start : start + _AT_ONCE]


def _engine(place: str) -> sql.Engine:
    if "://" not in place:
        return _sqlite(Path(place))
    try:
        url = sql.make_url(place)
    except ArgumentError:
        raise InputError("not a URL", found=_shown(place), expected="postgresql://user@host/database") from None
    kind = url.get_backend_name()
    if kind == "sqlite":
        raise InputError("not a URL of a store", found=_shown(place), expected="a file's path for SQLite")
    if kind not in ("postgresql", "postgres"):
        raise InputError("unknown database", found=kind, expected="postgresql, or a file's path for SQLite")
    require_extra("postgres", "psycopg", needed_by="a PostgreSQL store")
    return sql.create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_pre_ping=True,
        pool_timeout=_PATIENCE_SECONDS,
        connect_args={
            "connect_timeout": _PATIENCE_SECONDS,
            "options": f"-c statement_timeout={_PATIENCE_SECONDS}s -c lock_timeout={_PATIENCE_SECONDS}s",
        },
    )


def _sqlite(path: Path) -> sql.Engine:
    if not path.parent.is_dir():
        raise InputError("no such folder", file=path.parent, expected="a folder that exists, for the store")
    engine = sql.create_engine(
        sql.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _PATIENCE_SECONDS},
        pool_timeout=_PATIENCE_SECONDS,
    )

    @sql.event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions: ``begin`` below does
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")  # what was acknowledged survives a power cut, too

    @sql.event.listens_for(engine, "begin")
    def begin(connection: sql.Connection) -> None:
        # A reader that turns writer midway could not wait for its turn: writers take it at the beginning.
        writes = connection.get_execution_options().get("fitcarl_writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _shown(place: str) -> str:
    """A place as it may be printed: without a password."""
    if "://" not in place:
        return place
    try:
        return sql.make_url(place).render_as_string(hide_password=True)
    except ArgumentError:
        return place.partition("://")[0] + "://…"
