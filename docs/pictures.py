"""Redraws the pictures of the documentation from real output: ``make pictures``."""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from rich.console import Console

IMAGES = Path(__file__).parent / "images"
WIDTH = 110
"""Columns of a picture; longer lines are wrapped."""
CASES = 2
"""Predictions of the demo that are shown."""


def output_of(*arguments: str) -> str:
    """Standard output of a fitcarl command, run in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "fitcarl", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def draw(name: str, title: str, text: str) -> None:
    """Write ``images/<name>.svg``: the text as shown in a terminal."""
    text = "\n".join(line for long in text.strip("\n").split("\n") for line in wrap(long))
    console = Console(
        record=True,
        width=max(map(len, text.splitlines())),
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
    )
    console.print(text, markup=False, emoji=False, soft_wrap=True)
    svg = console.export_svg(title=title, unique_id=name)
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)  # web fonts: the reader's own are used instead
    IMAGES.mkdir(exist_ok=True)
    (IMAGES / f"{name}.svg").write_text(svg, encoding="utf-8")


def wrap(line: str) -> list[str]:
    """The line in parts of at most ``WIDTH`` characters, continued with its own indentation and two more spaces."""
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent + "  ", break_on_hyphens=False) or [""]


def evaluation_and_cases(demo: str) -> str:
    """Section 4 of the demo (evaluation) and the first predictions of section 5."""
    evaluation, predictions = demo[demo.index("4. ") : demo.index("\n6. ")].split("\n5. ")
    heading, *cases = re.split(r"\n\s*\n", f"5. {predictions.strip()}")
    return "\n\n".join([evaluation.strip("\n"), heading, *cases[:CASES]])


def main() -> None:
    draw("demo", "fitcarl demo", evaluation_and_cases(output_of("demo")))
    draw("describe", "fitcarl data describe demo", output_of("data", "describe", "demo"))


if __name__ == "__main__":
    main()
