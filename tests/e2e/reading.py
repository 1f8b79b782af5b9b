"""What stands on a page of the explorer, once it is there and nothing is under way."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def answers(page: Page) -> list[str]:
    page.wait_for_selector(".answers[aria-busy=false] .ranking:not(.stale) .answer")
    return page.locator(".answer .name").all_inner_texts()


def shares(page: Page) -> list[str]:
    answers(page)
    return page.locator(".answer .share").all_inner_texts()


def switches(page: Page) -> Locator:
    return page.get_by_role("switch")


def compared(page: Page) -> str:
    page.wait_for_selector(".compared:not(:empty)")
    return page.locator(".compared").inner_text()
