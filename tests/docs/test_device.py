"""The table of compiled loops in the guide for GPUs is complete."""

from __future__ import annotations

import re

from tests.docs.markdown import DOCS, ROOT

PACKAGE = ROOT / "src" / "fitcarl"


def test_every_file_with_compiled_loops_is_listed() -> None:
    listed = re.findall(r"^\| (.*?) \|", (DOCS / "guides" / "gpu.md").read_text(encoding="utf-8"), re.MULTILINE)
    named = set(re.findall(r"`([\w/]+\.py)`", "\n".join(listed)))
    files = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py") if "@njit" in path.read_text()}
    assert named == files
