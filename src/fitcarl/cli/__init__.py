"""The command line interface: one file per command or command group."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar

import typer

from fitcarl import __version__
from fitcarl.cli import (
    ablate,
    bench,
    compare,
    console,
    crossvalidate,
    data,
    demo,
    doctor,
    embeddings,
    evaluate,
    explain,
    names,
    predict,
    reproduce,
    score,
    serve,
    settings,
    train,
    tune,
    update,
    verify,
)
from fitcarl.core.distributed import training_rank


def main() -> None:
    """Entry point of the console script ``fitcarl``."""
    raise SystemExit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Runs one command line and returns its exit code."""
    command = typer.main.get_command(build_cli())

    def invoke() -> None:
        with command.make_context("fitcarl", list(arguments)) as context:
            command.invoke(context)

    follows = training_rank()[0] > 0 and list(arguments[:1]) == ["train"]
    return console.exit_code_of(invoke, follows=follows)


class RootCommands(console.CommandGroup):
    """The commands of ``fitcarl`` in order of use."""

    panels: ClassVar[Mapping[str, Sequence[str]]] = {
        "Start": ("demo", "data", "train", "settings", "doctor"),
        "Use": ("names", "predict", "explain", "score", "similar", "embeddings", "serve", "update", "verify", "sign"),
        "Measure": ("evaluate", "compare", "crossvalidate"),
        "Research": ("tune", "ablate", "reproduce", "pretrain", "benchmark"),
    }


def build_cli() -> typer.Typer:
    """The application with all commands; a new command or group is one line here and a name in its panel."""
    app = console.group(
        "Predict links of new entities in a temporal knowledge graph from a few facts, and explain each prediction.",
        epilog=console.examples(*_FIRST),
        cls=RootCommands,
    )
    app.callback(invoke_without_command=True)(_root)
    add, examples = app.command, console.examples
    add("demo")(demo.demo)
    app.add_typer(data.data_commands(), name="data")
    add("train", epilog=examples(*_TRAIN))(train.train_model)
    add("settings")(settings.list_settings)
    add("doctor")(doctor.doctor)
    add("names", epilog=examples(*_NAMES))(names.list_names)
    add("predict", epilog=examples(*_PREDICT))(predict.predict_links)
    add("explain", epilog=examples(*_EXPLAIN))(explain.explain_answer)
    add("score")(score.score_facts)
    add("similar")(embeddings.show_similar)
    add("embeddings")(embeddings.write_embeddings)
    add("serve", epilog=examples(*_SERVE))(serve.serve_run)
    add("update", epilog=examples(*_UPDATE))(update.update_run)
    add("verify", epilog=examples(*_VERIFY))(verify.verify_files)
    add("sign", epilog=examples(*_SIGN))(verify.sign_files)
    add("evaluate", epilog=examples(*_EVALUATE))(evaluate.evaluate_run)
    add("compare", epilog=examples(*_COMPARE))(compare.compare_scorers)
    add("crossvalidate", epilog=examples(*_CROSSVALIDATE))(crossvalidate.crossvalidate_facts)
    add("tune")(tune.tune_settings)
    add("ablate")(ablate.ablate_preset)
    add("reproduce")(reproduce.reproduce_results)
    add("pretrain")(train.pretrain_data)
    app.add_typer(bench.build(), name="benchmark")
    return app


_FIRST = ("fitcarl demo", "fitcarl data describe events.csv", "fitcarl train events.csv --out runs/mine")
_TRAIN = (
    "fitcarl train events.csv --shots 3 --out runs/mine",
    "fitcarl train icews14-oog --preset plus --setting forecast",
)
_NAMES = ("fitcarl names runs/mine", "fitcarl names runs/mine harbour --kind entity")
_PREDICT = (
    "fitcarl predict runs/mine --facts new.csv --subject 'Dockers' --relation Consult --at 2024-10-01",
    "fitcarl predict runs/mine --facts new.csv --subject 'Dockers' --horizon 30d",
)
_EXPLAIN = (
    "fitcarl explain runs/mine --answer 'City Council' --facts new.csv --subject 'Dockers' --relation Consult \\",
    "  --at 2024-10-01",
)
_SERVE = ("fitcarl serve runs/mine", "fitcarl serve runs/mine --port 8080")
_UPDATE = ("fitcarl update runs/mine --facts today.csv",)
_VERIFY = ("fitcarl verify runs/mine", "fitcarl verify runs/theirs --key theirs.pub")
_SIGN = ("fitcarl sign runs/mine --key mine.pem --new-key", "fitcarl sign runs/mine --key mine.pem")
_EVALUATE = ("fitcarl evaluate runs/mine", "fitcarl evaluate runs/mine --setting forecast --draws 4 --json")
_COMPARE = (
    "fitcarl compare --run runs/mine",
    "fitcarl compare icews14-oog --shots 3 --run runs/mine --run runs/other",
)
_CROSSVALIDATE = (
    "fitcarl crossvalidate events.csv --folds 5 --shots 3 --out folds",
    "fitcarl crossvalidate mine --low 5 --high 60 --out folds",
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"fitcarl {__version__}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - handled by its callback
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    console.show_help_without_command(context)
