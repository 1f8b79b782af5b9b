"""Measurements in a process of their own, because peak memory is counted per process."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


def in_own_process(work: Callable[..., Any], *arguments: Any, environment: Mapping[str, str] | None = None) -> Any:
    """The result of a function in a new process; an error of the function is raised here.

    Args:
        work: A function of a module.
        arguments: Its arguments.
        environment: Environment variables of the new process, besides those of this one.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send_result, args=(sender, work, arguments))
    with _environment(environment or {}):
        process.start()
    sender.close()
    try:
        ok, found = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"{work.__name__} ended with exit code {process.exitcode}") from None
    finally:
        process.kill()  # it has sent its result, unless this process was interrupted
        process.join()
    if not ok:
        raise found
    return found


def _send_result(sender: Connection, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        found = True, work(*arguments)
    except Exception as error:
        found = False, error
    sender.send(found)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Sets environment variables within the block."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
