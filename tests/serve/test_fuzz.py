"""Fuzzing of the API with schemathesis, driven by its OpenAPI document.

``FITCARL_FUZZ_SECONDS=600 pytest tests/serve/test_fuzz.py -m slow`` runs for ten minutes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.serve.test_server import Start, start

__all__ = ["start"]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("schemathesis") is None, reason="needs schemathesis: pip install 'fitcarl[fuzz]'"),
]


def test_fuzzed_requests_get_documented_responses(start: Start, run: Path, tmp_path: Path) -> None:
    served = start(run, "--store", tmp_path / "observed.sqlite")
    line = [Path(sys.executable).parent / "schemathesis", "run", f"{served.address}/v1/openapi.json", "--no-color"]
    line += ["--max-time", os.environ.get("FITCARL_FUZZ_SECONDS", "30"), "--continue-on-failure", "--warnings", "off"]
    # A name or a date may match the schema and still be unknown to the run.
    line += ["--exclude-checks", "positive_data_acceptance"]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert served.ask("GET", "/v1/health")[0] == 200
