"""Progress on terminals, in files and in notebooks."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from fitcarl.core import progress_bar
from fitcarl.core.progress import Progress, ignore_progress
from fitcarl.core.progress_bar import ProgressBar, in_notebook, progress_text, reporting


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(progress_bar, "monotonic", found)
    return found


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What a notebook shows, one entry per display; this process pretends to be a kernel."""
    shown: list[dict[str, str]] = []

    def display(data: dict[str, str], **options: Any) -> Any:
        assert options == {"raw": True, "display_id": True}
        shown.append(data)
        number = len(shown) - 1
        return SimpleNamespace(update=lambda data, raw: shown.__setitem__(number, data) if raw else None)

    module = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=object()))
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return shown


def updates(total: int, until: int | None = None, stage: str = "training") -> list[Progress]:
    return [Progress(stage, number, total, "episodes") for number in range(1, (until or total) + 1)]


def test_text_has_units_metrics_and_time_left() -> None:
    update = Progress("training", 1200, 2000, "episodes", {"loss": 0.51234, "seconds": 3.0}, 75.2)
    assert progress_text(update) == "training: 1,200/2,000 episodes, loss 0.512, 1:15 left"
    assert progress_text(Progress("download", 5, 0, "bytes")) == "download: 5 bytes"
    assert progress_text(Progress("a\nb", 1, 2)) == "a b: 1/2"


def test_terminal_line_is_rewritten_and_ends_with_the_stage(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    bar = ProgressBar()
    for update in updates(3):
        bar(update)
        clock.now += 1
    lines = stream.getvalue().split("\r\x1b[K")
    assert lines == ["", "training: 1/3 episodes", "training: 2/3 episodes", "training: 3/3 episodes\n"]


def test_frequent_updates_are_skipped_but_not_the_last(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with ProgressBar() as bar:
        for update in updates(10, until=7):
            bar(update)
    assert stream.getvalue().split("\r\x1b[K")[1:] == ["training: 1/10 episodes", "training: 7/10 episodes\n"]
    bar.close()
    assert stream.getvalue().count("\n") == 1
    assert clock.now == 1000.0


def test_file_gets_lines_at_the_ends_of_stages_and_now_and_then(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    bar = ProgressBar()
    for update in [*updates(3, stage="encoder"), *updates(9)]:
        bar(update)
        clock.now += 10
    shown = ["encoder: 1/3", "encoder: 3/3", "training: 1/9", "training: 4/9", "training: 7/9", "training: 9/9"]
    assert stream.getvalue().splitlines() == [f"{line} episodes" for line in shown]


def test_file_gets_no_line_twice(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    with ProgressBar() as bar:
        bar(updates(3)[0])
    assert stream.getvalue() == "training: 1/3 episodes\n"
    assert clock.now == 1000.0


def test_notebook_has_one_bar_for_all_stages(displayed: list[dict[str, str]], clock: Clock) -> None:
    bar = ProgressBar()
    for update in [*updates(3, stage="encoder"), *updates(4)]:
        bar(update)
        clock.now += 1
    assert [data["text/plain"] for data in displayed] == ["training: 4/4 episodes"]


def test_notebook_escapes_stages(displayed: list[dict[str, str]]) -> None:
    with ProgressBar() as bar:
        bar(Progress("<script>", 2, 3))
    assert displayed[0]["text/html"] == "<progress value='2' max='3'></progress> &lt;script&gt;: 2/3"


def test_without_callback_only_notebooks_show_progress(displayed: list[dict[str, str]]) -> None:
    with reporting(None) as report:
        report(updates(3)[0])
    assert len(displayed) == 1


def test_without_callback_nothing_is_shown_outside_notebooks(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    with reporting(None) as report:
        assert report is ignore_progress
        report(updates(1)[0])
    assert capfd.readouterr() == ("", "")


def test_ipython_on_a_terminal_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace()))
    assert not in_notebook()


def test_given_callback_replaces_the_bar_of_notebooks(displayed: list[dict[str, str]]) -> None:
    found: list[Progress] = []
    with reporting(found.append) as report:
        report(updates(3)[0])
    assert len(found) == 1
    assert not displayed


def test_given_bar_is_closed_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with reporting(ProgressBar()) as report:
        report(updates(3)[0])
    assert stream.getvalue().endswith("training: 1/3 episodes\n")
