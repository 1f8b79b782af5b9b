"""What an analyst does with the explorer, done in a real browser against a real service."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.conftest import NewPage, actor_of, row, serving
from tests.e2e.reading import answers, compared, shares, switches

pytestmark = pytest.mark.slow


def test_an_empty_page_offers_an_example_that_is_answered_and_explained(
    new_page: NewPage, example: dict[str, Any]
) -> None:
    page = new_page()
    page.get_by_role("button", name="Show me an example").click()
    assert len(answers(page)) == 10
    assert page.get_by_role("combobox", name="Actor").input_value() == actor_of(example)
    assert switches(page).count() == len(example["facts"])
    assert page.locator("#why-title").inner_text() == answers(page)[0]
    assert page.locator(".sentence").first.inner_text().endswith(".")
    assert page.locator(".concepts").count() > 0


def test_a_new_actor_is_invented_described_and_asked_about_by_keyboard_alone(new_page: NewPage) -> None:
    page = new_page()
    keys = page.keyboard
    page.get_by_role("combobox", name="Actor").focus()
    keys.type("Harbour Union of Nowhere")
    page.get_by_role("option", name="new actor").wait_for()
    keys.press("Enter")
    page.get_by_text("The model has never met it").wait_for()

    page.get_by_role("combobox", name="What was done").focus()
    keys.type("consu")
    page.get_by_role("option", name="Consult").wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    keys.press("Tab")
    keys.press("ArrowDown")
    page.get_by_role("option").first.wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    keys.press("Tab")
    keys.press("Control+a")
    keys.type("2024-03-01")
    keys.press("Enter")
    assert switches(page).count() == 1
    assert page.locator(".fact .date").inner_text() == "2024-03-01"
    page.get_by_text("What may happen: a relation").wait_for()

    page.get_by_role("combobox", name="Relation", exact=True).focus()
    keys.type("sign form")
    page.get_by_role("option", name="Sign formal agreement").wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    first = answers(page)
    page.locator(".answer").first.focus()
    keys.press("ArrowDown")
    keys.press("Enter")
    assert page.locator("#why-title").inner_text() == first[1]


def test_the_paths_of_an_answer_are_drawn_with_the_answer_in_red(new_page: NewPage, link: str) -> None:
    page = new_page(link, color_scheme="light")
    second = answers(page)[1]
    page.locator(".answer").nth(1).click()
    page.wait_for_selector("[data-drawn]")
    assert page.locator("#why-title").inner_text() == second
    assert int(page.locator(".canvas").get_attribute("data-drawn") or 0) >= 2
    red = page.evaluate(
        """() => [...document.querySelectorAll(".canvas canvas")].some((canvas) => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const is = (i) => data[i] == 0xb3 && data[i + 1] == 0x26 && data[i + 2] == 0x1e;
            let count = 0;
            for (let i = 0; i < data.length; i += 4) count += is(i);
            return count > 500;
        })"""
    )
    assert red


def test_switching_a_fact_off_changes_the_answers_and_on_again_brings_them_back(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page), shares(page)
    switches(page).nth(1).click()
    assert "1 fact switched off" in compared(page)
    after = answers(page), shares(page)
    assert after != before
    assert page.locator(".bar i").count() > 0
    switches(page).nth(1).click()
    page.wait_for_selector(".compared:empty", state="attached")
    assert (answers(page), shares(page)) == before


def test_a_fact_on_a_path_can_be_set_aside_and_brought_back(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    known = switches(page).count()
    page.locator(".steps li").nth(1).get_by_role("button", name="What if not?").click()
    assert "1 fact switched off" in compared(page)
    assert switches(page).count() == known + 1
    page.get_by_text("Set aside from what the model knows").wait_for()
    switches(page).last.click()
    page.wait_for_selector(".compared:empty", state="attached")
    assert switches(page).count() == known


def test_every_fact_off_says_so_instead_of_asking(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    answers(page)
    for place in range(switches(page).count()):
        switches(page).nth(place).click()
    page.get_by_text("is switched off. Switch one on to ask.").wait_for()


def test_a_link_brings_back_what_somebody_saw(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    answers(page)
    switches(page).first.click()
    compared(page)
    page.locator(".answer").nth(2).click()
    seen = answers(page), shares(page), page.locator("#why-title").inner_text()
    other = new_page(page.url.partition("/#")[2].join(["#", ""]))
    assert "1 fact switched off" in compared(other)
    assert (answers(other), shares(other), other.locator("#why-title").inner_text()) == seen


def test_back_undoes_a_step(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page)
    switches(page).first.click()
    compared(page)
    page.go_back()
    page.wait_for_selector(".compared:empty", state="attached")
    assert answers(page) == before
    assert switches(page).first.get_attribute("aria-checked") == "true"


def test_as_of_a_date_no_later_fact_is_shown(new_page: NewPage, link: str, example: dict[str, Any]) -> None:
    day = max(fact["time"] for fact in example["facts"])
    page = new_page(f"{link}&asof={day}")
    answers(page)
    assert f"Only what was known by {day}" in compared(page)
    for place in range(5):
        page.locator(".answer").nth(place).click()
        assert all(date <= day for date in page.locator(".steps .date").all_inner_texts())


def test_the_question_can_be_turned_round(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page), shares(page)
    unchosen = page.locator("[aria-labelledby=question-title] .segments label:not(.chosen) input")
    with page.expect_response("**/v1/predict") as reply:
        unchosen.check(force=True)
    assert reply.value.ok
    page.wait_for_timeout(100)
    assert (answers(page), shares(page)) != before


def test_a_misspelt_relation_is_put_right_by_one_click(new_page: NewPage, link: str, example: dict[str, Any]) -> None:
    wrong = link.replace(
        urlencode({"relation": example["relation"]}), urlencode({"relation": example["relation"][:-1]})
    )
    page = new_page(wrong, tolerate="status of 4")
    page.get_by_role("alert").get_by_role("button", name=example["relation"]).click()
    assert answers(page)
    assert page.get_by_role("combobox", name="Relation", exact=True).input_value() == example["relation"]


def test_a_busy_service_can_be_asked_again(new_page: NewPage, link: str) -> None:
    page = new_page(tolerate="status of 503")
    refused = json.dumps({"error": {"message": "too many are waiting", "field": None, "suggestions": []}})
    page.route("**/v1/predict", lambda route: route.fulfill(status=503, body=refused, content_type="application/json"))
    page.goto(page.url + link)
    page.reload()
    page.get_by_text("Too many are waiting.").wait_for()
    page.unroute("**/v1/predict")
    page.get_by_role("button", name="Try again").click()
    assert answers(page)


def test_a_service_that_is_gone_is_told_of(new_page: NewPage) -> None:
    page = new_page(tolerate="Failed to load")
    page.route("**/v1/**", lambda route: route.abort())
    page.reload()
    page.get_by_text("The service does not answer.").wait_for()
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("combobox", name="Actor").wait_for()


def test_stored_facts_outlive_the_page_and_can_be_removed(new_page: NewPage, example: dict[str, Any]) -> None:
    fact = {**example["facts"][0], "subject": "Keeper of Facts", "object": "Storehouse Ltd"}
    page = new_page("#" + urlencode([("actor", "Keeper of Facts"), ("fact", row(fact))]))
    page.get_by_role("button", name="Store in the service").click()
    page.get_by_text("1 fact stored in the service.").wait_for()
    later = new_page("#" + urlencode([("actor", "Keeper of Facts")]))
    later.get_by_role("heading", name="Stored in the service").wait_for()
    assert switches(later).count() == 1
    later.get_by_role("button", name="Remove from the service").click()
    later.get_by_text("Nothing yet.").wait_for()
    assert switches(later).count() == 0


def test_escape_closes_the_list_and_keeps_what_was_chosen(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page)
    field = page.get_by_role("combobox", name="Relation", exact=True)
    chosen = field.input_value()
    field.fill("Acc")
    page.get_by_role("option", name="Accuse").wait_for()
    page.keyboard.press("Escape")
    assert field.get_attribute("aria-expanded") == "false"
    assert field.input_value() == chosen
    assert answers(page) == before


def test_arrow_keys_move_the_date_and_the_answers_follow(new_page: NewPage, link: str, example: dict[str, Any]) -> None:
    page = new_page(link)
    answers(page)
    field = page.locator("[aria-labelledby=question-title]").get_by_role("textbox", name="When")
    with page.expect_response("**/v1/predict"):
        field.press("ArrowUp")
    assert field.input_value() > example["at"]
    assert f"at={field.input_value()}" in page.url


def test_the_skip_link_leads_to_the_answers_and_leaves_the_address_alone(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    answers(page)
    before = page.url
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent").startswith("Skip")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answers"
    assert page.url == before


def test_colours_follow_the_system_until_somebody_chooses(new_page: NewPage) -> None:
    page = new_page(color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    page.get_by_role("button", name="Use light colours").click()
    assert page.evaluate(theme) == "light"
    page.reload()
    page.get_by_role("button", name="Use dark colours").wait_for()
    assert page.evaluate(theme) == "light"


@pytest.mark.parametrize("width", [320, 390, 768, 1024])
def test_nothing_has_to_be_scrolled_sideways(new_page: NewPage, link: str, width: int) -> None:
    page = new_page(link, width=width)
    answers(page)
    page.wait_for_selector("[data-drawn]")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_service_with_a_token_asks_for_it(run: Path, tmp_path: Path, new_page: NewPage) -> None:
    with serving(run, tmp_path / "observed.sqlite", "--token", "sesame") as address:
        page = new_page(at=address, tolerate="status of 401")
        token = page.get_by_label("Token")
        token.fill("barley")
        page.get_by_role("button", name="Go on").click()
        page.get_by_text("That token is not the right one.").wait_for()
        token.fill("sesame")
        page.get_by_role("button", name="Go on").click()
        page.get_by_role("button", name="Show me an example").click()
        assert answers(page)
        assert "sesame" not in page.url


def test_the_picture_can_be_saved(new_page: NewPage, link: str, tmp_path: Path) -> None:
    page = new_page(link)
    page.wait_for_selector("[data-drawn]")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save the picture").click()
    file = tmp_path / "picture.png"
    saved.value.save_as(file)
    assert file.read_bytes().startswith(b"\x89PNG")
    assert re.search(r"\.png$", saved.value.suggested_filename)
