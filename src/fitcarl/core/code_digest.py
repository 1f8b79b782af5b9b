"""A digest of all that the machine code of a function is made from.

numba compiles a function again if its own file has changed. The code of the functions that it calls and the constants
that it reads become part of its machine code, too, but may come from other files.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Iterator
from enum import EnumType
from functools import cache
from types import CodeType, FunctionType
from typing import Any

_NAME = re.compile(r"\w+")


def code_digest(function: FunctionType) -> str:
    """sha256 of a function and of all compiled functions that it calls, directly or not, with their constants.

    Args:
        function: What is compiled. All that it refers to is defined by now.
    """
    found: dict[str, str] = {}
    waiting = [function]
    while waiting:
        current = waiting.pop()
        name = f"{current.__module__}.{current.__qualname__}"
        if name not in found:
            found[name], called = _own_digest(current)
            waiting += called
    return _digest(sorted(found.items()))


@cache
def _own_digest(function: FunctionType) -> tuple[str, tuple[FunctionType, ...]]:
    """The digest of a function with its constants, and the compiled functions that it refers to."""
    parts: list[Any] = [_parts_of(function.__code__), function.__defaults__]
    called = []
    for name, value in _referred_to(function):
        if hasattr(value, "py_func"):
            called.append(value.py_func)
            parts.append((name, sorted(value.targetoptions.items())))
        elif isinstance(value, EnumType):
            members: list[Any] = list(value)
            parts.append((name, members))
        elif isinstance(value, type) and hasattr(value, "_fields"):
            parts.append((name, value._fields))
        elif isinstance(value, bool | int | float | str | tuple):
            parts.append((name, value))
    return _digest(parts), tuple(called)


def _parts_of(code: CodeType) -> list[Any]:
    """What is executed; code within it, as that of a comprehension, would be shown as an address."""
    constants = [_parts_of(part) if isinstance(part, CodeType) else part for part in code.co_consts]
    return [code.co_code, code.co_names, code.co_varnames, constants]


def _referred_to(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables that the code of a function reads, and the types of its arguments."""
    variables = inspect.getclosurevars(function)
    yield from sorted({**variables.globals, **variables.nonlocals}.items())
    for annotation in function.__annotations__.values():
        for name in _NAME.findall(str(annotation)):
            if name in function.__globals__:
                yield name, function.__globals__[name]


def _digest(parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
