"""Redraws images/explorer.png: the explorer with the example of a run, in a real Chromium.

fitcarl serve demo/run &
.venv/bin/python docs/explorer_picture.py http://127.0.0.1:8000/
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "images" / "explorer.png"


def main(address: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 1150}, color_scheme="light")
        page.goto(address)
        page.get_by_role("button", name="Show an example").click()
        page.wait_for_selector("[data-drawn]")
        page.get_by_role("heading", name="Which facts matter").wait_for()
        page.wait_for_timeout(1000)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000/")
