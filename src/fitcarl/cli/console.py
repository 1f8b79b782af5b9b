"""Where results and messages go, how they look, and what an exit code says: the one place that knows."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitcarl.errors import FitcarlError, InputError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from fitcarl.data.dataset import Split

FINE, FAULT, INPUT, STOPPED, UNREAD = 0, 1, 2, 130, 141
"""Exit codes: all well; our fault; the user's input; Ctrl-C or SIGTERM; whoever read our output went away."""

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""typer keeps click inside itself since some version; the parent of its public error is the same class in all."""

SplitOption = Annotated[
    str | None,
    typer.Option("--split", help="train, valid or test. [default: test; valid for a run on plain facts]"),
]

Progress = Callable[[str, int, int | None], None]
"""Told what is being worked on, how much of it is done, and how much there will be if that is known."""

_WIDE = 10_000
"""Columns of a file or a pipe: more than any table has."""


def group(help: str) -> typer.Typer:
    """An empty group of commands as all of ours are: plain help (it is three times as fast), and errors are ours."""
    app = typer.Typer(help=help, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.callback(invoke_without_command=True)(help_when_alone)
    return app


def help_when_alone(context: typer.Context) -> None:
    """Shows a group's help when none of its commands was named."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def results() -> Console:
    """The console for results (stdout). Text is shown as it is: no markup, no wrapping, colours on terminals only."""
    from rich.console import Console

    return Console(markup=False, emoji=False, soft_wrap=True, width=None if _has_width() else _WIDE)


def show(*lines: object) -> None:
    """Prints a result for people."""
    console = results()
    for line in lines:
        if isinstance(line, str) or _has_width():
            console.print(line)
        else:
            with console.capture() as shown:
                console.print(line)
            sys.stdout.write("".join(f"{part.rstrip()}\n" for part in shown.get().rstrip("\n").split("\n")))


def _has_width() -> bool:
    """Whether what is shown has to fit somewhere; a file or a pipe is as wide as what is written to it."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def show_json(value: object) -> None:
    """Prints a result for programs: one JSON value and nothing else on stdout."""
    readable = "utf" in (sys.stdout.encoding or "").lower()
    sys.stdout.write(json.dumps(value, ensure_ascii=not readable, indent=2, allow_nan=False) + "\n")


def split_called(name: str) -> Split:
    """What --split says."""
    from fitcarl.data.dataset import SPLITS

    for split in SPLITS:
        if split == name:
            return split
    raise InputError("no such split", field="--split", found=name, expected=", ".join(SPLITS))


def refuse(context: typer.Context, options: dict[str, str], problem: str, expected: str) -> None:
    """Refuses options that would be passed over: whoever gave one would wait for nothing."""
    for name, option in options.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(problem, field=option, expected=expected)


def check_picture(option: str, file: Path | None, endings: Sequence[str]) -> None:
    """Before anything is computed: whether a picture can be put there."""
    if file is None:
        return
    if file.suffix.lower() not in endings:
        raise InputError("no kind of picture", field=option, found=file.name, expected=" or ".join(endings))
    if not file.parent.is_dir():
        raise InputError("no such folder", field=option, found=str(file.parent), expected="a folder that exists")


def program() -> str:
    """How this program is called from here: by its name where that is found, by its place otherwise."""
    if shutil.which("fitcarl"):
        return "fitcarl"
    called = Path(sys.argv[0])
    if called.name != "fitcarl":
        return "python -m fitcarl"
    return os.path.relpath(called) if called.is_relative_to(Path.cwd()) else str(called)


def say(message: str) -> None:
    """Prints one line about what is going on (stderr)."""
    sys.stderr.write(" ".join(message.splitlines()) + "\n")


@contextmanager
def progress() -> Iterator[Progress]:
    """A progress bar on stderr that is gone when the work is done; nothing at all when stderr is no terminal."""
    if not sys.stderr.isatty():
        yield lambda _what, _done, _total: None
        return

    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(task, description=what, completed=done, total=total)


@contextmanager
def trained_apart() -> Iterator[None]:
    """Around what trains in processes of its own: their ends, other than well, become exit codes of ours."""
    from fitcarl.experiments.jobs import TrainingError
    from fitcarl.training.loop import Stopped

    try:
        yield
    except Stopped as stopped:
        say(str(stopped))
        raise typer.Exit(STOPPED) from None
    except TrainingError as failed:
        say(f"error: {failed}")
        raise typer.Exit(failed.code) from None


def exit_code_of(command: Callable[[], object]) -> int:
    """Runs a command. Whatever goes wrong becomes one line on stderr and an exit code, never a traceback."""
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # what it thinks of its cache is nobody's concern here
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that this terminal cannot show must not end the command
            stream.reconfigure(errors="backslashreplace")
    try:
        with _ended_as_by_ctrl_c():
            command()
        sys.stdout.flush()
    except typer.Exit as end:
        return int(end.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        say("stopped")
        return STOPPED
    except BrokenPipeError:
        # The interpreter flushes stdout once more at its end; let that go nowhere rather than fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    except UsageError as mistake:
        say(f"error: {_usage_line(mistake)}")
        return INPUT
    except FitcarlError as mistake:
        return _fail(mistake, f"error: {mistake}", INPUT)
    except OSError as trouble:
        if trouble.filename is None:
            return _fault(trouble)
        return _fail(trouble, f"error: {trouble.filename}: {trouble.strerror}", INPUT)
    except Exception as fault:
        return _fault(fault)
    return FINE


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[None]:
    """SIGTERM, by which a system ends what runs on it, is taken as Ctrl-C is: nothing half done is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fault(fault: Exception) -> int:
    hint = "run with FITCARL_TRACEBACK=1 for the traceback"
    return _fail(fault, f"this is a fault of fitcarl, not yours: {type(fault).__name__}: {fault}; {hint}", FAULT)


def _fail(reason: Exception, line: str, code: int) -> int:
    if os.environ.get("FITCARL_TRACEBACK") == "1":
        traceback.print_exception(reason)
    say(line)
    return code


def _usage_line(mistake: Any) -> str:
    """One line about a command line that cannot be understood, with the nearest names and where help is."""
    line, context = mistake.format_message(), mistake.ctx
    if type(mistake).__name__ == "NoSuchOption" and context is not None:
        known = [name for param in context.command.params for name in (*param.opts, *param.secondary_opts)]
        hint = did_you_mean(mistake.option_name, [name for name in known if name.startswith("--")], count=1)
        line = f"no such option {mistake.option_name}" + (f". {hint.capitalize()}" if hint else "")
    if context is not None:
        line += f"{'' if line.endswith(('.', '?')) else '.'} See {context.command_path} --help"
    return str(line[:1].lower() + line[1:])
