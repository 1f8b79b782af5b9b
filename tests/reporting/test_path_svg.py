"""The picture is well-formed whatever names hold, and shows what the paths say."""

from __future__ import annotations

from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from fitcarl.predict.prediction import Answer
from fitcarl.predict.query import Query
from fitcarl.reporting.path_svg import draw
from fitcarl.scoring.path import ExplanationPath, PathStep

SVG = "{http://www.w3.org/2000/svg}"
_NAME = st.text(min_size=1, max_size=60).filter(lambda name: name.strip() != "")


def answer(name: str, steps: int, is_context: bool = False, middle: str = "Middle") -> Answer:
    stops = ["Actor", *(f"{middle} {number}" for number in range(steps - 1)), name]
    facts = tuple(PathStep(a, "deals with", b, "2024-01-02", 0.5, None, True) for a, b in pairwise(stops))
    return Answer(1, name, -1.0, 0.5, ("Kind",), (ExplanationPath("Actor", name, -1.0, facts, is_context),))


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def test_a_picture_names_everybody_and_dates_every_edge() -> None:
    svg = draw(Query("Actor", None, "meets", "2024-02-03"), [answer("Goal", 3)])
    shown = texts(svg)
    assert {"Actor", "Middle 0", "Middle 1", "Goal", "meets?", "2024-02-03"} <= set(shown)
    assert shown.count("2024-01-02") == 3


def test_the_answer_is_the_only_red_node() -> None:
    svg = draw(Query("Actor", None, "meets", "2024-02-03"), [answer("Goal", 2)])
    boxes = [box for box in ElementTree.fromstring(svg).iter(f"{SVG}g") if box.find(f"{SVG}rect") is not None]
    red = [box.findtext(f"{SVG}title") for box in boxes if box.find(f"{SVG}rect").get("fill") == "#c62f33"]  # type: ignore[union-attr]
    assert red == ["Goal"]


def test_what_others_did_is_dashed_and_does_not_begin_at_the_actor() -> None:
    step = PathStep("Other", "meets", "Goal", "2024-01-02", 0.5, None, True)
    crowd = Answer(1, "Goal", -1.0, 0.5, (), (ExplanationPath("Actor", "Goal", -1.0, (step,), is_context=True),))
    svg = draw(Query("Actor", None, "meets", "2024-02-03"), [crowd])
    assert "Other" in texts(svg)
    assert 'stroke-dasharray="3 4"' in svg


@given(_NAME, _NAME, _NAME, st.integers(1, 3), st.booleans())
def test_any_name_gives_a_well_formed_picture(name: str, relation: str, middle: str, steps: int, turned: bool) -> None:
    question = Query(None, name, relation, "5") if turned else Query(name, None, relation, "5")
    ElementTree.fromstring(draw(question, [answer(name, steps, middle=middle), answer("Goal", 1)]))


def test_a_picture_of_nothing_is_still_one() -> None:
    question = Query("Actor", None, "meets", "2024-02-03")
    ElementTree.fromstring(draw(question, []))
    ElementTree.fromstring(draw(question, [Answer(1, "Goal", -1.0, 0.5, (), ())]))
