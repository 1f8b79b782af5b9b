"""A worker process: ``python -m fitcarl.serve.workers.worker RUN`` executes jobs from stdin until it is closed."""

from __future__ import annotations

import logging
import os
import sys

import torch

from fitcarl.errors import FitcarlError
from fitcarl.predict.predictor import Predictor
from fitcarl.serve.logs import service_logs
from fitcarl.serve.workers.ipc import receive_jobs, send_outcomes
from fitcarl.serve.workers.jobs import InvalidInputError, LocalWorker, warm_up

_log = logging.getLogger("fitcarl.serve.workers.worker")  # the module itself is called __main__


def run_worker(run: str) -> None:
    """Loads a run and executes jobs.

    Args:
        run: Run folder.
    """
    torch.set_num_threads(1)  # there is one process per core
    source = sys.stdin.buffer
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # printed text must not mix with the messages
    try:
        predictor = Predictor.load(run)
    except FitcarlError:
        raise SystemExit(2) from None  # the service loads the same run and reports the error
    warm_up(predictor)
    send_outcomes(out, [])
    worker = LocalWorker(predictor)
    while (message := receive_jobs(source)) is not None:
        outcomes = worker.run(*message)
        for outcome in outcomes:
            if isinstance(outcome, Exception) and not isinstance(outcome, InvalidInputError):
                _log.error("a query failed", exc_info=outcome)
        send_outcomes(out, outcomes)


if __name__ == "__main__":
    with service_logs():
        run_worker(sys.argv[1])
