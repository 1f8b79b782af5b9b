"""A served run and a real Chromium; what is missing on a machine is said, and the tests that need it are skipped."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync")
PATIENCE = 15_000
"""Milliseconds that anything on the page may take; the machine may be busy."""

NewPage = Callable[..., "Page"]


def fitcarl(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fitcarl", *arguments]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the demo world: the one that FITCARL_E2E_RUN names, or one trained for a few episodes."""
    if given := os.environ.get("FITCARL_E2E_RUN"):
        return Path(given)
    out = tmp_path_factory.mktemp("demo")
    subprocess.run(fitcarl("demo", "--out", str(out), "--episodes", "10", "--json"), check=True, capture_output=True)
    return out / "run"


@contextmanager
def serving(run: Path, store: Path, *options: str) -> Iterator[str]:
    """A service of its own; what is given is its address, read from what it prints."""
    command = fitcarl("serve", str(run), "--port", "0", "--store", str(store), *options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
        try:
            assert service.stdout is not None
            lines = (line.strip() for line in service.stdout)
            address = next((line for line in lines if line.startswith("http")), None)
            assert address is not None, "the service ended before it printed its address"
            yield address + "/"
        finally:
            service.terminate()


@pytest.fixture(scope="session")
def address(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(run, tmp_path_factory.mktemp("store") / "observed.sqlite") as address:
        yield address


@pytest.fixture(scope="session")
def example(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}v1/example") as reply:
        return json.load(reply)


@pytest.fixture(scope="session")
def link(example: dict[str, Any]) -> str:
    """The example's question as the explorer writes it into its address."""
    return "#" + urlencode(link_rows(example))


def link_rows(example: dict[str, Any]) -> list[tuple[str, str]]:
    facts = [("fact", row(fact)) for fact in example["facts"]]
    side = [("side", "object")] if "object" in example else []
    return [("actor", actor_of(example)), *facts, *side, ("relation", example["relation"]), ("at", example["at"])]


def row(fact: dict[str, str]) -> str:
    return "\t".join(fact[part] for part in ("subject", "relation", "object", "time"))


def actor_of(example: dict[str, Any]) -> str:
    return str(example.get("subject") or example["object"])


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make e2e does it")
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found is None:
        pytest.skip("there is no Chromium here: install one, or name it with CHROMIUM=/path/to/it")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser: Browser, address: str) -> Iterator[NewPage]:
    """Opens pages that must not report errors, break the content security policy or ask another server for anything."""
    contexts: list[Any] = []
    problems: list[str] = []
    tolerated: list[str] = []

    def opened(link: str = "", *, at: str = address, width: int = 1440, tolerate: str = "", **options: Any) -> Page:
        if tolerate:
            tolerated.append(tolerate)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("request", lambda asked: None if _own(asked.url, at) else problems.append(f"asked for {asked.url}"))
        page.goto(at + link)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [problem for problem in problems if not any(part in problem for part in tolerated)] == []


def _own(url: str, address: str) -> bool:
    return url.startswith((address, "data:", "blob:"))
