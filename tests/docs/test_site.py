"""The documentation site builds strictly and works without a network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.markdown import ROOT
from tests.docs.site import generate


def test_generated_pages_list_commands_settings_routes_and_public_names() -> None:
    assert "## fitcarl data split" in generate.cli_reference()
    assert "`--overwrite`" in generate.cli_reference()
    assert "## Preset `plus+names`" in generate.settings_reference()
    assert "## Model `titer`" in generate.settings_reference()
    assert "| `similarity` |" in generate.features_reference()
    assert "### POST /v1/predict" in generate.http_reference()
    assert "heading: fitcarl.load_dataset" in generate.api_reference()


@pytest.mark.slow
def test_site_builds_strictly_and_loads_nothing_from_other_servers(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    pytest.importorskip("material", reason="the extra docs is not installed")
    pytest.importorskip("mkdocstrings", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)[^>]+src=\"?(https?:[^\">\s]+)", text)
        loaded += re.findall(r"<link(?![^>]+rel=\"?(?:canonical|next|prev))[^>]+href=\"?(https?:[^\">\s]+)", text)
        assert loaded == [], page.name
