"""Every class and every public top-level function of the package has a unique name."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import fitcarl

PACKAGE = Path(fitcarl.__file__).parent


def _definitions(path: Path) -> list[str]:
    """Classes (private ones too) and public functions at the top level of a module."""
    return [
        node.name
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef)
        or (isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"))
    ]


def test_names_are_defined_once() -> None:
    places = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for name in _definitions(path):
            places[name].append(str(path.relative_to(PACKAGE)))
    repeated = {name: paths for name, paths in places.items() if len(paths) > 1}
    unexpected = [f"{name}: {', '.join(paths)}" for name, paths in sorted(repeated.items())]
    assert not unexpected, "defined more than once:\n" + "\n".join(unexpected)


def test_no_class_shadows_pathlib_path() -> None:
    assert not [path for path in PACKAGE.rglob("*.py") if "Path" in _definitions(path)]
