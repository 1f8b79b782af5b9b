"""Log lines have times and no contents of facts."""

from __future__ import annotations

import logging
import re

import pytest

from fitcarl.serve.logs import service_logs


def _log_failure() -> None:
    try:
        raise KeyError("Harbour" + " Union")
    except KeyError:
        logging.getLogger("fitcarl.serve.workers.worker").exception("a query failed")


def test_lines_have_times_and_exceptions_have_no_messages(capsys: pytest.CaptureFixture[str]) -> None:
    with service_logs():
        _log_failure()
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    logged = capsys.readouterr().err
    assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ERROR a query failed\n", logged)
    assert "KeyError" in logged
    assert "_log_failure" in logged
    assert "Harbour Union" not in logged
    assert "Invalid HTTP" not in logged


def test_traceback_is_complete_on_request(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_TRACEBACK", "1")
    with service_logs():
        _log_failure()
    assert "Harbour Union" in capsys.readouterr().err


def test_loggers_are_restored() -> None:
    logger = logging.getLogger("fitcarl.serve")
    before = logger.handlers[:], logger.propagate, logger.level
    with service_logs():
        assert not logger.propagate
    assert (logger.handlers, logger.propagate, logger.level) == before
