"""The committed bundle of the explorer: up to date, complete, small, and without requests to other servers."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUNDLE = ROOT / "src" / "fitcarl" / "serve" / "web"
SOURCES = ROOT / "web"
MAX_KILOBYTES = 180
"""Compressed size of all files. Most of it is cytoscape, which is loaded when a path is drawn."""


def test_bundle_is_built_from_current_sources() -> None:
    if not SOURCES.is_dir():
        pytest.skip("the sources of the explorer are not part of this distribution")
    recorded = json.loads((BUNDLE / "sources.json").read_text())
    folders = [
        path for folder in ("plugins", "public", "src") for path in (SOURCES / folder).rglob("*") if path.is_file()
    ]
    singles = [SOURCES / name for name in recorded if "/" not in name]
    current = {
        path.relative_to(SOURCES).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folders + singles
    }
    assert current == recorded, "the bundle is stale; run make web"


def test_page_loads_only_existing_local_files() -> None:
    page = (BUNDLE / "index.html").read_text()
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert loaded
    assert all(name.startswith("./") and (BUNDLE / name).is_file() for name in loaded)


def test_page_has_no_inline_script_or_style() -> None:
    page = (BUNDLE / "index.html").read_text()
    assert re.findall(r"<script[^>]*>([^<]+)</script>|<style|\son\w+=", page) == []


def test_styles_load_no_fonts_or_remote_files() -> None:
    for style in BUNDLE.rglob("*.css"):
        assert not re.search(r"@font-face|@import|url\(", style.read_text())


def test_licences_of_bundled_packages_are_included() -> None:
    notices = (BUNDLE / "THIRD-PARTY.txt").read_text()
    assert {"cytoscape", "preact"} <= set(re.findall(r"^(\S+) [\d.]+ \(", notices, re.MULTILINE))
    assert notices.count("Permission is hereby granted") >= 2


def test_bundle_is_small() -> None:
    kilobytes = sum(len(gzip.compress(path.read_bytes())) for path in BUNDLE.rglob("*") if path.is_file()) / 1000
    assert kilobytes < MAX_KILOBYTES
