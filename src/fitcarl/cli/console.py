"""Output, messages and exit codes of all commands."""

from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import typer
from typer.core import TyperGroup

from fitcarl.core.files import WriteError
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.errors import (
    FitcarlError,
    InputError,
    did_you_mean,
    escape_controls,
    escape_json_controls,
    require_extra,
)

if TYPE_CHECKING:
    from rich.console import Console

    from fitcarl.config.base import Setting
    from fitcarl.data.dataset import Split

OK, INTERNAL_ERROR, USAGE_ERROR, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141
"""Exit codes: success; a bug in fitcarl; unusable input; Ctrl-C or SIGTERM; the reader of stdout closed the pipe."""

log = logging.getLogger("fitcarl.cli")
"""Messages for the user. While a command runs, INFO and above of all fitcarl loggers are printed to stderr."""

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""The usage error of click, which recent versions of typer vendor; it is the parent class of BadParameter in all."""

SplitOption = Annotated[
    str | None,
    typer.Option("--split", help="train, valid or test. [default: test; valid if there are no test entities]"),
]

SettingOption = Annotated[
    str | None,
    typer.Option(
        "--setting",
        help="What may be used for a query: completion (facts of any time) or forecast (earlier facts only). "
        "[default: that of the run, or completion]",
    ),
]

DeviceOption = Annotated[
    str, typer.Option("--device", help="Where tensors are computed: auto (a GPU if there is one), cpu or cuda.")
]

_FOLLOWER_SECONDS = 10.0
"""How long a failed rank waits for rank 0 to end."""

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EIO)
"""Errors of a disk, which no change of the program avoids."""

Choice = TypeVar("Choice", bound=str)

_WIDE = 10_000
"""Width for files and pipes: wider than any table."""


_MAX_SHORT_HELP = 200
"""Characters of the first sentence of a command's help; longer ones are cut."""


class CommandGroup(TyperGroup):
    """A group whose help may list its commands under several headings."""

    panels: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Heading → commands; commands under no heading are listed at the end."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature of typer
        """Writes the commands to the help."""
        placed = {name for names in self.panels.values() for name in names}
        others = [name for name in self.commands if name not in placed]
        width = max(map(len, self.commands), default=0)
        for panel, names in (*self.panels.items(), ("Commands", others)):
            if names:
                with formatter.section(panel):
                    formatter.write_dl(
                        [(name.ljust(width), self.commands[name].get_short_help_str(_MAX_SHORT_HELP)) for name in names]
                    )


def examples(*lines: str) -> str:
    """Example commands as the epilog of a command's help; lines are not wrapped."""
    return "\b\n" + "\n".join([f"Example{'' if len(lines) == 1 else 's'}:", *(f"  {line}" for line in lines)])


def group(help: str, epilog: str | None = None, cls: type[CommandGroup] = CommandGroup) -> typer.Typer:
    """An empty command group with plain help (three times as fast as rich) and without typer's error formatting.

    Args:
        help: What the commands do.
        epilog: Text at the end of the help.
        cls: Class of the group.
    """
    app = typer.Typer(
        help=help,
        epilog=epilog,
        cls=cls,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(show_help_without_command)
    return app


def show_help_without_command(context: typer.Context) -> None:
    """Shows the help of a group that is called without a command."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def results() -> Console:
    """The console for results (stdout): no markup, no wrapping, colours on terminals only."""
    from fitcarl.cli.safe_console import SafeConsole

    return SafeConsole(markup=False, emoji=False, soft_wrap=True, width=None if _has_width() else _WIDE)


def show(*lines: object) -> None:
    """Prints human-readable results: strings or rich renderables."""
    console = results()
    with _output():
        for line in lines:
            if isinstance(line, str) or _has_width():
                console.print(line)
            else:
                with console.capture() as shown:
                    console.print(line)
                sys.stdout.write("".join(f"{part.rstrip()}\n" for part in shown.get().rstrip("\n").split("\n")))


@contextmanager
def _output() -> Iterator[None]:
    """Names stdout in the error if it cannot be written, for example because it is a file on a full disk."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        _discard_output()
        raise WriteError(error.strerror or str(error), "standard output", error.errno) from None


def _discard_output() -> None:
    """Redirects stdout to nowhere: the interpreter flushes it again at exit, which must not fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _has_width() -> bool:
    """Whether the output has a limited width; files and pipes have none."""
    return sys.stdout.isatty() or "COLUMNS" in os.environ


def show_json(value: object) -> None:
    """Prints one JSON value and nothing else to stdout."""
    readable = "utf" in (sys.stdout.encoding or "").lower()
    text = json.dumps(value, ensure_ascii=not readable, indent=2, allow_nan=False) + "\n"
    with _output():
        sys.stdout.write(escape_json_controls(text))


def parse_split(name: str) -> Split:
    """The value of ``--split``."""
    from fitcarl.data.dataset import SPLITS

    for split in SPLITS:
        if split == name:
            return split
    raise InputError("no such split", field="--split", found=name, expected=", ".join(SPLITS))


def parse_setting(name: str | None) -> Setting | None:
    """The value of ``--setting``; None if it was not given."""
    from fitcarl.config.base import SETTINGS

    return None if name is None else parse_choice(name, SETTINGS, "--setting")


def reject_options(context: typer.Context, options: dict[str, str], problem: str, expected: str) -> None:
    """Raises an InputError if one of these options was given on the command line, because it would be ignored.

    Args:
        context: Context of the running command.
        options: Parameter name → option as the user writes it.
        problem: Why the option cannot be used.
        expected: What to do instead.
    """
    for name, option in options.items():
        if was_given(context, name):
            raise InputError(problem, field=option, expected=expected)


def was_given(context: typer.Context, name: str) -> bool:
    """Whether a parameter was given on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def parse_choice(value: str, choices: Sequence[Choice], option: str) -> Choice:
    """The choice that was given.

    Raises:
        InputError: If there is no such choice.
    """
    for choice in choices:
        if choice == value:
            return choice
    raise InputError("no such choice", field=option, found=value, expected=", ".join(choices))


def check_image_path(option: str, file: Path | None, endings: Sequence[str]) -> None:
    """Checks before any computation that an image can be written to this path."""
    if file is None:
        return
    if file.suffix.lower() not in endings:
        raise InputError("unsupported image format", field=option, found=file.name, expected=" or ".join(endings))
    if not file.parent.is_dir():
        raise InputError("no such folder", field=option, found=str(file.parent), expected="an existing folder")


def require_plot(option: str) -> None:
    """Raises a MissingExtraError if figures cannot be drawn."""
    require_extra("plot", "matplotlib", needed_by=option)


def program_name() -> str:
    """How to call this program from here: ``fitcarl`` if it is on the PATH, otherwise its path."""
    if shutil.which("fitcarl"):
        return "fitcarl"
    called = Path(sys.argv[0])
    if called.name != "fitcarl":
        return "python -m fitcarl"
    return os.path.relpath(called) if called.is_relative_to(Path.cwd()) else str(called)


class _StderrHandler(logging.Handler):
    """Prints each record as one plain line to the current ``sys.stderr``."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(escape_controls(" ".join(record.getMessage().splitlines())) + "\n")
        except Exception:
            self.handleError(record)


@contextmanager
def messages_to_stderr() -> Iterator[None]:
    """Prints log records of fitcarl (INFO and above) as plain lines to stderr."""
    logger, handler = logging.getLogger("fitcarl"), _StderrHandler()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def format_progress(update: Progress) -> str:
    """The stage and its metrics, without the time spent."""
    metrics = ", ".join(f"{name} {value:.3f}" for name, value in update.metrics.items() if name != "seconds")
    return f"{update.stage}: {metrics}" if metrics else update.stage


@contextmanager
def progress() -> Iterator[OnProgress]:
    """A progress bar on stderr that disappears at the end; silent if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield lambda _update: None
        return

    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)

        def show_update(update: Progress) -> None:
            bar.update(task, description=format_progress(update), completed=update.done, total=update.total or None)

        yield show_update


