"""Processes that answer: as the model does in this one, and replaced when they are gone."""

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


def test_a_process_answers_like_this_one_and_is_replaced_when_it_is_killed_or_hangs(
    run: Path, predictor: Predictor
) -> None:
    jobs = [job(), Job(job().query, "Peliland")]
    with WorkerPool(run, 1, seconds=30) as crew:
        crew.wait_until_ready()
        assert crew.perform(jobs, [FACT]) == LocalWorker(predictor).perform(jobs, [FACT])
        for end in (signal.SIGKILL, signal.SIGSTOP):
            crew._seconds = 1 if end is signal.SIGSTOP else 30
            process = crew._all[0]._process
            os.kill(process.pid, end)
            lost = crew.perform(jobs, [FACT])
            assert [type(outcome) for outcome in lost] == [ApiError, ApiError]
            crew._seconds = 30
            assert isinstance(crew.perform(jobs, [FACT])[0], bytes)
            assert process.poll() is not None
        last = crew._all[0]._process
    assert last.poll() == 0


def test_a_run_that_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    with WorkerPool(tmp_path, 1, seconds=1) as crew, pytest.raises(InputError, match="did not start"):
        crew.wait_until_ready()
