"""axe finds nothing serious on the pages of the explorer, in light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import NewPage
from tests.e2e.reading import answers, compared, switches

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.exists():
        pytest.skip("axe-core is not here: make web installs it into web/node_modules")
    return AXE.read_text()


def violations(page: Page, axe: str) -> list[str]:
    """Serious and critical ones, each with the elements it is about."""
    page.wait_for_timeout(400)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        f"{one['id']}: {[node['html'][:120] for node in one['nodes']]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@SCHEMES
def test_the_empty_page(new_page: NewPage, axe: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    page.get_by_role("button", name="Show me an example").wait_for()
    assert violations(page, axe) == []


@SCHEMES
def test_answers_with_a_path_and_a_fact_off(new_page: NewPage, link: str, axe: str, scheme: str) -> None:
    page = new_page(link, color_scheme=scheme)
    answers(page)
    switches(page).first.click()
    compared(page)
    page.wait_for_selector("[data-drawn]")
    assert violations(page, axe) == []


@SCHEMES
def test_a_form_with_an_open_list(new_page: NewPage, link: str, axe: str, scheme: str) -> None:
    page = new_page(link, color_scheme=scheme)
    answers(page)
    page.get_by_role("button", name="Add a fact").click()
    page.get_by_role("combobox", name="What was done").press("ArrowDown")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    assert violations(page, axe) == []


@SCHEMES
def test_an_error_on_a_phone(new_page: NewPage, link: str, axe: str, scheme: str) -> None:
    page = new_page(f"{link}&asof=nonsense", width=390, color_scheme=scheme, tolerate="status of 4")
    page.get_by_role("alert").wait_for()
    assert violations(page, axe) == []


@SCHEMES
def test_the_question_for_a_token(new_page: NewPage, axe: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme, tolerate="status of 401")
    page.route("**/v1/**", lambda route: route.fulfill(status=401, json={"error": {"message": "a token is needed"}}))
    page.reload()
    page.get_by_label("Token").wait_for()
    assert violations(page, axe) == []
