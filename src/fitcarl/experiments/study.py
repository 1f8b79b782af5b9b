"""Studies of hyper-parameters in an Optuna journal: how they are described, opened, resumed and written."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fitcarl.config.base import Config
from fitcarl.config.presets import find_preset, preset_name
from fitcarl.config.settings import configure
from fitcarl.core.files import write_json
from fitcarl.data.dataset import Dataset
from fitcarl.errors import InputError
from fitcarl.experiments.search_spaces import DEFAULT_STUDY, Choice, SearchSpace, find_search_space
from fitcarl.reporting.study_figure import StudyPoint, draw_study

if TYPE_CHECKING:
    import optuna

Pruner = Literal["median", "hyperband", "none"]
_RETRIED = "retried-"
_STARTUP_TRIALS = 5
"""Trials that are never pruned."""


@dataclass(frozen=True)
class TuningPlan:
    """What a study searches and how a trial is evaluated."""

    data: str
    preset: str | None = None
    model: str | None = None
    """The model, instead of a preset."""
    study: str = DEFAULT_STUDY
    shots: int = 3
    draws: int = 4
    """Resampled supports in addition to the official ones."""
    seeds: tuple[int, ...] = (0,)
    """Training runs of each trial."""
    settings: tuple[str, ...] = ()
    """``name=value`` assignments for all trials."""
    pruner: Pruner = "median"

    @cached_property
    def config(self) -> Config:
        """The settings that trials start from.

        Raises:
            InputError: If one of them is not valid, or if weights would be trained on the support facts of one draw
                although several draws are wanted.
        """
        found = configure(self.preset, self.trial_settings, model=self.model, shots=self.shots, seed=0)
        if found.official_supports_only and self.draws:
            problem = "cannot resample support facts that weights are trained on"
            raise InputError(problem, field="--draws", found=str(self.draws), expected="0, or --set sees=fold-in")
        return found

    @cached_property
    def trial_settings(self) -> tuple[str, ...]:
        """The assignments of all trials.

        A model that is trained on the official support facts by default is folded in instead, so that its settings are
        chosen on several draws.
        """
        in_preset = find_preset(self.preset).settings if self.preset else {}
        if "sees" in {*in_preset, *(_parts(text)[0] for text in self.settings)}:
            return self.settings
        given = configure(self.preset, self.settings, model=self.model, shots=self.shots, seed=0)
        return (*self.settings, "sees=fold-in") if given.official_supports_only else self.settings

    @property
    def space(self) -> SearchSpace:
        """The settings that are searched: those of the study without those that have a fixed value.

        Raises:
            InputError: If there is no such study, or nothing is left to search.
        """
        fixed = [_parts(text)[0] for text in self.settings]
        space = find_search_space(self.config.model, self.study).without(fixed)
        if not space.parameters:
            raise InputError("fixes every setting of the study", field="--set", expected="at least one to search")
        return space

    @property
    def key(self) -> str:
        """The name of the study in its storage."""
        chosen = preset_name(self.preset) if self.preset else self.config.preset
        return f"{self.study}: {chosen} on {Path(self.data).name}, {self.shots}-shot"


@dataclass(frozen=True)
class TrialRecord:
    """One trial of a study."""

    number: int
    state: str
    """complete, pruned, running, waiting or fail."""
    value: float | None
    """Meta-validation MRR over all seeds and draws; of a pruned trial, the last value that was reported."""
    settings: dict[str, Any]
    seconds: float | None


@dataclass(frozen=True)
class StudyResult:
    """A study as it is now."""

    name: str
    model: str
    space: tuple[str, ...]
    """The settings that are searched."""
    trials: tuple[TrialRecord, ...]

    @property
    def best(self) -> TrialRecord | None:
        """The complete trial with the highest value."""
        complete = [trial for trial in self.trials if trial.state == "complete" and trial.value is not None]
        return max(complete, key=lambda trial: trial.value or 0.0, default=None)

    def to_json(self) -> dict[str, Any]:
        best = None if self.best is None else asdict(self.best)
        return {
            "study": self.name,
            "model": self.model,
            "space": list(self.space),
            "best": best,
            "trials": [asdict(trial) for trial in self.trials],
        }


def is_database(storage: str | Path) -> bool:
    """Whether a storage is the URL of a database rather than a journal file."""
    return "://" in str(storage)


def open_study(plan: TuningPlan, storage: str | Path, dataset: Dataset) -> optuna.Study:
    """Creates the study in its storage, or joins it.

    Args:
        plan: The search.
        storage: A journal file, or the URL of a database such as ``sqlite:///study.db``.
        dataset: The dataset.

    Raises:
        InputError: If it was started with another plan, or the storage cannot be used.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)  # failures are logged here
    study = optuna.create_study(
        storage=_open_storage(storage),
        study_name=plan.key,
        direction="maximize",
        pruner=_pruner(plan.pruner, plan.config),
        load_if_exists=True,
    )
    described = {
        "data": dataset.digest,
        "settings": sorted(plan.trial_settings),
        "seeds": list(plan.seeds),
        "draws": plan.draws,
        "space": {name: str(parameter) for name, parameter in plan.space.parameters.items()},
    }
    for name, value in described.items():
        found = study.user_attrs.get(name)
        if found is None:
            study.set_user_attr(name, value)
        elif found != value:
            expected = f"{value}, or another --storage"
            raise InputError(f"is a study with other {name}", file=str(storage), found=str(found), expected=expected)
    study.sampler = _sampler(plan.space, study)
    return study


