"""``fitcarl train`` and ``fitcarl pretrain``: from a dataset to a run."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitcarl.cli import console, options
from fitcarl.config.presets import DEFAULT_PRESET, PRESET_HELP, preset_name
from fitcarl.core.distributed import training_rank
from fitcarl.core.progress import ignore_progress
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from fitcarl.config.schema import Config
    from fitcarl.core.progress import OnProgress, Progress, ShouldStop
    from fitcarl.core.storage import Artifacts
    from fitcarl.data.dataset import Dataset
    from fitcarl.data.facts import Facts

_FIXED = {
    **{name: f"--{name}" for name in ("shots", "preset", "model", "setting", "seed", "out")},
    "assignments": "--set",
}
"""Parameters that are fixed when a run starts, with their options."""
_FILE_OPTIONS = options.OPTIONS | options.NORMALISE | {name: f"--{name}" for name in ("low", "high", "share")}
"""Parameters for a file of facts, with their options."""


@options.with_file_options
def train_model(
    context: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA", help="A folder, a name that 'fitcarl data list' shows, or a file of facts (TSV, CSV, …)."
        ),
    ] = None,
    shots: Annotated[int, typer.Option("--shots", metavar="K", help="Support facts per new entity.")] = 3,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset", help=f"{PRESET_HELP}, or a file that 'fitcarl tune' wrote. [default: {DEFAULT_PRESET}]"
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", help="A model with its default settings, instead of a preset.")
    ] = None,
    setting: Annotated[
        str | None,
        typer.Option(
            "--setting",
            help="What the model is trained for: completion (facts of any time may be used for a query) or forecast "
            "(earlier facts only). [default: completion]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="RUN", help="A new folder for the run.")] = None,
    episodes: Annotated[int | None, typer.Option("--episodes", min=1, help="Maximum number of episodes.")] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change a setting; repeatable. 'fitcarl settings' lists them."
        ),
    ] = None,
    imported: Annotated[
        tuple[Path, Path] | None,
        typer.Option("--embeddings", metavar="ENTITY.npy RELATION.npy", help="Published embeddings for preset paper."),
    ] = None,
    device: console.DeviceOption = "auto",
    how: options.ReadHow = options.AS_DETECTED,
    granularity: options.Granularity = "auto",
    concepts: options.Concepts = None,
    normalise: options.Normalise = False,
    low: Annotated[
        int | None,
        typer.Option("--low", help="On a file: minimum number of facts of a held-out entity. [default: K + 3]"),
    ] = None,
    high: Annotated[
        int | None,
        typer.Option("--high", help="On a file: maximum number of facts of a held-out entity. [default: 40]"),
    ] = None,
    share: Annotated[
        float | None,
        typer.Option(
            "--share",
            help="On a file: share of these entities that are held out, half for validation and half for test. "
            "[default: a third, at most 100 entities and 5 % of the facts each]",
        ),
    ] = None,
    resume: Annotated[Path | None, typer.Option("--resume", metavar="RUN", help="Continue a stopped run.")] = None,
) -> None:
    """Train a model. Ctrl-C stops cleanly; --resume continues with the same result as an uninterrupted training."""
    if data is None and resume is None:
        raise InputError("one of DATA and --resume RUN must be given", expected="'fitcarl train DATA --out RUN'")
    if resume is not None:
        console.reject_options(context, _FIXED | _FILE_OPTIONS, "is fixed when a run starts", "--resume RUN without it")
    from fitcarl.config.base import folder_part
    from fitcarl.data.holdout import HoldoutRule
    from fitcarl.data.io.sources import is_facts
    from fitcarl.training import api

    if resume is None and not is_facts(str(data)):
        console.reject_options(
            context, _FILE_OPTIONS, "applies to a file of facts only", f"an existing file, instead of {data}"
        )
    if imported is not None:
        _check_embeddings(imported, preset, model, assignments or [], resume)

    def read(file: Path) -> Facts:
        facts = options.read_fact_file(file, how, granularity, concepts)
        return options.merge_names(facts) if normalise else facts

    def import_artifacts(dataset: Dataset, config: Config, artifacts: Artifacts) -> None:
        if imported is not None:
            import_embeddings(*imported, dataset, config, artifacts)

    with stop_on_interrupt() as should_stop, training_progress() as on_progress:
        try:
            if resume is not None:
                run = api.resume(
                    resume,
                    data=data,
                    episodes=episodes,
                    device=device,
                    import_artifacts=import_artifacts,
                    on_progress=on_progress,
                    should_stop=should_stop,
                )
            else:
                name = Path(str(data)).stem if Path(str(data)).is_file() else Path(str(data)).name
                chosen = preset_name(preset or model or DEFAULT_PRESET)
                run = api.train(
                    str(data),
                    out=out or Path("runs") / f"{name}-{shots}shot-{chosen}{folder_part(setting)}-{seed}",
                    shots=shots,
                    preset=preset,
                    model=model,
                    seed=seed,
                    episodes=episodes,
                    setting=console.parse_setting(setting),
                    settings=assignments or (),
                    read=read,
                    holdout=None if low is high is share is None else HoldoutRule(low, high, share),
                    device=device,
                    import_artifacts=import_artifacts,
                    on_progress=on_progress,
                    should_stop=should_stop,
                )
        except api.TrainingInterrupted as interrupted:
            console.log.info(str(interrupted))
            raise typer.Exit(console.INTERRUPTED) from None
    if training_rank()[0] == 0:
        folder = run.folder.path
        console.show(f"{folder}: trained; evaluate it with 'fitcarl evaluate {folder}'")


def _check_embeddings(
    files: tuple[Path, Path], preset: str | None, model: str | None, settings: list[str], resumed: Path | None
) -> None:
    """Rejects embeddings that the model does not use, and missing files, before a run is started."""
    from fitcarl.config.settings import configure
    from fitcarl.models.registry import trainable_class
    from fitcarl.runs.layout import RunFolder

    config = configure(preset, settings, model=model) if resumed is None else RunFolder(resumed).read_config()
    if "embeddings" not in trainable_class(config.model).artifacts:
        expected = "--preset paper, which starts from embeddings"
        raise InputError("is not used by this model", field="--embeddings", found=config.model, expected=expected)
    if resumed is not None and RunFolder(resumed).artifacts.exists("embeddings"):
        raise InputError("the run has its embeddings", field="--embeddings", expected="--resume RUN without it")
    for file in files:
        if not file.is_file():
            raise InputError("no such file", file=file, field="--embeddings", expected="a .npy file")


def pretrain_data(
    data: Annotated[str, typer.Argument(metavar="DATA", help="A folder, or a name that 'fitcarl data list' shows.")],
    dim: Annotated[int, typer.Option("--dim", "--dimension", help="Real numbers per embedding.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all random numbers.")] = 0,
    device: console.DeviceOption = "auto",
    json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False,
) -> None:
    """Pre-train the ComplEx embeddings of preset paper; 'train' does the same, and both use the cache."""
    from fitcarl.config.schema import FitcarlConfig
    from fitcarl.config.settings import configure
    from fitcarl.core.device import resolve_device
    from fitcarl.core.memory import peak_mb
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.models.factorization.cache import embeddings_for
    from fitcarl.models.factorization.quality import static_filtered_mrr

    config = configure("paper", [f"embedding.dim={dim}"], seed=seed)
    assert isinstance(config, FitcarlConfig)
    chosen_device = resolve_device(device)
    dataset = load_dataset(data)
    began = time.perf_counter()
    with console.progress() as bar:
        embeddings = embeddings_for(dataset, config.embedding, seed, on_progress=bar, device=chosen_device)
    seconds = time.perf_counter() - began
    by_object, by_subject = static_filtered_mrr(embeddings, dataset.background, seed=seed)
    result = {"mrr_object": by_object, "mrr_subject": by_subject, "seconds": seconds, "peak_mb": peak_mb()}
    if json:
        console.show_json(result)
        return
    console.show(f"{dataset.name}: filtered MRR on 1,000 background facts {by_object:.3f} / {by_subject:.3f}")
    console.show(f"{seconds:.0f} s, peak memory {result['peak_mb']:.0f} MB")


def import_embeddings(entity: Path, relation: Path, dataset: Dataset, config: Config, artifacts: Artifacts) -> None:
    """Saves published embeddings as an artifact of a run."""
    from fitcarl.config.schema import FitcarlConfig
    from fitcarl.models.factorization.embeddings import import_npy

    assert isinstance(config, FitcarlConfig)
    names = dataset.vocabulary
    embeddings = import_npy(entity, relation, dataset.background, len(names.entities), names.relation_ids)
    if embeddings.dimension != config.embedding.dim:
        raise InputError(
            "wrong dimension",
            file=entity,
            found=embeddings.dimension,
            expected=f"{config.embedding.dim}, or --set embedding.dim={embeddings.dimension} and a new --out",
        )
    embeddings.save(artifacts.path("embeddings"))


@contextmanager
def training_progress() -> Iterator[OnProgress]:
    """Shows progress: a bar on a terminal, and one line per validation; nothing on other ranks than the first."""
    if training_rank()[0]:
        yield ignore_progress
        return
    with console.progress() as bar:

        def on_progress(update: Progress) -> None:
            bar(update)
            if "valid_mrr" in update.metrics:
                spent, left = update.metrics.get("seconds", 0.0), update.seconds_left or 0.0
                line = f"{console.format_progress(update)}, {spent:.0f} s, about {left:.0f} s left"
                console.log.info(f"episode {update.done}/{update.total}: {line.removeprefix('training: ')}")

        yield on_progress


@contextmanager
def stop_on_interrupt() -> Iterator[ShouldStop]:
    """The first Ctrl-C (or SIGTERM) stops training after the episode; a second one stops it immediately.

    One SIGINT and one SIGTERM count as one request: a system may send SIGTERM to a process group, and the parent
    process then forwards its own SIGINT.
    """
    received: set[int] = set()

    def request_stop(number: int, _frame: object) -> None:
        if number in received:
            raise KeyboardInterrupt
        if not received:
            console.log.info("stopping as soon as the run can be resumed; press Ctrl-C again to stop immediately")
        received.add(number)

    before = {number: signal.signal(number, request_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
