"""A worker process that holds the model: ``python -m fitcarl.serve.workers.worker RUN``, until its input ends."""

from __future__ import annotations

import logging
import os
import sys

import torch

from fitcarl.errors import FitcarlError
from fitcarl.predict.predictor import Predictor
from fitcarl.serve.workers.ipc import receive_jobs, send_outcomes
from fitcarl.serve.workers.jobs import InvalidInputError, LocalWorker, warm_up

_LOG = logging.getLogger(__name__)


def main(run: str) -> None:
    torch.set_num_threads(1)  # there is a process for every core already
    source = sys.stdin.buffer
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever is printed must not come between the answers
    try:
        predictor = Predictor.load(run)
    except FitcarlError:
        raise SystemExit(2) from None  # the service loads the same run and says what is wrong with it
    warm_up(predictor)
    send_outcomes(out, [])
    worker = LocalWorker(predictor)
    while (asked := receive_jobs(source)) is not None:
        outcomes = worker.perform(*asked)
        for fault in outcomes:
            if isinstance(fault, Exception) and not isinstance(fault, InvalidInputError):
                _LOG.error("a question failed", exc_info=fault)
        send_outcomes(out, outcomes)


if __name__ == "__main__":
    main(sys.argv[1])
