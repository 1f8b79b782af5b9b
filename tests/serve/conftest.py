"""A tiny trained run, a service for it, and stores of both kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql
from starlette.testclient import TestClient

from fitcarl.predict import Predictor
from fitcarl.serve.access import AccessPolicy
from fitcarl.serve.app import create_app
from fitcarl.serve.limits import Limits
from fitcarl.serve.service import Service
from fitcarl.serve.static import StaticFiles
from fitcarl.serve.store import Store
from fitcarl.serve.tables import DEFAULT_SPACE
from fitcarl.training.api import train
from tests.serve import postgres
from tests.small import SMALL, write_tiny

Serve = Callable[..., TestClient]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = write_tiny(tmp_path_factory.mktemp("world") / "tiny")
    out = tmp_path_factory.mktemp("runs") / "tiny"
    train(data, out=out, shots=2, episodes=1, settings=(*SMALL, "training.validate_every=1"))
    return out


@pytest.fixture(scope="session")
def predictor(run: Path) -> Predictor:
    predictor = Predictor.load(run)
    example = predictor.example()
    assert example is not None
    predictor.answer([example.query], example.facts)  # compile kernels now, outside the time limits of tests
    return predictor


@pytest.fixture
def serve(predictor: Predictor, tmp_path: Path) -> Iterator[Serve]:
    """Creates clients of services for the tiny run; limits by name."""
    opened: list[tuple[TestClient, Store]] = []

    def make(
        access: AccessPolicy | None = None,
        static: StaticFiles | None = None,
        place: str | None = None,
        **limits: float,
    ) -> TestClient:
        store = Store.open(place or tmp_path / "observed.sqlite")
        spaces = {client.space: None for client in access.clients} if access and access.clients else [DEFAULT_SPACE]
        service = Service(predictor, store, Limits(**limits), threads=2, spaces=spaces)  # type: ignore[arg-type]
        client = TestClient(create_app(service, access, static), raise_server_exceptions=False)
        client.__enter__()
        opened.append((client, store))
        return client

    yield make
    for client, store in opened:
        client.__exit__(None, None, None)
        store.close()


@pytest.fixture
def client(serve: Serve) -> TestClient:
    return serve()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def store_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Location of a store that is empty at the start of each test."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    url: str = request.getfixturevalue("postgres_url")
    _clear(url)
    return url


def _clear(url: str) -> None:
    engine = sql.create_engine(sql.make_url(url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        for table in sql.inspect(connection).get_table_names():
            connection.execute(sql.text(f"DROP TABLE {table}"))
    engine.dispose()
