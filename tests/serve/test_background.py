"""Facts are added to the background of a served run, and all answers are from the updated run afterwards."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fitcarl.core.lock import lock_folder
from fitcarl.predict import Predictor
from fitcarl.runs.run import Run
from fitcarl.serve.access import AccessPolicy
from fitcarl.serve.app import create_app
from fitcarl.serve.clients import Client
from fitcarl.serve.limits import Limits
from fitcarl.serve.service import Service
from fitcarl.serve.store import Store
from fitcarl.serve.workers.jobs import LocalWorker
from fitcarl.serve.workers.pool import WorkerPool
from tests.serve.fake import FACT, job

NEW = "Harbour Guild"
FACTS = [
    {"subject": NEW, "relation": FACT[1], "object": FACT[2], "time": time}
    for time in ("2023-12-30", "2023-12-31", "2024-01-01", "2024-01-02")
]
QUESTION = {"subject": NEW, "relation": FACT[1], "at": "2024-01-05"}

Open = Callable[..., TestClient]


@pytest.fixture
def folder(run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(run, tmp_path / "run")


@pytest.fixture
def open_client(folder: Path, tmp_path: Path) -> Iterator[Open]:
    opened: list[tuple[TestClient, Store]] = []

    def make(allow_updates: bool = True, access: AccessPolicy | None = None, **limits: float) -> TestClient:
        store = Store.open(tmp_path / "observed.sqlite")
        chosen = Limits(**{"seconds": 60, **limits})  # type: ignore[arg-type]
        service = Service(Predictor.load(folder), store, chosen, threads=2, allow_updates=allow_updates)
        client = TestClient(create_app(service, access), raise_server_exceptions=False)
        client.__enter__()
        opened.append((client, store))
        return client

    yield make
    for client, store in opened:
        client.__exit__(None, None, None)
        store.close()


def test_answers_are_from_the_updated_run(open_client: Open, folder: Path) -> None:
    client = open_client()
    before = client.get("/v1/model").json()
    assert client.post("/v1/predict", json=QUESTION).status_code == 422  # nothing is known about the entity
    response = client.post("/v1/background", json={"facts": [*FACTS, FACTS[0]]})
    assert response.status_code == 200
    done = response.json()
    assert (done["added"], done["duplicates"], done["new_entities"], done["updates"]) == (4, 1, 1, 1)
    assert done["drift"]["judged"] == 2  # two shots are the support
    assert 0 < done["drift"]["mrr"] <= 1
    assert client.post("/v1/predict", json=QUESTION).json()["answers"]
    after = client.get("/v1/model").json()
    assert (after["facts"], after["updates"], after["last_time"]) == (before["facts"] + 4, 1, "2024-01-02")
    assert "|background:" in after["signature"]
    assert client.get("/v1/entities", params={"search": NEW}).json()["entities"][0]["facts"] == 4
    assert len(Run.load(folder).updates) == 1
    again = client.post("/v1/background", json={"facts": FACTS}).json()
    assert (again["added"], again["already_known"], again["updates"]) == (0, 4, 1)


def test_updates_are_off_by_default(open_client: Open, folder: Path) -> None:
    response = open_client(allow_updates=False).post("/v1/background", json={"facts": FACTS})
    assert response.status_code == 403
    assert "--allow-updates" in response.json()["error"]["message"]
    assert not Run.load(folder).updates


def test_token_is_required(open_client: Open) -> None:
    client = open_client(access=AccessPolicy((Client.with_token("secret"),)))
    assert client.post("/v1/background", json={"facts": FACTS}).status_code == 401


def test_unusable_facts_are_refused_as_a_whole(open_client: Open, folder: Path) -> None:
    client = open_client(facts_per_update=5)
    for change, field in (
        ({"relation": "Unheard of"}, "facts.1.relation"),
        ({"time": "2024-13-01"}, "facts.1.time"),
        ({"time": "2022-06-01"}, "facts.1.time"),
    ):
        response = client.post("/v1/background", json={"facts": [FACTS[0], {**FACTS[1], **change}]})
        assert response.status_code == 422
        assert response.json()["error"]["field"] == field
    assert client.post("/v1/background", json={"facts": FACTS * 2}).status_code == 422
    assert client.post("/v1/background", json={"facts": []}).status_code == 422
    assert not Run.load(folder).updates


def test_run_that_is_in_use_is_a_conflict(open_client: Open, folder: Path) -> None:
    client = open_client()
    with lock_folder(folder):
        assert client.post("/v1/background", json={"facts": FACTS}).status_code == 409
    assert client.post("/v1/background", json={"facts": FACTS}).status_code == 200


@pytest.mark.slow
def test_worker_processes_are_replaced_while_jobs_are_answered(folder: Path) -> None:
    from fitcarl.runs.layout import RunFolder
    from fitcarl.runs.update import update

    old = Predictor.load(folder)
    jobs, facts = [job()], [old.check(FACT)]
    before = LocalWorker(old).run(jobs, facts)
    update(folder, [tuple(fact.values()) for fact in FACTS])
    new = Predictor.load(folder)
    after = LocalWorker(new).run(jobs, facts)
    shutil.move(folder / "updates.json", folder / "later.json")  # the workers start with the run as it was
    updated = (folder / "manifest.json").read_bytes()
    RunFolder(folder).write_manifest()
    with WorkerPool(folder, 2, seconds=60) as pool:
        pool.wait_until_ready()
        first = list(pool._all)
        shutil.move(folder / "later.json", folder / "updates.json")
        (folder / "manifest.json").write_bytes(updated)
        outcomes: list[object] = []
        done = threading.Event()

        def ask() -> None:
            while not done.is_set():
                outcomes.extend(pool.run(jobs, facts))

        asking = threading.Thread(target=ask)
        asking.start()
        pool.reload(new)
        assert pool.run(jobs, facts) == after
        done.set()
        asking.join()
        assert len(outcomes) > 1
        assert all(outcome in (before[0], after[0]) for outcome in outcomes)
        assert not {*first} & {*pool._all}
        assert len(pool._all) == 2
        assert all(not process.alive for process in first)
