"""Worker processes give the same answers as this process and are replaced when they fail."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from fitcarl.errors import InputError
from fitcarl.predict import Predictor
from fitcarl.serve.errors import ApiError
from fitcarl.serve.workers.jobs import Job, LocalWorker
from fitcarl.serve.workers.pool import WorkerPool
from tests.serve.fake import FACT, job

pytestmark = pytest.mark.slow


def test_worker_process_gives_same_answers_and_is_replaced_when_killed_or_hanging(
    run: Path, predictor: Predictor
) -> None:
    jobs = [job(), Job(job().query, "Peliland")]
    facts = [predictor.check(FACT)]
    with WorkerPool(run, 1, seconds=30) as pool:
        pool.wait_until_ready()
        assert pool.run(jobs, facts) == LocalWorker(predictor).run(jobs, facts)
        for end in (signal.SIGKILL, signal.SIGSTOP):
            pool._seconds = 1 if end is signal.SIGSTOP else 30
            process = pool._all[0]._process
            os.kill(process.pid, end)
            lost = pool.run(jobs, facts)
            assert [type(outcome) for outcome in lost] == [ApiError, ApiError]
            pool._seconds = 30
            assert isinstance(pool.run(jobs, facts)[0], bytes)
            assert process.poll() is not None
        last = pool._all[0]._process
    assert last.poll() == 0


def test_run_that_cannot_be_loaded_is_reported(tmp_path: Path) -> None:
    with WorkerPool(tmp_path, 1, seconds=1) as pool, pytest.raises(InputError, match="did not start"):
        pool.wait_until_ready()
