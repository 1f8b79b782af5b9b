"""SVG images of explanation paths."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from fitcarl.predict.prediction import Answer
from fitcarl.predict.query import Direction, Query
from fitcarl.reporting.path_svg import draw_paths
from fitcarl.scoring.path import ExplanationPath, PathStep

LINK: tuple[str, Direction] = ("meets", "out")
SVG = "{http://www.w3.org/2000/svg}"
_NAME = st.text(min_size=1, max_size=60).filter(lambda name: name.strip() != "")


def answer(name: str, steps: int, is_context: bool = False, middle: str = "Middle") -> Answer:
    stops = ["Start", *(f"{middle} {number}" for number in range(steps - 1)), name]
    facts = tuple(PathStep(a, "deals with", b, "2024-01-02", 0.5, None, True) for a, b in pairwise(stops))
    return Answer(
        1,
        name,
        -1.0,
        0.5,
        ("Kind",),
        (ExplanationPath("Start", name, -1.0, facts, "context" if is_context else "path"),),
        *LINK,
    )


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_image_shows_all_names_and_dates() -> None:
    svg = draw_paths(Query("Start", None, "meets", "2024-02-03"), [answer("Goal", 3)])
    shown = texts(svg)
    assert {"Start", "Middle 0", "Middle 1", "Goal", "meets?", "2024-02-03"} <= set(shown)
    assert shown.count("2024-01-02") == 3


def test_answer_is_the_only_red_node() -> None:
    svg = draw_paths(Query("Start", None, "meets", "2024-02-03"), [answer("Goal", 2)])
    boxes = [box for box in ElementTree.fromstring(svg).iter(f"{SVG}g") if box.find(f"{SVG}rect") is not None]
    red = [box.findtext(f"{SVG}title") for box in boxes if box.find(f"{SVG}rect").get("fill") == "#c62f33"]  # type: ignore[union-attr]
    assert red == ["Goal"]


def test_context_facts_are_dashed_and_do_not_start_at_query_entity() -> None:
    step = PathStep("Other", "meets", "Goal", "2024-01-02", 0.5, None, True)
    context = Answer(1, "Goal", -1.0, 0.5, (), (ExplanationPath("Start", "Goal", -1.0, (step,), "context"),), *LINK)
    svg = draw_paths(Query("Start", None, "meets", "2024-02-03"), [context])
    assert "Other" in texts(svg)
    assert 'stroke-dasharray="3 4"' in svg


@given(_NAME, _NAME, _NAME, st.integers(1, 3), st.booleans())
def test_image_is_well_formed_for_any_name(name: str, relation: str, middle: str, steps: int, turned: bool) -> None:
    query = Query(None, name, relation, "5") if turned else Query(name, None, relation, "5")
    found = [answer(name, steps, middle=middle), answer("Goal", 1)]
    shown = [replace(one, relation=relation, direction=query.direction) for one in found]
    ElementTree.fromstring(draw_paths(query, shown))


def test_image_without_answers_or_paths_is_well_formed() -> None:
    query = Query("Start", None, "meets", "2024-02-03")
    ElementTree.fromstring(draw_paths(query, []))
    ElementTree.fromstring(draw_paths(query, [Answer(1, "Goal", -1.0, 0.5, (), (), *LINK)]))
