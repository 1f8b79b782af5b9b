"""Every public function and method documents its parameters, so that the generated API reference does."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fitcarl
from fitcarl.testing import check_scorer

PUBLIC = {name: getattr(fitcarl, name) for name in fitcarl.__all__ if not name.startswith("_")}
PUBLIC["testing.check_scorer"] = check_scorer


def _callables(name: str, value: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A function itself; of a class the public methods that it defines."""
    if not inspect.isclass(value):
        yield name, value
        return
    for method, defined in vars(value).items():
        function = defined.__func__ if isinstance(defined, classmethod | staticmethod) else defined
        if inspect.isfunction(function) and not method.startswith("_"):
            yield f"{name}.{method}", function


CALLABLES = dict(pair for name, value in PUBLIC.items() for pair in _callables(name, value))


@pytest.mark.parametrize("name", PUBLIC)
def test_public_name_has_docstring(name: str) -> None:
    assert inspect.getdoc(PUBLIC[name])


@pytest.mark.parametrize("name", CALLABLES)
def test_parameters_are_documented(name: str) -> None:
    """In the section ``Args:``, or, where one sentence is enough, by name in double backquotes."""
    text = inspect.getdoc(CALLABLES[name]) or ""
    section = re.search(r"^Args:\n((?:[ ]+.*\n?|\n)+)", text, re.MULTILINE)
    documented = re.findall(r"^ {4}\*{0,2}(\w+)(?: \(.*?\))?:", section[1], re.MULTILINE) if section else []
    parameters = [one for one in inspect.signature(CALLABLES[name]).parameters if one not in ("self", "cls")]
    assert [one for one in parameters if one not in documented and f"``{one}``" not in text] == []
