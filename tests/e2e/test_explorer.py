"""Use of the explorer in a browser, with a running service."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.conftest import NewPage, encoded_fact, example_entity, running_service
from tests.e2e.explorer_page import (
    answers,
    comparison,
    entity_field,
    explained_entity,
    fact_effects,
    fact_form,
    query_panel,
    shares,
    switches,
    wait_for_effects,
    wait_for_no_comparison,
)

pytestmark = pytest.mark.slow


def test_example_on_start_page_is_answered_and_explained(new_page: NewPage, example: dict[str, Any]) -> None:
    page = new_page()
    page.get_by_role("button", name="Show an example").click()
    assert len(answers(page)) == 10
    assert entity_field(page).input_value() == example_entity(example)
    assert switches(page).count() == len(example["facts"])
    assert explained_entity(page) == answers(page)[0]
    assert page.locator(".sentence").first.inner_text().endswith(".")
    assert page.locator(".concepts").count() > 0


def test_new_entity_can_be_entered_and_queried_by_keyboard(new_page: NewPage) -> None:
    page = new_page()
    keys = page.keyboard
    entity_field(page).focus()
    keys.type("Harbour Union of Nowhere")
    page.get_by_role("option", name="new entity").wait_for()
    keys.press("Enter")
    page.get_by_text("Not in the training data").wait_for()

    fact_form(page).get_by_role("combobox", name="Relation").focus()
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
    page.get_by_text("A prediction needs:").wait_for()

    query_panel(page).get_by_role("combobox", name="Relation").focus()
    keys.type("sign form")
    page.get_by_role("option", name="Sign formal agreement").wait_for()
    keys.press("ArrowDown")
    keys.press("Enter")
    names = answers(page)
    page.locator(".answer").first.focus()
    keys.press("ArrowDown")
    keys.press("Enter")
    assert explained_entity(page) == names[1]


def test_paths_are_drawn_with_answer_in_red(new_page: NewPage, link: str) -> None:
    page = new_page(link, color_scheme="light")
    second = answers(page)[1]
    page.locator(".answer").nth(1).click()
    page.wait_for_selector("[data-drawn]")
    assert explained_entity(page) == second
    assert int(page.locator(".canvas").get_attribute("data-drawn") or 0) >= 2
    has_red = page.evaluate(
        """() => [...document.querySelectorAll(".canvas canvas")].some((canvas) => {
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const isRed = (i) => data[i] == 0xb3 && data[i + 1] == 0x26 && data[i + 2] == 0x1e;
            let count = 0;
            for (let i = 0; i < data.length; i += 4) count += isRed(i);
            return count > 500;
        })"""
    )
    assert has_red


def test_disabling_fact_changes_answers_and_enabling_restores_them(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page), shares(page)
    switches(page).nth(1).click()
    assert "1 fact switched off" in comparison(page)
    after = answers(page), shares(page)
    assert after != before
    assert page.locator(".bar i").count() > 0
    switches(page).nth(1).click()
    wait_for_no_comparison(page)
    assert (answers(page), shares(page)) == before


def test_fact_on_path_can_be_excluded_and_included_again(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    count = switches(page).count()
    page.locator(".steps li").nth(1).get_by_role("button", name="Exclude fact").click()
    assert "1 fact switched off" in comparison(page)
    assert switches(page).count() == count + 1
    page.get_by_role("heading", name="Excluded facts").wait_for()
    switches(page).last.click()
    wait_for_no_comparison(page)
    assert switches(page).count() == count


def test_selected_answer_is_explained_by_evidence_and_facts(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    answers(page)
    with page.expect_response("**/v1/explain") as response:
        page.locator(".answer").nth(1).click()
    expected = response.value.json()
    wait_for_effects(page)
    assert expected["summary"] in page.locator(".summary").inner_text()
    assert "Base rate:" in page.locator(".summary").inner_text()
    assert page.locator(".summary h3").inner_text().startswith("Explained by")
    assert f"{expected['considered']} considered fact" in fact_effects(page).inner_text()
    assert fact_effects(page).get_by_text("without it:").count() > 0
    evidence = page.get_by_role("region", name="Evidence")
    texts = evidence.locator(".evidence-value").all_inner_texts()
    values = [float(text.replace("−", "-").split()[0]) for text in texts]
    assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.01 * len(values))
    assert values[-1] == pytest.approx(expected["score"], abs=0.01)


def test_row_of_evidence_opens_by_keyboard_and_shows_its_facts(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    wait_for_effects(page)
    row = page.locator("details:has(> .evidence-row)").first
    assert not row.locator(".evidence-facts").is_visible()
    row.locator("summary").focus()
    page.keyboard.press("Enter")
    assert row.locator(".evidence-facts li").first.is_visible()


def test_fact_from_list_of_effects_can_be_switched_off(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page), shares(page)
    first = fact_effects(page).locator(".effect").first
    text = first.locator(".effect-result").inner_text()
    first.get_by_role("button", name="Exclude fact").click()
    assert "1 fact switched off" in comparison(page)
    assert (answers(page), shares(page)) != before
    wait_for_effects(page)
    place = page.locator(".explanation > .hint").first.inner_text()
    rank, share = re.findall(r"Rank (\d+), share ([<\d. ]+) %", place)[0]
    assert text.startswith(f"without it: {share} % · rank {rank}")


def test_paths_are_shown_at_once_and_failed_explanation_can_be_repeated(new_page: NewPage, link: str) -> None:
    page = new_page(tolerate="status of 503")
    error = json.dumps({"error": {"message": "too many requests are waiting", "field": None, "suggestions": []}})
    page.route("**/v1/explain", lambda route: route.fulfill(status=503, body=error, content_type="application/json"))
    page.goto(page.url + link)
    page.reload()
    page.get_by_role("alert").get_by_text("Too many requests are waiting.").wait_for()
    assert answers(page)
    page.wait_for_selector("[data-drawn]")
    assert page.locator(".path").count() > 0
    assert page.locator(".evidence").count() == 0
    page.unroute("**/v1/explain")
    page.get_by_role("button", name="Try again").click()
    wait_for_effects(page)
    assert page.get_by_role("alert").count() == 0


def test_explanation_belongs_to_the_last_selected_answer(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    names = answers(page)
    for index in (1, 2, 3):
        page.locator(".answer").nth(index).click()
    wait_for_effects(page)
    assert explained_entity(page) == names[3]
    assert page.locator(".explanation > .hint").first.inner_text().startswith("Rank 4,")


def test_message_is_shown_if_all_facts_are_disabled(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    answers(page)
    for index in range(switches(page).count()):
        switches(page).nth(index).click()
    page.get_by_text("are switched off. Switch one on to predict.").wait_for()


def test_link_restores_state(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    answers(page)
    switches(page).first.click()
    comparison(page)
    page.locator(".answer").nth(2).click()
    shown = answers(page), shares(page), explained_entity(page)
    other = new_page("#" + page.url.partition("/#")[2])
    assert "1 fact switched off" in comparison(other)
    assert (answers(other), shares(other), explained_entity(other)) == shown


def test_back_button_undoes_change(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page)
    switches(page).first.click()
    comparison(page)
    page.go_back()
    wait_for_no_comparison(page)
    assert answers(page) == before
    assert switches(page).first.get_attribute("aria-checked") == "true"


def test_as_of_hides_later_facts(new_page: NewPage, link: str, example: dict[str, Any]) -> None:
    limit = max(fact["time"] for fact in example["facts"])
    page = new_page(f"{link}&asof={limit}")
    answers(page)
    assert f"Only facts up to {limit}" in comparison(page)
    for index in range(5):
        page.locator(".answer").nth(index).click()
        assert all(date <= limit for date in page.locator(".steps .date").all_inner_texts())


def test_query_direction_can_be_reversed(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page), shares(page)
    other_direction = query_panel(page).locator(".segments label:not(.chosen) input")
    with page.expect_response("**/v1/predict") as response:
        other_direction.check(force=True)
    assert response.value.ok
    page.wait_for_timeout(100)
    assert (answers(page), shares(page)) != before


def test_suggestion_corrects_misspelt_relation(new_page: NewPage, link: str, example: dict[str, Any]) -> None:
    relation = example["relation"]
    misspelt = link.replace(urlencode({"relation": relation}), urlencode({"relation": relation[:-1]}))
    page = new_page(misspelt, tolerate="status of 4")
    page.get_by_role("alert").get_by_role("button", name=relation).click()
    assert answers(page)
    assert query_panel(page).get_by_role("combobox", name="Relation").input_value() == relation


def test_request_can_be_repeated_if_service_is_busy(new_page: NewPage, link: str) -> None:
    page = new_page(tolerate="status of 503")
    error = json.dumps({"error": {"message": "too many requests are waiting", "field": None, "suggestions": []}})
    page.route("**/v1/predict", lambda route: route.fulfill(status=503, body=error, content_type="application/json"))
    page.goto(page.url + link)
    page.reload()
    page.get_by_text("Too many requests are waiting.").wait_for()
    page.unroute("**/v1/predict")
    page.get_by_role("button", name="Try again").click()
    assert answers(page)


def test_unreachable_service_shows_error(new_page: NewPage) -> None:
    page = new_page(tolerate="Failed to load")
    page.route("**/v1/**", lambda route: route.abort())
    page.reload()
    page.get_by_text("The service does not respond.").wait_for()
    page.unroute("**/v1/**")
    page.get_by_role("button", name="Try again").click()
    entity_field(page).wait_for()


def test_stored_facts_are_kept_and_can_be_removed(new_page: NewPage, example: dict[str, Any]) -> None:
    fact = {**example["facts"][0], "subject": "Keeper of Facts", "object": "Storehouse Ltd"}
    page = new_page("#" + urlencode([("entity", "Keeper of Facts"), ("fact", encoded_fact(fact))]))
    page.get_by_role("button", name="Store facts").click()
    page.get_by_text("1 fact stored.").wait_for()
    later = new_page("#" + urlencode([("entity", "Keeper of Facts")]))
    later.get_by_role("heading", name="Stored facts").wait_for()
    assert switches(later).count() == 1
    later.get_by_role("button", name="Remove stored fact").click()
    later.get_by_text("No facts yet.").wait_for()
    assert switches(later).count() == 0


def test_escape_closes_suggestions_and_keeps_value(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    before = answers(page)
    field = query_panel(page).get_by_role("combobox", name="Relation")
    value = field.input_value()
    field.fill("Acc")
    page.get_by_role("option", name="Accuse").wait_for()
    page.keyboard.press("Escape")
    assert field.get_attribute("aria-expanded") == "false"
    assert field.input_value() == value
    assert answers(page) == before


def test_arrow_keys_change_time_and_answers(new_page: NewPage, link: str, example: dict[str, Any]) -> None:
    page = new_page(link)
    answers(page)
    field = query_panel(page).get_by_role("textbox", name="Time")
    with page.expect_response("**/v1/predict"):
        field.press("ArrowUp")
    assert field.input_value() > example["at"]
    assert f"at={field.input_value()}" in page.url


def test_skip_link_focuses_answers_and_keeps_url(new_page: NewPage, link: str) -> None:
    page = new_page(link)
    answers(page)
    before = page.url
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to answers"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "answers"
    assert page.url == before


def test_theme_follows_system_until_chosen(new_page: NewPage) -> None:
    page = new_page(color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert page.evaluate(theme) == "dark"
    page.get_by_role("button", name="Use light theme").click()
    assert page.evaluate(theme) == "light"
    page.reload()
    page.get_by_role("button", name="Use dark theme").wait_for()
    assert page.evaluate(theme) == "light"


@pytest.mark.parametrize("width", [320, 390, 768, 1024])
def test_page_does_not_scroll_horizontally(new_page: NewPage, link: str, width: int) -> None:
    page = new_page(link, width=width)
    answers(page)
    wait_for_effects(page)
    page.wait_for_selector("[data-drawn]")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_token_form_accepts_only_the_right_token(run: Path, tmp_path: Path, new_page: NewPage) -> None:
    with running_service(run, tmp_path / "observed.sqlite", "--token", "open-sesame-open") as address:
        page = new_page(at=address, tolerate="status of 401")
        token = page.get_by_label("Token")
        token.fill("barley")
        page.get_by_role("button", name="Continue").click()
        page.get_by_text("The token is not valid.").wait_for()
        token.fill("open-sesame-open")
        page.get_by_role("button", name="Continue").click()
        page.get_by_role("button", name="Show an example").click()
        assert answers(page)
        page.wait_for_selector("[data-drawn]")  # nothing is loading when the service stops
        assert "open-sesame-open" not in page.url


def test_graph_can_be_saved_as_png(new_page: NewPage, link: str, tmp_path: Path) -> None:
    page = new_page(link)
    page.wait_for_selector("[data-drawn]")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as PNG").click()
    file = tmp_path / "graph.png"
    download.value.save_as(file)
    assert file.read_bytes().startswith(b"\x89PNG")
    assert re.search(r"\.png$", download.value.suggested_filename)
