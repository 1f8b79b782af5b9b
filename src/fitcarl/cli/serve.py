"""``fitcarl serve``: a run behind HTTP, with a store for observed facts and a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError, require_extra

_PATIENCE = 3
"""Times the limit of a question until a process is taken to hang: what it made by then is kept for who asks again."""


def serve_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that 'fitcarl train' made.")],
    host: Annotated[str, typer.Option("--host", help="The address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes any free one.")] = 8000,
    store: Annotated[
        str | None,
        typer.Option(
            "--store", metavar="FILE|URL", help="Where observed facts are kept; RUN/observed.sqlite if not given."
        ),
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", envvar="FITCARL_TOKEN", help="What clients must send as bearer token.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Answer to this name, too; may be repeated."),
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option("--limit", metavar="NAME=NUMBER", help="Change a limit; may be repeated.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Processes that answer; as many as cores if not given.")
    ] = None,
) -> None:
    """Serve a run over HTTP and print the address when it is ready; Ctrl-C ends it."""
    require_extra("serve", "fastapi", "sqlalchemy", "uvicorn", needed_by="fitcarl serve")
    from fitcarl.core.parallel import thread_count
    from fitcarl.predict.predictor import Predictor
    from fitcarl.serve.access import AccessPolicy, is_local
    from fitcarl.serve.app import create_app
    from fitcarl.serve.limits import Limits
    from fitcarl.serve.server import address_of, listen, serve
    from fitcarl.serve.service import Service
    from fitcarl.serve.store import Store
    from fitcarl.serve.workers.pool import WorkerPool

    if token is not None and not (token.isascii() and token.isprintable() and token.strip() == token != ""):
        raise InputError("not a token", field="--token", expected="visible ASCII characters")
    limits = Limits.of(limit or ())
    workers = workers or thread_count()
    with listen(host, port) as listening, WorkerPool(run, workers, _PATIENCE * limits.seconds) as crew:
        predictor = Predictor.load(run)
        kept = Store.open(store or run / "observed.sqlite")
        service = Service(predictor, kept, limits, crew, workers)
        if unusable := service.unusable():
            console.log.info(
                f"warning: {unusable} stored facts do not fit this run (other relations or times) and are not used"
            )
        if token is None and not is_local(host):
            console.log.info(
                f"warning: whoever reaches {host} may read and change what is stored; --token asks for one"
            )
        crew.wait_until_ready()

        def ready() -> None:
            console.log.info(f"serving {run}; Ctrl-C ends it")
            typer.echo(address_of(listening, host))

        serve(create_app(service, AccessPolicy.of(host, token, allow_host or ())), listening, ready, limits.seconds + 1)
        kept.close()
