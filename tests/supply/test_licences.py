"""Licences of what the wheel bundles."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WEB = ROOT / "src" / "fitcarl" / "serve" / "web"


def test_notices_name_every_bundled_package_with_its_version_and_licence() -> None:
    notices = (WEB / "THIRD-PARTY.txt").read_text(encoding="utf-8")
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    bundled = {
        place.rpartition("node_modules/")[2]: about
        for place, about in packages.items()
        if place and not about.get("dev")
    }
    assert bundled
    headings = [f"{name} {about['version']} ({about['license']})" for name, about in sorted(bundled.items())]
    assert re.findall(r"^[\w@/.-]+ \d[\w.-]* \([^)]+\)$", notices, re.MULTILINE) == headings
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        text = notices.partition(heading)[2]
        text = text.partition(following)[0] if following else text
        assert "Copyright (c)" in text
        assert "Permission is hereby granted" in text
