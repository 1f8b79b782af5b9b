"""Worker processes give the same answers as this process and are replaced when they fail."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from fitcarl.errors import InputError
from fitcarl.predict import Predictor
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.jobs import Job, LocalWorker
from fitcarl.serve.workers.pool import WorkerPool
from fitcarl.serve.workers.process import WorkerProcess
from tests.serve.fake import FACT, job

pytestmark = pytest.mark.slow


def _wait_for_workers(pool: WorkerPool, count: int) -> None:
    limit = time.monotonic() + 60
    while pool.ready_count() != count:
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_worker_process_gives_same_answers_and_is_replaced_when_killed_or_hanging(
    run: Path, predictor: Predictor
) -> None:
    jobs = [job(), Job(job().query, "Peliland")]
    facts = [predictor.check(FACT)]
    expected = LocalWorker(predictor).run(jobs, facts)
    with WorkerPool(run, 1, seconds=60) as pool:
        pool.wait_until_ready()
        assert pool.run(jobs, facts) == expected
        # A process that ends while it is idle costs no answer, and is replaced without a request.
        idle = pool._all[0]
        os.kill(idle.pid, signal.SIGKILL)
        idle.wait_for_exit()
        assert pool.run(jobs, facts) == expected
        os.kill(pool._all[0].pid, signal.SIGKILL)
        _wait_for_workers(pool, 0)
        _wait_for_workers(pool, 1)
        # A process that hangs is killed after the time limit.
        hanging, pool._seconds = pool._all[0], 1
        os.kill(hanging.pid, signal.SIGSTOP)
        lost = pool.run(jobs, facts)
        assert [type(outcome) for outcome in lost] == [ApiError, ApiError]
        pool._seconds = 60
        assert pool.run(jobs, facts) == expected
        assert not hanging.alive
        last = pool._all[0]
    assert last.wait_for_exit() == 0
    assert pool.ready_count() == 0


def test_jobs_of_a_process_that_ends_are_repeated_once(
    run: Path, predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, facts = [job(), job(top=2)], [predictor.check(FACT)]
    original, sent, ending = WorkerProcess.send, 0, 1

    def send_and_end(process: WorkerProcess, *message: object) -> None:
        nonlocal sent
        sent += 1
        if sent <= ending:
            os.kill(process.pid, signal.SIGSTOP)
        original(process, *message)  # type: ignore[arg-type]
        if sent <= ending:
            os.kill(process.pid, signal.SIGKILL)

    monkeypatch.setattr(WorkerProcess, "send", send_and_end)
    with WorkerPool(run, 2, seconds=60) as pool:
        pool.wait_until_ready()
        outcomes = pool.run(jobs, facts)
        assert [type(outcome) for outcome in outcomes] == [bytes, bytes]
        assert sent == 3  # both together, then one by one
        sent = 0
        assert pool.run(jobs[:1], facts) == outcomes[:1]
        assert sent == 2
        sent, ending = 0, 2  # the job may be the reason
        [lost] = pool.run(jobs[:1], facts)
        assert isinstance(lost, ApiError)
        assert lost.status == 503
        assert sent == 2


def test_run_that_cannot_be_loaded_is_reported(tmp_path: Path) -> None:
    with WorkerPool(tmp_path, 1, seconds=1) as pool, pytest.raises(InputError, match="did not start"):
        pool.wait_until_ready()
