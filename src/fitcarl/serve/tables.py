"""Tables of the store, the engines of both databases, and the migration of earlier stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sql
from sqlalchemy.exc import ArgumentError

from fitcarl.errors import InputError, require_extra

DEFAULT_SPACE = "default"
"""The space of services without a file of tokens, and of all facts that earlier versions have stored."""
SCHEMA_VERSION = 2
"""Version 1 had one table, ``observed_facts``, and no spaces."""

TABLES = sql.MetaData()
SCHEMA = sql.Table("stored_schema", TABLES, sql.Column("version", sql.Integer, primary_key=True, autoincrement=False))
SPACES = sql.Table(
    "stored_spaces",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True),
    sql.Column("name", sql.Text, nullable=False, unique=True),
    sql.Column("facts", sql.Integer, nullable=False),
    sql.Column("background", sql.Text, nullable=False),  # for which stored_names.known is valid
)
FACTS = sql.Table(
    "stored_facts",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),
    sql.Column("space", sql.Integer, nullable=False),
    sql.Column("id", sql.String(20), nullable=False),
    sql.Column("subject", sql.Text, nullable=False),
    sql.Column("relation", sql.Text, nullable=False),
    sql.Column("object", sql.Text, nullable=False),
    sql.Column("time", sql.Text, nullable=False),
    sqlite_autoincrement=True,
)
sql.Index("stored_facts_id", FACTS.c.space, FACTS.c.id, unique=True)
sql.Index("stored_facts_subject", FACTS.c.space, FACTS.c.subject, FACTS.c.number)
sql.Index("stored_facts_object", FACTS.c.space, FACTS.c.object, FACTS.c.number)
NAMES = sql.Table(
    "stored_names",
    TABLES,
    sql.Column("number", sql.Integer, primary_key=True, autoincrement=True),  # ascends: writers exclude each other
    sql.Column("space", sql.Integer, nullable=False),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("folded", sql.Text, nullable=False),  # without case, for searches
    sql.Column("facts", sql.Integer, nullable=False),
    sql.Column("known", sql.Boolean),  # whether the background knows the name; NULL: not decided yet
    sqlite_autoincrement=True,
)
sql.Index("stored_names_name", NAMES.c.space, NAMES.c.name, unique=True)
sql.Index("stored_names_arrived", NAMES.c.space, NAMES.c.number)
sql.Index("stored_names_listed", NAMES.c.space, NAMES.c.known, NAMES.c.facts.desc(), NAMES.c.name, NAMES.c.folded)

_STATISTICS = {
    "stored_facts_id": "200000 100000 1",
    "stored_facts_subject": "200000 100000 10 1",
    "stored_facts_object": "200000 100000 10 1",
    "stored_names_name": "200000 100000 1",
    "stored_names_arrived": "200000 100000 1",
    "stored_names_listed": "200000 100000 50000 5000 1 1",
}
"""Rows of each index, and rows with equal values in its first columns, for the planner of SQLite. By default it assumes
that a space has ten rows, and reads all of them where it could look up a few."""
_TIMEOUT_SECONDS = 5
"""How long a writer waits for another one, or a call for the database."""
_MIGRATION_LOCK = 0x66697463
"""Key of the lock that PostgreSQL takes while tables are created."""


def prepare_tables(engine: sql.Engine) -> None:
    """Creates missing tables and moves the facts of an earlier version into the default space, in one transaction.

    Raises:
        InputError: If a later version of fitcarl has written the store.
    """
    with write_transaction(engine, lock=False) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
        TABLES.create_all(connection)
        version = connection.scalar(sql.select(sql.func.max(SCHEMA.c.version)))
        if version is None:
            connection.execute(sql.insert(SCHEMA).values(version=SCHEMA_VERSION))
            if connection.dialect.name == "sqlite":
                _set_statistics(connection)
        elif version > SCHEMA_VERSION:
            expected = f"at most {SCHEMA_VERSION}, or a later version of fitcarl"
            raise InputError("a store of a later version", field="schema", found=version, expected=expected)
        if sql.inspect(connection).has_table("observed_facts"):
            if connection.dialect.name == "postgresql":
                connection.execute(sql.text("SET LOCAL statement_timeout = 0"))
            _move_earlier_facts(connection)


def _set_statistics(connection: sql.Connection) -> None:
    connection.execute(sql.text("ANALYZE"))  # creates the table of statistics
    for index, numbers in _STATISTICS.items():
        row = {"table": index.rpartition("_")[0], "index": index, "numbers": numbers}
        connection.execute(sql.text("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (:table, :index, :numbers)"), row)
    connection.execute(sql.text("ANALYZE sqlite_schema"))  # reads it again


def _move_earlier_facts(connection: sql.Connection) -> None:
    """Moves the facts of the table of version 1, which had no spaces."""
    earlier = sql.table("observed_facts", *map(sql.column, ("number", "id", "subject", "relation", "object", "time")))
    space, columns = space_number(connection, DEFAULT_SPACE), ("id", "subject", "relation", "object", "time")
    stored = sql.select(FACTS.c.id).where(FACTS.c.space == space)
    moved = (
        sql.select(sql.literal(space), *(earlier.c[name] for name in columns))
        .where(earlier.c.id.not_in(stored))
        .order_by(earlier.c.number)
    )
    connection.execute(sql.insert(FACTS).from_select(["space", *columns], moved))
    connection.execute(sql.text("DROP TABLE observed_facts"))
    connection.execute(sql.delete(NAMES).where(NAMES.c.space == space))
    counted = connection.execute(mention_counts(FACTS.c.space == space)).all()
    if counted:
        rows = [
            {"space": space, "name": row.name, "folded": row.name.casefold(), "facts": row.facts} for row in counted
        ]
        connection.execute(sql.insert(NAMES), rows)
    total = sql.select(sql.func.count()).select_from(FACTS).where(FACTS.c.space == space).scalar_subquery()
    connection.execute(sql.update(SPACES).where(SPACES.c.number == space).values(facts=total))


def mention_counts(facts: sql.ColumnElement[bool]) -> sql.Select[Any]:
    """Name → number of the given facts that mention it; a fact whose subject is its object mentions it once."""
    ends = sql.union_all(
        sql.select(FACTS.c.subject.label("name")).where(facts),
        sql.select(FACTS.c.object.label("name")).where(facts, FACTS.c.object != FACTS.c.subject),
    ).subquery()
    return sql.select(ends.c.name, sql.func.count().label("facts")).group_by(ends.c.name)


def space_number(connection: sql.Connection, name: str) -> int:
    """The number of a space, which is created if it does not exist."""
    found = connection.scalar(sql.select(SPACES.c.number).where(SPACES.c.name == name))
    if found is None:
        added = sql.insert(SPACES).values(name=name, facts=0, background="").returning(SPACES.c.number)
        found = connection.scalar(added)
    assert found is not None
    return int(found)


@contextmanager
def write_transaction(engine: sql.Engine, lock: bool = True) -> Iterator[sql.Connection]:
    """A transaction that excludes other writers, so that counts are still valid when it writes.

    Args:
        engine: The database.
        lock: Whether PostgreSQL locks the table of facts, which must exist; SQLite always locks the database.
    """
    with engine.connect().execution_options(fitcarl_writes=True) as connection, connection.begin():
        if lock and connection.dialect.name == "postgresql":
            connection.execute(sql.text("LOCK TABLE stored_facts IN SHARE ROW EXCLUSIVE MODE"))
        yield connection


def open_engine(location: str) -> sql.Engine:
    """The database in a file or at a URL; errors never contain the values of statements, which are facts."""
    if "://" not in location:
        return _sqlite(Path(location))
    try:
        url = sql.make_url(location)
    except (ArgumentError, ValueError):  # the latter if the port is not a number
        raise _not_a_url(location) from None
    kind = url.get_backend_name()
    if kind == "sqlite":
        raise InputError("unsupported URL", found=without_password(location), expected="the path of a file for SQLite")
    if kind not in ("postgresql", "postgres"):
        raise InputError("unknown database", found=kind, expected="postgresql, or the path of a file for SQLite")
    require_extra("postgres", "psycopg", needed_by="a PostgreSQL store")
    try:
        return sql.create_engine(
            url.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            pool_timeout=_TIMEOUT_SECONDS,
            hide_parameters=True,
            connect_args={
                "connect_timeout": _TIMEOUT_SECONDS,
                "options": f"-c statement_timeout={_TIMEOUT_SECONDS}s -c lock_timeout={_TIMEOUT_SECONDS}s",
            },
        )
    except ArgumentError:  # of the part after the question mark
        raise _not_a_url(location) from None


def _not_a_url(location: str) -> InputError:
    return InputError("not a URL", found=without_password(location), expected="postgresql://user@host:port/database")


def _sqlite(path: Path) -> sql.Engine:
    if not path.parent.is_dir():
        raise InputError("no such folder", file=path.parent, expected="an existing folder for the store")
    engine = sql.create_engine(
        sql.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _TIMEOUT_SECONDS},
        pool_timeout=_TIMEOUT_SECONDS,
        hide_parameters=True,
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


def without_password(location: str) -> str:
    """A location for messages."""
    if "://" not in location:
        return location
    try:
        return sql.make_url(location).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return location.partition("://")[0] + "://…"
