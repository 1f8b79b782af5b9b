"""Readers of the explorer page. Each waits until the page shows its final result."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def answers(page: Page) -> list[str]:
    """Names of the answers in rank order."""
    page.wait_for_selector(".answers[aria-busy=false] .ranking:not(.stale) .answer")
    return page.locator(".answer .name").all_inner_texts()


def shares(page: Page) -> list[str]:
    """Shares of the answers as shown."""
    answers(page)
    return page.locator(".answer .share").all_inner_texts()


def switches(page: Page) -> Locator:
    """The switches of all facts."""
    return page.get_by_role("switch")


def comparison(page: Page) -> str:
    """The message about the change from the unrestricted prediction."""
    page.wait_for_selector(".comparison:not(:empty)")
    return page.locator(".comparison").inner_text()


def wait_for_no_comparison(page: Page) -> None:
    """Waits until the prediction is unrestricted."""
    page.wait_for_selector(".comparison:empty", state="attached")


def explained_entity(page: Page) -> str:
    """The answer whose explanation is shown."""
    return page.locator("#explanation-title").inner_text()


def wait_for_effects(page: Page) -> None:
    """Waits until the effects of the facts on the explained answer are measured and shown."""
    page.wait_for_selector(".explanation[aria-busy=false] .measured:not(.stale) .fact-effects")


def fact_effects(page: Page) -> Locator:
    """The list of the facts that matter for the explained answer, and their sets."""
    wait_for_effects(page)
    return page.get_by_role("region", name="Which facts matter")


def entity_field(page: Page) -> Locator:
    """The field with the entity of the query."""
    return page.get_by_role("combobox", name="Entity", exact=True)


def query_panel(page: Page) -> Locator:
    """The panel with the relation and the time of the query."""
    return page.get_by_role("region", name="Query")


def fact_form(page: Page) -> Locator:
    """The form that adds a fact."""
    return page.get_by_role("form", name="New fact")