def _open_storage(storage: str | Path) -> optuna.storages.BaseStorage:
    from optuna import storages
    from optuna.storages.journal import JournalFileBackend

    if is_database(storage):
        from sqlalchemy.exc import ArgumentError, SQLAlchemyError

        try:
            return storages.RDBStorage(str(storage))
        except (ArgumentError, SQLAlchemyError, ImportError) as error:
            problem = f"cannot be opened ({str(error).splitlines()[0]})"
            expected = "a journal file, or a URL such as sqlite:///study.db"
            raise InputError(problem, field="--storage", found=str(storage), expected=expected) from None
    file = Path(storage)
    file.parent.mkdir(parents=True, exist_ok=True)
    _check_journal(file)
    return storages.JournalStorage(JournalFileBackend(str(file)))


def _check_journal(storage: Path) -> None:
    """Raises an InputError if a file exists that is not a journal; nothing must be appended to it."""
    if not storage.exists():
        return
    expected = "a journal that `fitcarl tune` wrote, or a new file"
    if storage.is_dir():
        raise InputError("is a folder", file=storage, expected=expected)
    with storage.open("rb") as file:
        first = file.readline()
    if first and not first.startswith(b'{"op_code"'):
        raise InputError("cannot be used as storage", file=storage, expected=expected)


def retry_stopped_trials(study: optuna.Study) -> None:
    """Queues trials again whose process on this machine has ended; their training is resumed."""
    from optuna.trial import TrialState

    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        host, _, process = str(trial.user_attrs.get("process", "")).rpartition(":")
        if host == socket.gethostname() and not _is_alive(int(process)):
            study.tell(trial.number, state=TrialState.FAIL)
            queue_again(study, trial)


def queue_again(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
    """Queues a stopped trial with the same settings and run folder; the stopped one does not count any more."""
    import optuna

    study.set_user_attr(f"{_RETRIED}{trial.number}", True)
    again = optuna.create_trial(
        state=optuna.trial.TrialState.WAITING,
        params=trial.params,
        distributions=trial.distributions,
        user_attrs={"folder": trial.user_attrs["folder"]},
        system_attrs=trial.system_attrs,  # a grid sampler keeps the number of the point there
    )
    study.add_trial(again)


def study_result(study: optuna.Study, plan: TuningPlan) -> StudyResult:
    """All trials of a study but those that were queued again."""
    records = [
        TrialRecord(
            trial.number,
            trial.state.name.lower(),
            trial.value if trial.value is not None else _last_value(trial),
            dict(trial.params),
            None if trial.duration is None else trial.duration.total_seconds(),
        )
        for trial in study.get_trials(deepcopy=False)
        if not _was_retried(study, trial)
    ]
    return StudyResult(study.study_name, plan.config.model, tuple(plan.space.parameters), tuple(records))


def write_study(result: StudyResult, plan: TuningPlan, storage: Path) -> dict[str, Path]:
    """Writes the trials, a picture of them, and the best settings as a preset, beside a journal (or where it would be).

    Returns:
        The files: ``trials``, ``figure`` and, if a trial is complete, ``preset``.
    """
    stem = storage.name.removesuffix(".journal")
    files = {"trials": storage.with_name(f"{stem}.json"), "figure": storage.with_name(f"{stem}.svg")}
    write_json(files["trials"], result.to_json())
    points = [
        StudyPoint(trial.number, trial.value, trial.state == "complete", trial.settings)
        for trial in result.trials
        if trial.value is not None
    ]
    draw_study(points, result.space, result.name, files["figure"])
    if result.best is not None:
        base = {} if plan.preset is None else dict(find_preset(plan.preset).settings)
        given = dict(_parts(text) for text in plan.settings)
        files["preset"] = storage.with_name(f"{stem}.preset.json")
        preset = {
            "model": result.model,
            "description": f"{result.name}: meta-validation MRR {result.best.value:.4f}, trial {result.best.number}",
            "settings": base | given | result.best.settings,
        }
        write_json(files["preset"], preset)
    return files


def _parts(assignment: str) -> tuple[str, str]:
    name, _, value = assignment.partition("=")
    return name.strip(), value.strip()


def _was_retried(study: optuna.Study, trial: optuna.trial.FrozenTrial) -> bool:
    return f"{_RETRIED}{trial.number}" in study.user_attrs


def started_trials(study: optuna.Study) -> int:
    """The number of trials that are complete, pruned, failed or running."""
    trials = study.get_trials(deepcopy=False)
    return sum(trial.state.name != "WAITING" and not _was_retried(study, trial) for trial in trials)


def _last_value(trial: optuna.trial.FrozenTrial) -> float | None:
    return None if trial.last_step is None else trial.intermediate_values[trial.last_step]


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _pruner(name: Pruner, config: Config) -> optuna.pruners.BasePruner:
    from optuna import pruners

    if name == "none":
        return pruners.NopPruner()
    if name == "hyperband":
        training = config.training
        return pruners.HyperbandPruner(min_resource=training.validate_every, max_resource=training.episodes)
    return pruners.MedianPruner(n_startup_trials=_STARTUP_TRIALS)


def _sampler(space: SearchSpace, study: optuna.Study) -> optuna.samplers.BaseSampler:
    from optuna import samplers
    from optuna.trial import TrialState

    if space.grid:
        values = {name: one.values for name, one in space.parameters.items() if isinstance(one, Choice)}
        return samplers.GridSampler(values, seed=0)  # the same order of the points in all processes
    # Processes that join must not try the same points.
    running = len(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))
    return samplers.TPESampler(seed=len(study.get_trials(deepcopy=False)) + 1000 * running)
