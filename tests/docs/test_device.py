"""The table of compiled loops in the guide for GPUs is complete."""

from __future__ import annotations

import re

from tests.docs.markdown import DOCS, ROOT

PACKAGE = ROOT / "src" / "fitcarl"


def test_every_file_with_compiled_loops_is_listed() -> None:
    listed = re.findall(r"^\| (.*?) \|", (DOCS / "guides" / "gpu.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = set(re.findall(r"`([\w/]+\.py)`", "\n".join(listed)))
    compiled = re.compile(r"^@(array_function|loop)\b", re.MULTILINE)
    sources = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    files = {path for path, text in sources.items() if compiled.search(text)}
    assert named == files
