"""Trains a model on a dataset, and resumes a training that was stopped."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import torch

from fitcarl.config.base import Setting
from fitcarl.config.settings import configure
from fitcarl.core.device import resolve_device
from fitcarl.core.files import remove_leftovers
from fitcarl.core.lock import lock_folder
from fitcarl.core.memory import release_memory
from fitcarl.core.process_group import ProcessGroup, launched_processes
from fitcarl.core.progress import Interrupted, OnProgress, ShouldStop, ignore_progress
from fitcarl.core.progress_bar import reporting
from fitcarl.core.stages import stage
from fitcarl.core.subnormals import as_in_this_thread, subnormals
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.holdout import HoldoutRule
from fitcarl.data.io.frames import Frame, is_frame
from fitcarl.data.io.reader import read_facts
from fitcarl.data.io.registry import load_dataset, resolve_source
from fitcarl.data.io.sources import is_facts
from fitcarl.data.io.validation import validate
from fitcarl.errors import InputError
from fitcarl.models.base import GraphContext, Preparation, TrainableModel
from fitcarl.models.registry import trainable_class
from fitcarl.runs.history import read_history
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.manifest import check_finished, withdraw_manifest
from fitcarl.runs.run import Run
from fitcarl.training.finish import Trained, finish
from fitcarl.training.loop import run_episodes
from fitcarl.training.setup import (
    Callbacks,
    ImportArtifacts,
    TrainingSetup,
    log_task_source,
    log_time_unit,
    make_task_sampler,
    never_stop,
    prepare_data,
)
from fitcarl.training.state import TrainingState

_log = logging.getLogger(__name__)


class TrainingInterrupted(Exception):  # noqa: N818 - the expected reaction to a stop request, as KeyboardInterrupt is
    """Training was stopped on request; the run folder contains everything needed to resume it."""


def train(
    data: str | Path | Dataset | Facts | Frame,
    *,
    out: str | Path,
    shots: int = 3,
    preset: str | None = None,
    model: str | None = None,
    setting: Setting | None = None,
    seed: int = 0,
    episodes: int | None = None,
    settings: Iterable[str] = (),
    read: Callable[[Any], Facts] = read_facts,
    holdout: HoldoutRule | None = None,
    device: str | torch.device = "auto",
    import_artifacts: ImportArtifacts | None = None,
    on_progress: OnProgress | None = None,
    should_stop: ShouldStop = never_stop,
) -> Run:
    """Trains a model in a new run folder. The same seed gives the same weights.

    If torchrun started this process, all its processes train one model together, and each returns the run.

    Plain facts have no unseen entities: some entities are held out for validation and others for test, further ones are
    held out in turn for training, and the trained run uses all facts.

    Args:
        data: A registered name, a dataset folder, a file of facts, a DataFrame of facts (pandas, polars, pyarrow,
            DuckDB), or a dataset or facts in memory.
        out: A new folder for the run.
        shots: K, support facts per unseen entity.
        preset: A model with settings; ``plus`` if neither a preset nor a model is given.
        model: A model with its default settings, instead of a preset.
        setting: What the model is trained for: ``completion`` (facts of any time may be used for a query), the default,
            or ``forecast`` (earlier facts only).
        seed: Seed of all random numbers.
        episodes: Maximum number of episodes.
        settings: Assignments such as ``"training.learning_rate=0.0005"``.
        read: Reads a file of facts whose columns or timestamps are not detected automatically.
        holdout: Which entities of plain facts are held out for validation and test.
        device: Where tensors are trained: ``auto`` (a GPU if there is one), ``cpu``, ``cuda``, or a torch device. It is
            not recorded in the settings: a run can be resumed and evaluated on any device.
        import_artifacts: Writes artifacts from elsewhere, such as published embeddings, before the model prepares.
        on_progress: Called after every episode and during preparation, for example ``fitcarl.ProgressBar()``. If not
            given, notebooks show a progress bar, and nothing is reported elsewhere.
        should_stop: Polled after every episode and during preparation.

    Returns:
        The run with the best weights by meta-validation, on the CPU.

    Raises:
        InputError: If data, settings or the folder cannot be used; nothing is written then.
        TrainingInterrupted: If ``should_stop`` returned True; ``resume`` continues.
    """
    chosen_device = resolve_device(device)
    if model is not None:
        trainable_class(model)
    limit = [] if episodes is None else [f"training.episodes={episodes}"]
    chosen = {} if setting is None else {"setting": setting}
    config = configure(preset, [*settings, *limit], model=model, shots=shots, seed=seed, **chosen)
    folder = Path(out)
    with launched_processes() as processes:
        if processes.is_first:
            _check_new(folder)
        with stage("reading"):
            source = data if isinstance(data, Dataset | Facts) else _open(data, read)
        if source is data and isinstance(source, Dataset):
            validate(source, source.name)  # datasets read from a folder are already validated
        if holdout is not None and isinstance(source, Dataset):
            raise InputError("applies to plain facts only", field="holdout", expected="facts, or a dataset without it")
        in_memory = source is data or is_frame(data)
        with stage("holding out"):
            setup = prepare_data(source, config, source.name if in_memory else resolve_source(str(data)), holdout)
        del source  # the setup has its own copy of the facts
        release_memory()
        if processes.is_first:
            folder.mkdir(parents=True, exist_ok=True)
        with _writing(folder, on_progress, processes) as report:
            if processes.is_first:
                _check_new(folder)  # another process may have trained here in the meantime
            callbacks = Callbacks(report, should_stop, import_artifacts)
            return _train(setup, RunFolder(folder), callbacks, chosen_device, processes)


def resume(
    run: str | Path,
    *,
    data: str | Path | Dataset | None = None,
    episodes: int | None = None,
    device: str | torch.device = "auto",
    import_artifacts: ImportArtifacts | None = None,
    on_progress: OnProgress | None = None,
    should_stop: ShouldStop = never_stop,
) -> Run:
    """Continues a training that was stopped or killed; on the same device, the weights are those of an
    uninterrupted training.

    Args:
        run: The run folder.
        data: Where the dataset is now, if it moved, or the dataset itself; a run on plain facts has its own.
        episodes: A new maximum number of episodes.
        device: As for ``train``; it may be another one than before.
        import_artifacts: As for ``train``.
        on_progress: As for ``train``.
        should_stop: As for ``train``.

    Returns:
        The run with the best weights by meta-validation.

    Raises:
        InputError: If the folder is damaged or the dataset is another one.
        TrainingInterrupted: If ``should_stop`` returned True.
    """
    chosen_device = resolve_device(device)
    folder = RunFolder(Path(run))
    folder.check()
    with launched_processes() as processes, _writing(folder.path, on_progress, processes) as report:
        if updates := read_history(folder.path).updates:
            raise InputError(
                "was updated and cannot be trained further",
                file=folder.path,
                found=f"{len(updates)} updates",
                expected="a run without updates, or `fitcarl train` on all facts",
            )
        config, origin = folder.read_config(), folder.read_data()
        if episodes is not None:
            config = config.with_episodes(episodes)
        if origin.keep_all_facts and data is not None:
            expected = "--resume RUN alone"
            raise InputError("is not needed: a run on plain facts has its own", field="DATA", expected=expected)
        given = isinstance(data, Dataset)
        location = origin.name if given else str(folder.dataset if origin.keep_all_facts else data or origin.source)
        dataset = data if isinstance(data, Dataset) else load_dataset(location)
        if dataset.digest != origin.digest:
            raise InputError(
                "is not the dataset this run was started on",
                file=location,
                found=dataset.digest[:12],
                expected=origin.digest[:12],
            )
        sampler = make_task_sampler(dataset, config)
        setup = TrainingSetup(dataset, config, sampler, origin.source, origin.keep_all_facts)
        return _train(setup, folder, Callbacks(report, should_stop, import_artifacts), chosen_device, processes)


@contextmanager
def _writing(folder: Path, on_progress: OnProgress | None, processes: ProcessGroup) -> Iterator[OnProgress]:
    """Locks the folder and reports progress on the first process; the others only read the folder."""
    if not processes.is_first:
        yield ignore_progress
        return
    with lock_folder(folder), reporting(on_progress) as report:
        remove_leftovers(folder)
        yield report


def _train(
    setup: TrainingSetup, folder: RunFolder, callbacks: Callbacks, device: torch.device, processes: ProcessGroup
) -> Run:
    """Trains, and finishes the run."""
    if folder.result.exists() and not folder.state.exists():
        raise InputError("is missing", file=folder.state, expected="the state that training is resumed from")
    trained, state = _run_training(setup, folder, callbacks, device, processes)
    finished: list[Run] = []
    processes.on_first(lambda: finished.append(finish(setup, trained, folder, state)), folder.result)
    return finished[0] if finished else Run.load(folder.path)


def _run_training(
    setup: TrainingSetup, folder: RunFolder, callbacks: Callbacks, device: torch.device, processes: ProcessGroup
) -> tuple[Trained, TrainingState]:
    """Creates the folder, prepares the model, and runs the episodes that are left."""
    dataset, config = setup.dataset, setup.config
    unit = folder.read_data().unit_in(dataset.calendar) if folder.data.exists() else setup.time_unit
    with stage("index"):
        context = GraphContext.from_dataset(dataset, unit)
    processes.require_same("the dataset", dataset.digest)
    processes.require_same("a setting", config.model_dump_json())

    def create() -> None:
        all_facts = setup.keep_all_facts
        if not check_finished(folder.path):
            folder.check_dataset(dataset, context.graph, keep_all_facts=all_facts)
        withdraw_manifest(folder.path)
        folder.create(dataset, setup.source, config, context.graph, time_unit=unit, keep_all_facts=all_facts)
        log_time_unit(config, dataset.calendar, unit)
        log_task_source(setup)
        if device.type != "cpu":
            _log.info("tensors are on %s; the graph is read on the CPU", device)
        if callbacks.import_artifacts is not None:
            callbacks.import_artifacts(dataset, config, folder.artifacts)

    with stage("saving"):
        processes.on_first(create, folder.config)
    if folder.weights.exists() and not folder.state.exists():
        _log.warning("%s: is missing, so training starts again", folder.state)
    cpu_start = process_time()
    own = replace(  # what the caller computes in them is as usual, on all threads
        callbacks,
        on_progress=as_in_this_thread(callbacks.on_progress, openmp=True),
        should_stop=as_in_this_thread(callbacks.should_stop, openmp=True),
    )
    try:
        with stage("preparation"), subnormals(as_zero=True):
            model = _prepared_model(setup, context, folder, own, device, processes)
        complete = model if setup.training_part is dataset else model.refit_statistics(context.graph)
        state = run_episodes(setup, model, folder, callbacks, process_time() - cpu_start, complete, processes)
    except Interrupted as interrupted:
        reason = str(interrupted) or "stopped before the first episode"
        raise TrainingInterrupted(f"{reason}; `fitcarl train --resume {folder.path}` continues") from None
    return Trained(complete, context), state


def _prepared_model(
    setup: TrainingSetup,
    context: GraphContext,
    folder: RunFolder,
    callbacks: Callbacks,
    device: torch.device,
    processes: ProcessGroup,
) -> TrainableModel:
    """The untrained model on a device."""
    part, visible = setup.training_part, setup.sampler.always_visible_facts
    if part is not setup.dataset:
        context = GraphContext.from_dataset(part, context.time_unit)
    preparation = Preparation(
        *(part, setup.config, context, visible, folder.artifacts),
        *(callbacks.on_progress, callbacks.should_stop, device, processes),
    )
    return trainable_class(setup.config.model).prepare(preparation).to(device)


def _open(data: str | Path | Frame, read: Callable[[Any], Facts]) -> Dataset | Facts:
    """Facts if ``data`` is a DataFrame or a file, or is named like one, otherwise a dataset."""
    if is_frame(data):
        return read(data)
    path = Path(str(data)).expanduser()
    return read(path) if is_facts(path) else load_dataset(str(data))


def _check_new(folder: Path) -> None:
    """Raises an InputError if the folder contains files that a new run would overwrite."""
    if folder.exists() and not is_new_or_not_begun(folder):
        resumed = f", or `fitcarl train --resume {folder}` to continue" if RunFolder(folder).config.exists() else ""
        raise InputError("exists already", file=folder, expected=f"a new folder{resumed}")


def is_new_or_not_begun(folder: Path) -> bool:
    """Whether a folder is empty, or a run that was killed before its dataset was recorded and cannot be resumed."""
    if not folder.is_dir():
        return False
    names = {part.name for part in folder.iterdir() if not part.name.startswith(".")}
    return names <= {"config.json", "dataset"} and (not names or "config.json" in names)
