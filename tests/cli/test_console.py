"""Errors are one line on stderr and an exit code."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from fitcarl import __version__
from fitcarl.cli import RootCommands, build_cli, console
from fitcarl.core.progress import Progress
from fitcarl.errors import InputError
from tests.cli.conftest import Command


def _raising(reason: BaseException) -> None:
    raise reason


@pytest.mark.parametrize(
    ("reason", "code", "line"),
    [
        (InputError("no name", file="f.tsv", row=3), 2, "error: f.tsv, row 3: no name"),
        (FileNotFoundError(2, "No such file or directory", "x.tsv"), 2, "error: x.tsv: No such file or directory"),
        (KeyboardInterrupt(), 130, "stopped"),
        (typer.Abort(), 130, "stopped"),
        (
            KeyError("x"),
            1,
            "internal error in fitcarl: KeyError: 'x'; run with FITCARL_TRACEBACK=1 for the traceback",
        ),
        (
            ValueError("two\nlines"),
            1,
            "internal error in fitcarl: ValueError: two lines; run with FITCARL_TRACEBACK=1 for the traceback",
        ),
    ],
)
def test_failure_is_one_line_and_an_exit_code(
    capsys: pytest.CaptureFixture[str], reason: BaseException, code: int, line: str
) -> None:
    assert console.exit_code_of(lambda: _raising(reason)) == code
    assert capsys.readouterr() == ("", line + "\n")


def test_traceback_is_printed_if_requested(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FITCARL_TRACEBACK", "1")
    assert console.exit_code_of(lambda: _raising(KeyError("x"))) == 1
    stderr = capsys.readouterr().err
    assert stderr.startswith("Traceback")
    assert "_raising" in stderr
    assert stderr.rstrip().splitlines()[-1].startswith("internal error in fitcarl")


def test_successful_command_returns_zero() -> None:
    assert console.exit_code_of(lambda: None) == 0
    assert console.exit_code_of(lambda: _raising(typer.Exit(5))) == 5


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["reproduc"], "error: no such command 'reproduc'. Did you mean 'reproduce'? See fitcarl --help"),
        (["data", "spilt"], "error: no such command 'spilt'. Did you mean 'split'? See fitcarl data --help"),
        (
            ["data", "get", "demo", "--ot", "x"],
            "error: no such option --ot. Did you mean '--out'? See fitcarl data get",
        ),
        (["data", "split", "--facts", "f.tsv"], "error: missing option '--out'. See fitcarl data split --help"),
        (["data", "split", "--facts", "f.tsv", "--out", "d", "--seed", "x"], "error: invalid value for '--seed'"),
        (["data", "describe"], "error: missing argument 'FILE|DATA|RUN'. See fitcarl data describe --help"),
    ],
)
def test_invalid_command_line_is_reported_in_one_line(fitcarl: Command, arguments: list[str], line: str) -> None:
    outcome = fitcarl(*arguments)
    assert outcome.code == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith(line)
    assert outcome.stderr.count("\n") == 1


def test_process_fails_in_one_line(process: Command, tmp_path: Path) -> None:
    outcome = process("data", "describe", tmp_path / "nowhere")
    assert (outcome.code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    assert outcome.stderr.startswith("error: ")


def test_closed_pipe_is_not_an_error() -> None:
    command = [sys.executable, "-m", "fitcarl", "demo", "--help"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.parametrize(("arguments", "heading"), [([], "Start:"), (["data"], "Commands:")])
def test_group_without_command_shows_its_help(fitcarl: Command, arguments: list[str], heading: str) -> None:
    outcome = fitcarl(*arguments)
    assert outcome.code == 0
    assert outcome.stdout == fitcarl(*arguments, "--help").stdout
    assert heading in outcome.stdout


def test_version_is_printed(fitcarl: Command) -> None:
    assert fitcarl("--version").stdout == f"fitcarl {__version__}\n"


def test_progress_is_silent_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress() as on_progress:
        on_progress(Progress("download", 1, 2, "bytes"))
        on_progress(Progress("training", 2, 0, "episodes", {"loss": 0.5}))
    assert capsys.readouterr() == ("", "")


def test_json_keeps_unicode_names(capsys: pytest.CaptureFixture[str]) -> None:
    console.show_json({"name": "İzmir\u00a0x"})
    assert capsys.readouterr().out == '{\n  "name": "İzmir\u00a0x"\n}\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        console.show_json(float("nan"))


def test_message_is_one_line_and_keeps_other_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    with console.messages_to_stderr():
        console.log.info("a  file\u00a0name.tsv:\r\nnot\there\n")
    assert capsys.readouterr().err == "a  file\u00a0name.tsv: not\there\n"


def test_text_is_printed_without_markup(capsys: pytest.CaptureFixture[str]) -> None:
    console.show("[bold]x[/bold] :smile: " + "long " * 100)
    assert capsys.readouterr().out == "[bold]x[/bold] :smile: " + "long " * 100 + "\n"


def test_help_lists_every_command_under_one_heading_in_order_of_use(fitcarl: Command) -> None:
    placed = [name for names in RootCommands.panels.values() for name in names]
    commands = typer.main.get_command(build_cli()).commands  # type: ignore[attr-defined]
    assert sorted(placed) == sorted(commands)
    text = fitcarl("--help").stdout
    positions = [text.index(f"\n{part}") for part in ("Start:", "  demo ", "  data ", "  train ", "Use:", "  predict ")]
    assert positions == sorted(positions)
    assert "Commands:" not in text
    assert "..." not in text.replace("[ARGS]...", "")


@pytest.mark.parametrize("command", ["train", "names", "predict", "explain", "serve", "update", "evaluate", "compare"])
def test_main_commands_show_examples_that_parse(fitcarl: Command, command: str) -> None:
    text = fitcarl(command, "--help").stdout
    _, _, shown = text.partition("Example")
    lines = shown.replace("\\\n", "").splitlines()[1:]
    assert lines
    root = typer.main.get_command(build_cli())
    for line in lines:
        program, name, *words = shlex.split(line)
        assert (program, name) == ("fitcarl", command)
        chosen = root.commands[name]  # type: ignore[attr-defined]
        chosen.make_context(name, words)


EVIL = "\x1b]0;title\x07\x1b[31mred\x9b32m\u202e"


@pytest.mark.parametrize("wide", [True, False])
def test_control_characters_in_names_do_not_reach_the_terminal(
    wide: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rich.table import Table

    if wide:
        monkeypatch.setenv("COLUMNS", "200")
    table = Table("name")
    table.add_row(EVIL)
    with console.messages_to_stderr():
        console.show(EVIL, table)
        console.show_json({"name": EVIL})
        console.log.info(EVIL)
    out, err = capsys.readouterr()
    assert not set("\x1b\x07\x9b\u202e") & set(out + err)
    assert out.count("\\x1b]0;title") == 2
    assert "\\u001b]0;title" in out
    assert "\\x1b]0;title" in err


def test_traceback_has_no_control_characters(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FITCARL_TRACEBACK", "1")
    console.exit_code_of(lambda: _raising(ValueError(EVIL)))
    assert "\x1b" not in capsys.readouterr().err
