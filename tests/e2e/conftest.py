"""A service over a trained run, and a Chromium browser. Tests are skipped, with the reason, if one is missing."""

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

CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM_OPTIONS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-sync",
)
TIMEOUT_MS = 15_000
"""Timeout of each browser action; long, because the machine may be busy."""

NewPage = Callable[..., "Page"]


def fitcarl_command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "fitcarl", *arguments]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run folder given by FITCARL_E2E_RUN, or a demo run trained for a few episodes."""
    if folder := os.environ.get("FITCARL_E2E_RUN"):
        return Path(folder)
    out = tmp_path_factory.mktemp("demo")
    command = fitcarl_command("demo", "--out", str(out), "--episodes", "10", "--json")
    subprocess.run(command, check=True, capture_output=True)
    return out / "run"


@contextmanager
def running_service(run: Path, store: Path, *options: str) -> Iterator[str]:
    """Starts a service for the run and yields its address, which it prints at the start."""
    command = fitcarl_command("serve", str(run), "--port", "0", "--store", str(store), *options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as service:
        try:
            assert service.stdout is not None
            lines = (line.strip() for line in service.stdout)
            address = next((line for line in lines if line.startswith("http")), None)
            assert address is not None, "the service exited before it printed its address"
            yield address + "/"
        finally:
            service.terminate()


@pytest.fixture(scope="session")
def address(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_service(run, tmp_path_factory.mktemp("store") / "observed.sqlite") as address:
        yield address


@pytest.fixture(scope="session")
def example(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}v1/example") as response:
        return json.load(response)


@pytest.fixture(scope="session")
def link(example: dict[str, Any]) -> str:
    """The URL fragment of the explorer for the example."""
    facts = [("fact", encoded_fact(fact)) for fact in example["facts"]]
    side = [("side", "object")] if example.get("object") else []
    query = [("relation", example["relation"]), ("at", example["at"])]
    return "#" + urlencode([("entity", example_entity(example)), *facts, *side, *query])


def encoded_fact(fact: dict[str, str]) -> str:
    """A fact as one value of the URL fragment."""
    return "\t".join(fact[field] for field in ("subject", "relation", "object", "time"))


def example_entity(example: dict[str, Any]) -> str:
    """The entity that the example is about."""
    return str(example.get("subject") or example["object"])


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; make e2e installs it")
    executable = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if executable is None:
        pytest.skip("Chromium not found; install it or set CHROMIUM=/path/to/chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(CHROMIUM_OPTIONS))
        yield browser
        browser.close()


@pytest.fixture
def new_page(browser: Browser, address: str) -> Iterator[NewPage]:
    """Opens pages; fails the test on page errors, policy violations and requests to other servers."""
    contexts: list[Any] = []
    problems: list[str] = []
    tolerated: list[str] = []

    def open_page(link: str = "", *, at: str = address, width: int = 1440, tolerate: str = "", **options: Any) -> Page:
        if tolerate:
            tolerated.append(tolerate)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        context.set_default_timeout(TIMEOUT_MS)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("request", lambda sent: None if _is_own(sent.url, at) else problems.append(f"requested {sent.url}"))
        page.goto(at + link)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert [problem for problem in problems if not any(part in problem for part in tolerated)] == []


def _is_own(url: str, address: str) -> bool:
    return url.startswith((address, "data:", "blob:"))
