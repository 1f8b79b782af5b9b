"""The pages of the explorer have no serious accessibility violations (axe), in the light and the dark theme."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.conftest import NewPage
from tests.e2e.explorer_page import answers, comparison, fact_form, switches, wait_for_effects

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.exists():
        pytest.skip("axe-core is not installed; make web installs it into web/node_modules")
    return AXE.read_text()


def violations(page: Page, axe: str) -> list[str]:
    """Serious and critical violations, each with the affected elements."""
    page.wait_for_timeout(400)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    return [
        f"{violation['id']}: {[node['html'][:120] for node in violation['nodes']]}"
        for violation in found
        if violation["impact"] in ("serious", "critical")
    ]


@SCHEMES
def test_start_page(new_page: NewPage, axe: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme)
    page.get_by_role("button", name="Show an example").wait_for()
    assert violations(page, axe) == []


@SCHEMES
def test_answers_with_path_and_disabled_fact(new_page: NewPage, link: str, axe: str, scheme: str) -> None:
    page = new_page(link, color_scheme=scheme)
    answers(page)
    switches(page).first.click()
    comparison(page)
    wait_for_effects(page)
    page.wait_for_selector("[data-drawn]")
    assert violations(page, axe) == []


@SCHEMES
def test_explanation_with_open_details_on_narrow_screen(new_page: NewPage, link: str, axe: str, scheme: str) -> None:
    page = new_page(link, width=390, color_scheme=scheme)
    wait_for_effects(page)
    for details in page.locator(".explanation details").all():
        details.locator("summary").click()
    page.wait_for_selector("[data-drawn]")
    assert violations(page, axe) == []


@SCHEMES
def test_form_with_open_suggestions(new_page: NewPage, link: str, axe: str, scheme: str) -> None:
    page = new_page(link, color_scheme=scheme)
    answers(page)
    page.get_by_role("button", name="Add fact").click()
    fact_form(page).get_by_role("combobox", name="Relation").press("ArrowDown")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("ArrowDown")
    assert violations(page, axe) == []


@SCHEMES
def test_error_on_narrow_screen(new_page: NewPage, link: str, axe: str, scheme: str) -> None:
    page = new_page(f"{link}&asof=nonsense", width=390, color_scheme=scheme, tolerate="status of 4")
    page.get_by_role("alert").wait_for()
    assert violations(page, axe) == []


@SCHEMES
def test_token_form(new_page: NewPage, axe: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme, tolerate="status of 401")
    page.route("**/v1/**", lambda route: route.fulfill(status=401, json={"error": {"message": "token required"}}))
    page.reload()
    page.get_by_label("Token").wait_for()
    assert violations(page, axe) == []
