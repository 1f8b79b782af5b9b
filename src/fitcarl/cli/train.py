"""``fitcarl train`` and ``fitcarl pretrain``: from a dataset to a run."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitcarl.cli import console, options
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from fitcarl.config.schema import Config
    from fitcarl.data.dataset import Dataset
    from fitcarl.models.factorization.complex import Progress as EmbeddingProgress
    from fitcarl.models.factorization.embeddings import Embeddings
    from fitcarl.training.loop import Progress

_SETTLED = {
    **{name: f"--{name}" for name in ("shots", "preset", "seed", "out")},
    "setting": "--set",
}
"""What a run is begun with and cannot be changed afterwards, with the options that say it."""


def train_model(
    context: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="A folder, a name that 'fitcarl data list' shows, or a file of facts (TSV, CSV, …)."
        ),
    ] = None,
    shots: Annotated[int, typer.Option("--shots", metavar="K", help="Facts known of a new actor.")] = 3,
    preset: Annotated[
        str,
        typer.Option("--preset", help="plus (accurate, quick), plus+names (reads names too) or paper (as published)."),
    ] = "plus",
    seed: Annotated[int, typer.Option("--seed", help="Everything random follows from it.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="RUN", help="A new folder for the run.")] = None,
    episodes: Annotated[int | None, typer.Option("--episodes", min=1, help="Training tasks at most.")] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting; may be repeated.")
    ] = None,
    imported: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--embeddings", metavar="ENTITY.npy RELATION.npy", help="Start from these; for preset paper."),
    ] = None,
    columns: options.Columns = None,
    header: options.Header = None,
    granularity: options.Granularity = "auto",
    format: options.Format = None,
    concepts: options.Concepts = None,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="RUN", help="Go on with a stopped run.")] = None,
) -> None:
    """Train a model; Ctrl-C stops it cleanly, and --resume goes on as if nothing had happened."""
    if data is None and resume is None:
        raise InputError("one of DATA and --resume RUN must be given", expected="'fitcarl train DATA --out RUN'")
    if resume is not None:
        console.reject_options(
            context, _SETTLED | options.OPTIONS, "is settled when a run begins", "--resume RUN without it"
        )
    from fitcarl.training import api as start
    from fitcarl.training.loop import TrainingInterrupted

    if resume is None and not start.is_facts(str(data)):
        console.reject_options(
            context, options.OPTIONS, "applies to a file of facts only", f"an existing file, instead of {data}"
        )
    if imported is not None:
        _check_embeddings(imported, preset, setting or [], resume)

    with stop_on_interrupt() as stop, watching() as watch:

        def embeddings(dataset: Dataset, config: Config) -> Embeddings:
            if imported is not None:
                return import_embeddings(*imported, dataset, config)
            return pretrain_with_progress(dataset, config, stop)

        try:
            if resume is not None:
                run = start.resume(
                    resume,
                    data=data,
                    episodes=episodes,
                    embeddings=embeddings,
                    watch=watch,
                    stop=stop,
                    note=console.log.info,
                )
            else:
                name = Path(str(data)).stem if Path(str(data)).is_file() else Path(str(data)).name
                folder = out or Path("runs") / f"{name}-{shots}shot-{preset}-{seed}"
                run = start.train(
                    str(data),
                    out=folder,
                    shots=shots,
                    preset=preset,
                    seed=seed,
                    episodes=episodes,
                    settings=setting or (),
                    read=lambda file: options.read_fact_file(file, columns, header, granularity, format, concepts),
                    embeddings=embeddings,
                    watch=watch,
                    stop=stop,
                    note=console.log.info,
                )
        except TrainingInterrupted as stopped:
            console.log.info(str(stopped))
            raise typer.Exit(console.INTERRUPTED) from None
    place = run.folder.path
    console.show(f"{place}: trained; 'fitcarl evaluate {place}' says how good it is")


def _check_embeddings(files: tuple[Path, Path], preset: str, settings: list[str], resumed: Path | None) -> None:
    """Refuses embeddings that would be passed over, and files that are not there, before a run is begun."""
    from fitcarl.config.schema import configure
    from fitcarl.runs.layout import RunFolder

    config = configure(preset, settings) if resumed is None else RunFolder(resumed).read_config()
    if config.model != "fitcarl":
        expected = "--preset paper, which starts from embeddings"
        raise InputError("is of no use to this preset", field="--embeddings", found=config.preset, expected=expected)
    if resumed is not None and RunFolder(resumed).embeddings.exists():
        raise InputError("the run has its embeddings", field="--embeddings", expected="--resume RUN without it")
    for file in files:
        if not file.is_file():
            raise InputError("no such file", file=file, field="--embeddings", expected="a .npy file")


def pretrain_data(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A folder, or a name that 'fitcarl data list' shows.")],
    dimension: Annotated[int, typer.Option("--dimension", help="Real numbers per embedding.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Everything random follows from it.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Train the ComplEx embeddings that preset paper starts from; 'train' does it by itself, and both cache it."""
    from fitcarl.config.schema import configure
    from fitcarl.core.memory import peak_mb
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.models.factorization.quality import static_filtered_mrr

    dataset = load_dataset(data)
    began = time.perf_counter()
    embeddings = pretrain_with_progress(dataset, configure(settings=[f"embedding.dim={dimension}"], seed=seed))
    seconds = time.perf_counter() - began
    by_object, by_subject = static_filtered_mrr(embeddings, dataset.background, seed=seed)
    result = {"mrr_object": by_object, "mrr_subject": by_subject, "seconds": seconds, "peak_mb": peak_mb()}
    if json:
        console.show_json(result)
        return
    console.show(f"{dataset.name}: filtered MRR on 1,000 background facts {by_object:.3f} / {by_subject:.3f}")
    console.show(f"{seconds:.0f} s, {result['peak_mb']:.0f} MB at most")