@contextmanager
def training_processes() -> Iterator[None]:
    """Turns the failure of a training subprocess into a message and the exit code of this command."""
    from fitcarl.experiments.jobs import TrainingError
    from fitcarl.training.api import TrainingInterrupted

    try:
        yield
    except TrainingInterrupted as stopped:
        log.info(str(stopped))
        raise typer.Exit(INTERRUPTED) from None
    except TrainingError as failed:
        log.error(f"error: {failed}")
        raise typer.Exit(failed.code) from None


def exit_code_of(command: Callable[[], object], *, follows: bool = False) -> int:
    """Runs a command and returns its exit code; a failure is printed as one line on stderr, without a traceback.

    Args:
        command: The command.
        follows: Whether this process only follows rank 0 of a distributed training: it prints nothing, and after a
            failure it waits until rank 0 has printed its message, because torchrun ends all ranks with the first one.
    """
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # hide warnings about its font cache
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names that the terminal cannot encode must not stop the command
            stream.reconfigure(errors="backslashreplace")
    if not follows:
        with messages_to_stderr():
            return _run(command)
    logging.getLogger("fitcarl").addHandler(logging.NullHandler())
    code = _run(command)
    if code in (INTERNAL_ERROR, USAGE_ERROR):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(_FOLLOWER_SECONDS)
    return code


def _run(command: Callable[[], object]) -> int:
    try:
        with _sigterm_as_interrupt():
            command()
        with _output():
            sys.stdout.flush()
    except typer.Exit as end:
        return int(end.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        log.info("stopped")
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return BROKEN_PIPE
    except UsageError as error:
        log.error(f"error: {_usage_line(error)}")
        return USAGE_ERROR
    except FitcarlError as error:
        return _fail(error, f"error: {error}", USAGE_ERROR)
    except OSError as error:
        if error.filename is None and error.errno not in _DISK_ERRORS:
            return _internal_error(error)
        return _fail(error, f"error: {error.filename or 'a file'}: {error.strerror or error}", USAGE_ERROR)
    except Exception as error:
        return _internal_error(error)
    return OK


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handles SIGTERM like Ctrl-C, so that cleanup code runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _internal_error(error: Exception) -> int:
    hint = "run with FITCARL_TRACEBACK=1 for the traceback"
    return _fail(error, f"internal error in fitcarl: {type(error).__name__}: {error}; {hint}", INTERNAL_ERROR)


def _fail(error: Exception, line: str, code: int) -> int:
    if os.environ.get("FITCARL_TRACEBACK") == "1":
        sys.stderr.write(escape_controls("".join(traceback.format_exception(error))))
    log.error(line)
    return code


def _usage_line(error: Any) -> str:
    """One line about an invalid command line, with the nearest option name and the help command."""
    line, context = error.format_message(), error.ctx
    if type(error).__name__ == "NoSuchOption" and context is not None:
        known = [name for param in context.command.params for name in (*param.opts, *param.secondary_opts)]
        hint = did_you_mean(error.option_name, [name for name in known if name.startswith("--")], count=1)
        line = f"no such option {error.option_name}" + (f". {hint.capitalize()}" if hint else "")
    if context is not None:
        line += f"{'' if line.endswith(('.', '?')) else '.'} See {context.command_path} --help"
    return str(line[:1].lower() + line[1:])
