"""Generated pages of the documentation site, and anchors of headings."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

from tests.docs.markdown import DOCS


def _load(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{file.stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = _load(DOCS / "generate.py")
GENERATED = frozenset(generate.PAGES)


def anchors(page: Path) -> set[str]:
    """Anchors of the headings of a page, made as Python-Markdown makes them."""
    headings = re.findall(r"^#{1,6} (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {_slug(heading) for heading in headings}


def _slug(heading: str) -> str:
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    ascii_only = plain.encode("ascii", "ignore").decode()
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", ascii_only).strip().lower())
