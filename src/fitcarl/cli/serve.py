"""``fitcarl serve``: HTTP service for a run, with a store for observed facts and the explorer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError, require_extra

if TYPE_CHECKING:
    from fitcarl.serve.clients import Client

_TOKEN_VARIABLE = "FITCARL_TOKEN"
_HANG_FACTOR = 3
"""A worker process is considered hanging after this multiple of the time limit of a query."""


def serve_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder created by 'fitcarl train'.")],
    host: Annotated[str, typer.Option("--host", help="Address to listen at; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port; 0 selects a free one.")] = 8000,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="FILE|URL", help="Store of observed facts. [default: RUN/observed.sqlite]"),
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", envvar=_TOKEN_VARIABLE, help="Bearer token that clients must send.")
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option("--tokens", metavar="FILE", help="TOML or JSON file of several tokens with names and scopes."),
    ] = None,
    spaces: Annotated[
        str | None,
        typer.Option(
            "--spaces",
            help="With --tokens: separate (each token has its own stored facts) or shared. [default: separate]",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Accept requests for this host name, too; repeatable."),
    ] = None,
    limit: Annotated[
        list[str] | None, typer.Option("--limit", metavar="NAME=NUMBER", help="Change a limit; repeatable.")
    ] = None,
    allow_updates: Annotated[
        bool,
        typer.Option("--allow-updates", help="Let clients add facts to the background of the run, permanently."),
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="Number of worker processes. [default: number of cores]")
    ] = None,
) -> None:
    """Serve a run over HTTP and print the address when it is ready; stop with Ctrl-C."""
    require_extra("serve", "fastapi", "sqlalchemy", "uvicorn", needed_by="fitcarl serve")
    from fitcarl.core.parallel import thread_count
    from fitcarl.predict.predictor import Predictor
    from fitcarl.serve.access import AccessPolicy, is_local
    from fitcarl.serve.app import create_app
    from fitcarl.serve.descriptors import fit_connections
    from fitcarl.serve.limits import Limits
    from fitcarl.serve.logs import service_logs
    from fitcarl.serve.server import address_of, listen, run_server
    from fitcarl.serve.service import Service
    from fitcarl.serve.store import Store
    from fitcarl.serve.tables import DEFAULT_SPACE
    from fitcarl.serve.workers.pool import WorkerPool

    clients = _clients(token, tokens, spaces)
    workers = workers or thread_count()
    limits = fit_connections(Limits.from_assignments(limit or ()), workers)
    with (
        service_logs(),
        listen(host, port) as listening,
        WorkerPool(run, workers, _HANG_FACTOR * limits.seconds) as pool,
    ):
        predictor = Predictor.load(run)
        facts = Store.open(store or run / "observed.sqlite")
        names = {client.space: None for client in clients} or {DEFAULT_SPACE: None}
        service = Service(predictor, facts, limits, pool, workers, allow_updates, names)
        if unusable := service.count_unusable():
            console.log.info(
                f"warning: {unusable} stored facts are ignored: their relation or time is unknown to this run"
            )
        if not clients and not is_local(host):
            changed = "the stored facts and the run" if allow_updates else "the stored facts"
            console.log.info(f"warning: everyone who can reach {host} can read and change {changed}; use --token")
        pool.wait_until_ready()

        def on_ready() -> None:
            console.log.info(f"serving {run}; stop with Ctrl-C")
            typer.echo(address_of(listening, host))

        access = AccessPolicy.for_address(host, clients, allow_host or ())
        run_server(create_app(service, access), service, listening, on_ready, limits.seconds + 1)
        facts.close()


def _clients(token: str | None, tokens: Path | None, spaces: str | None) -> tuple[Client, ...]:
    """Those who may send requests; empty if everyone may."""
    from fitcarl.serve.clients import Client
    from fitcarl.serve.tokens import MIN_LENGTH, Spaces, is_token, read_clients

    if token is None and os.environ.get(_TOKEN_VARIABLE) == "":  # typer takes it for an unset one
        raise InputError("empty token", field=_TOKEN_VARIABLE, expected="a token, or no such variable for none")
    if tokens is None:
        if spaces is not None:
            raise InputError("only with several tokens", field="--spaces", expected="--tokens FILE as well")
        if token is not None and (len(token) < MIN_LENGTH or not is_token(token)):
            field, expected = f"--token or {_TOKEN_VARIABLE}", f"at least {MIN_LENGTH} visible ASCII characters"
            raise InputError("invalid token", field=field, expected=expected)
        return () if token is None else (Client.with_token(token),)
    if token is not None:
        expected = f"either --tokens or one token (--token, {_TOKEN_VARIABLE})"
        raise InputError("two sources of tokens", field="--tokens", expected=expected)
    choices: tuple[Spaces, ...] = get_args(Spaces)
    return read_clients(tokens, console.parse_choice(spaces or "separate", choices, "--spaces"))
