"""The built page that is kept in the package: made from the present sources, whole, small, and nobody else's server."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "src" / "fitcarl" / "serve" / "web"
SOURCES = ROOT / "web"
MOST_KB = 180
"""Compressed, all of it; most of that is cytoscape, which is fetched when a path is drawn."""


def test_it_is_built_from_the_present_sources() -> None:
    if not SOURCES.is_dir():
        pytest.skip("the sources of the explorer are not part of this copy")
    recorded = json.loads((BUILT / "sources.json").read_text())
    folders = [
        path for folder in ("plugins", "public", "src") for path in (SOURCES / folder).rglob("*") if path.is_file()
    ]
    singles = [SOURCES / name for name in recorded if "/" not in name]
    present = {
        path.relative_to(SOURCES).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folders + singles
    }
    assert present == recorded, "the explorer has changed since it was built: make web"


def test_what_the_page_loads_is_there_and_its_own() -> None:
    page = (BUILT / "index.html").read_text()
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert loaded
    assert all(name.startswith("./") and (BUILT / name).is_file() for name in loaded)


def test_no_script_or_style_stands_in_the_page_itself() -> None:
    page = (BUILT / "index.html").read_text()
    assert re.findall(r"<script[^>]*>([^<]+)</script>|<style|\son\w+=", page) == []


def test_no_style_asks_for_a_font_or_another_server() -> None:
    for style in BUILT.rglob("*.css"):
        assert not re.search(r"@font-face|@import|url\(", style.read_text())


def test_licences_of_what_is_bundled_are_beside_it() -> None:
    notices = (BUILT / "THIRD-PARTY.txt").read_text()
    assert {"cytoscape", "preact"} <= set(re.findall(r"^(\S+) [\d.]+ \(", notices, re.MULTILINE))
    assert notices.count("Permission is hereby granted") >= 2


def test_it_is_small() -> None:
    kilobytes = sum(len(gzip.compress(path.read_bytes())) for path in BUILT.rglob("*") if path.is_file()) / 1000
    assert kilobytes < MOST_KB
