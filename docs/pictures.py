"""Redraws the pictures of the documentation from real output: ``make pictures``."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console

IMAGES = Path(__file__).parent / "images"


def output_of(*arguments: str) -> str:
    """Standard output of a fitcarl command, run in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fitcarl", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def draw(name: str, title: str, text: str) -> None:
    """Write ``images/<name>.svg``: the text as shown in a terminal."""
    width = max(map(len, text.splitlines()))
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(text.strip("\n"), markup=False, emoji=False, soft_wrap=True)
    svg = console.export_svg(title=title, unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # web fonts: the reader's own are used instead
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


def main() -> None:
    demo = output_of("demo")
    draw("demo", "fitcarl demo", demo[demo.index("4. ") : demo.rindex("\nThe report is in")])
    draw("describe", "fitcarl data describe demo", output_of("data", "describe", "demo"))


if __name__ == "__main__":
    main()