def import_embeddings(entity: Path, relation: Path, dataset: Dataset, config: Config) -> Embeddings:
    """Published embeddings instead of our own."""
    from fitcarl.models.factorization.embeddings import import_npy

    names = dataset.vocabulary
    embeddings = import_npy(entity, relation, dataset.background, len(names.entities), names.relation_ids)
    wanted = config.embedding.dim
    if embeddings.dimension != wanted:
        raise InputError(
            "wrong dimension",
            file=entity,
            found=embeddings.dimension,
            expected=f"{wanted}, or --set embedding.dim={embeddings.dimension} and a new --out",
        )
    return embeddings


def pretrain_with_progress(dataset: Dataset, config: Config, stop: Callable[[], bool] = lambda: False) -> Embeddings:
    """The dataset's embeddings, with a bar while they are trained; nothing is kept of a training that was stopped."""
    from fitcarl.models.factorization.cache import embeddings_for

    with console.progress() as bar:

        def watch(now: EmbeddingProgress) -> None:
            bar(f"embeddings, loss {now.loss:.3f}", now.epoch, now.epochs)
            if stop():
                raise KeyboardInterrupt

        return embeddings_for(dataset, config.embedding, config.seed, progress=watch, note=console.log.info)


@contextmanager
def watching() -> Iterator[Callable[[Progress], None]]:
    """Tells of every episode: a bar on a terminal, a line for each look at meta-validation otherwise."""
    with console.progress() as bar:

        def watch(now: Progress) -> None:
            line = now.line
            best = "" if now.best_mrr < 0 else f", validation MRR {now.best_mrr:.3f} at best"
            bar(f"loss {line.loss:+.4f}, reward {line.reward:.3f}{best}", line.episode, now.episodes)
            if line.valid_mrr is not None:
                console.log.info(
                    f"episode {line.episode}/{now.episodes}: loss {line.loss:+.4f}, reward {line.reward:.3f}, "
                    f"arrived {line.hit_rate:.1%}, validation MRR {line.valid_mrr:.3f} (best {now.best_mrr:.3f}), "
                    f"{line.seconds:.0f} s so far, about {now.seconds_left:.0f} s left"
                )

        yield watch


@contextmanager
def stop_on_interrupt() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C (or SIGTERM) asks learning to stop after the episode; a second one stops at once.

    One of each is still the first: a system may send SIGTERM to a whole group, and whoever started us then asks too.
    """
    asked: set[int] = set()

    def ask(number: int, _frame: object) -> None:
        if number in asked:
            raise KeyboardInterrupt
        if not asked:
            console.log.info("stopping as soon as the run can be resumed; once more to stop at once")
        asked.add(number)

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
