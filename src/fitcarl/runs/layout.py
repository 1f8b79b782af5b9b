"""The files of a run folder and how each is written and read."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import nn

import fitcarl
from fitcarl.config.base import SETTINGS, Setting
from fitcarl.config.schema import Config, parse_config
from fitcarl.core.distributed import training_rank
from fitcarl.core.files import read_json, write_json
from fitcarl.core.parallel import thread_count
from fitcarl.core.storage import Artifacts, read_tensors, write_tensors
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import write_dataset, write_reading
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import Calibration
from fitcarl.graph.columns import COLUMNS, open_columns
from fitcarl.graph.storage import save_graph
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.open_queries.fitting import OpenModels
from fitcarl.runs.example import make_example
from fitcarl.runs.history import read_history
from fitcarl.runs.manifest import make_manifest
from fitcarl.runs.names import check_run, check_stored_names, latest_file, read_names, write_names

_MIN_UNIT, _MAX_UNIT = 1e-9, 1e12
"""Ticks per time unit: from a nanosecond in ticks of a second to thirty thousand years."""


@dataclass(frozen=True)
class Origin:
    """The dataset that a run was started on."""

    name: str
    source: str
    """Where it came from: a registered name, a folder or a file."""
    digest: str
    """sha256 of its content."""
    keep_all_facts: bool = False
    """Whether it was made of plain facts, all of which the trained run uses."""
    training_entities: tuple[int, ...] = ()
    """Unseen entities that the run was trained or validated on."""
    time_unit: float | None = None
    """Ticks per time unit, estimated or set when the run was started; None for runs that count time in days."""

    def unit_in(self, calendar: Calendar) -> float:
        """Ticks per time unit, of any run.

        Args:
            calendar: The calendar of the run.
        """
        return 1.0 / calendar.days_per_tick if self.time_unit is None else self.time_unit


@dataclass(frozen=True)
class RunFolder:
    """The paths of a run."""

    path: Path
    update: str = ""
    """The folder inside it with the files that the last update replaced; empty for the run as it was trained."""
    verified: bool = False
    """Whether its files were compared with its manifest, so that checksums of single files are not computed again."""
    deferred: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Artifact → sha256 of files that are compared with the manifest when they are read."""

    def updated(self) -> RunFolder:
        """The run with its last update; the run as it was trained if there is none."""
        self.check()
        return replace(self, update=read_history(self.path).current)

    @property
    def config(self) -> Path:
        """All settings."""
        return self.path / "config.json"

    @property
    def data(self) -> Path:
        """The dataset that the run was started on."""
        return self.path / "data.json"

    @property
    def dataset(self) -> Path:
        """The dataset folder made of plain facts, if the run was started on those."""
        return self.path / "dataset"

    @property
    def environment(self) -> Path:
        """Versions and machine."""
        return self.path / "environment.json"

    @property
    def vocabulary(self) -> Path:
        """Names, calendar and concepts."""
        return self._latest("vocabulary.json")

    @property
    def reading(self) -> Path:
        """How the facts of the dataset were read."""
        return self.path / "reading.json"

    @property
    def graph(self) -> Path:
        """The folder of the background graph."""
        return self._latest("graph")

    @property
    def artifacts(self) -> Artifacts:
        """What the model keeps besides its weights."""
        return Artifacts(self.path, (self.path / self.update,) if self.update else (), self.verified, self.deferred)

    @property
    def weights(self) -> Path:
        """The best weights by meta-validation."""
        return self._latest("weights.safetensors")

    @property
    def state(self) -> Path:
        """The checkpoint that training is resumed from."""
        return self.path / "state.safetensors"

    @property
    def trace(self) -> Path:
        """One line of JSON per episode."""
        return self.path / "trace.jsonl"

    @property
    def curve(self) -> Path:
        """A plot of the trace."""
        return self.path / "curve.svg"

    @property
    def example(self) -> Path:
        """An example query about an entity that the run has not seen, with its support facts."""
        return self.path / "example.json"

    @property
    def calibration(self) -> Path:
        """How scores become shares, by setting; written at the end of training."""
        return self.path / "calibration.json"

    @property
    def open_queries(self) -> Path:
        """The models of queries that leave relation or time open; written at the end of training."""
        return self.path / "open_queries.json"

    @property
    def result(self) -> Path:
        """How training ended; written last."""
        return self.path / "result.json"

    def create(
        self,
        dataset: Dataset,
        source: str,
        config: Config,
        background: TemporalGraph,
        *,
        time_unit: float,
        keep_all_facts: bool = False,
    ) -> None:
        """Writes what is known before training. Safe to repeat: only the settings are written again.

        Args:
            dataset: The dataset that the run is trained on.
            source: Where the dataset came from.
            config: All settings.
            background: The indexed background of the dataset.
            time_unit: Ticks per time unit.
            keep_all_facts: Whether the run's graph has every fact of the dataset, and the dataset is kept too.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.config, config.model_dump())
        if not self.data.exists():
            if keep_all_facts:
                write_dataset(dataset, self.dataset, overwrite=True)
            groups = [dataset.valid] if config.task_source == "pseudo" else [dataset.train, dataset.valid]
            training_entities = sorted({entity for group in groups for entity in group.entities.tolist()})
            known = dataset.name, source, dataset.digest, keep_all_facts, tuple(training_entities), time_unit
            write_json(self.data, asdict(Origin(*known)))
        if not self.environment.exists():
            write_json(self.environment, environment())
        if not self.vocabulary.exists():
            write_reading(self.reading, dataset.reading)  # first: it is not written again if there are names
            write_names(self.vocabulary, dataset.vocabulary, dataset.calendar, dataset.concepts)
        if not self.example.exists():
            example = make_example(dataset, config.shots, rename_entity=keep_all_facts)
            if example is not None:
                write_json(self.example, example)
        if not self.graph.exists():
            shutil.rmtree(self.path / "graph.unfinished", ignore_errors=True)
            save_graph(_graph_of_all_facts(dataset) if keep_all_facts else background, self.graph)

    def check_dataset(self, dataset: Dataset, background: TemporalGraph, *, keep_all_facts: bool = False) -> None:
        """Raises an InputError unless names and graph, as far as they are written, are those of a dataset.

        Args:
            dataset: The dataset that the run is trained on.
            background: The indexed background of the dataset.
            keep_all_facts: Whether the run's graph has every fact of the dataset.
        """
        if self.vocabulary.exists():
            check_stored_names(self.vocabulary, dataset.vocabulary, dataset.calendar, dataset.concepts)
        if self.graph.exists():
            graph = _graph_of_all_facts(dataset) if keep_all_facts else background
            stored = open_columns(self.graph)
            same = all(np.array_equal(getattr(stored, name), getattr(graph.base, name)) for name in COLUMNS)
            if not same or stored.relations != graph.relations.count:
                raise InputError("does not fit the dataset", file=self.graph, expected="the facts of the dataset")

    def _latest(self, name: str) -> Path:
        """A file of the last update, or the one that training wrote if the update did not replace it."""
        return latest_file(self.path, self.update, name)

    def check(self) -> None:
        """Raises an InputError unless this is a run folder, finished or not."""
        check_run(self.path)

    def read_config(self) -> Config:
        self.check()
        try:
            return parse_config(read_json(self.config))
        except ValidationError as error:
            problem = error.errors()[0]["msg"]
        except (ValueError, OverflowError) as error:
            problem = str(error)
        raise InputError(f"not the settings of a run ({problem})", file=self.config)

    def read_data(self) -> Origin:
        """The dataset that the run was started on."""
        found = read_json(self.data)
        try:
            unit = None if found.get("time_unit") is None else float(found["time_unit"])
            if unit is not None and not _MIN_UNIT <= unit <= _MAX_UNIT:
                raise ValueError
            name, source, digest = (found[key] for key in ("name", "source", "digest"))
            all_facts, entities = found["keep_all_facts"], found["training_entities"]
            if any(not isinstance(text, str) for text in (name, source, digest)) or not isinstance(all_facts, bool):
                raise TypeError
            if not isinstance(entities, list) or any(type(entity) is not int or entity < 0 for entity in entities):
                raise TypeError
            return Origin(name, source, digest, all_facts, tuple(entities), unit)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
            raise InputError("is damaged", file=self.data, expected="the dataset's name, source and digest") from None

    def read_names(self) -> tuple[Vocabulary, Calendar, Concepts]:
        """Names, calendar and concepts."""
        self.check()
        return read_names(self.vocabulary)

    def write_manifest(self) -> None:
        """Records all files, of the run as it was trained and of its last update, as belonging together."""
        history = read_history(self.path)
        make_manifest(self.path, updates=len(history.updates)).write(self.path)
        if history.current:
            folder = self.path / history.current
            make_manifest(self.path, history.current, len(history.updates)).write(folder)

    def replace_example(self, example: dict[str, Any]) -> None:
        """Stores another example query in a finished run.

        Args:
            example: Facts and query by name.
        """
        write_json(self.example, example)
        self.write_manifest()

    def save_weights(self, module: nn.Module) -> None:
        write_tensors(self.weights, dict(module.named_parameters()))

    def load_weights(self, module: nn.Module) -> None:
        """Loads the saved weights into a module.

        Raises:
            InputError: If they do not fit it.
        """
        expected = dict(module.named_parameters())
        weights, _ = read_tensors(self.weights, expected=expected, finite=True, verified=self.verified)
        module.load_state_dict(weights, strict=False)

    def save_calibrations(self, calibrations: Mapping[Setting, Calibration]) -> None:
        write_json(self.calibration, {setting: found.to_json() for setting, found in calibrations.items()})

    def read_calibrations(self, trained_for: Setting) -> dict[Setting, Calibration]:
        """The saved calibrations by setting; empty if training has not ended.

        Args:
            trained_for: The setting of the run, to which a file without settings (of an earlier version) belongs.
        """
        if not self.calibration.exists():
            return {}
        values = read_json(self.calibration)
        try:
            if not isinstance(values, dict):
                raise TypeError("not an object")
            if "temperature" in values:
                return {trained_for: Calibration.from_json(values)}
            return {setting: Calibration.from_json(values[setting]) for setting in SETTINGS if setting in values}
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError("is damaged", file=self.calibration, found=str(error)) from None

    def read_open_models(self) -> OpenModels | None:
        """The saved models of open queries; None if training has not ended, or ended before they existed."""
        if not self.open_queries.exists():
            return None
        try:
            return OpenModels.from_json(read_json(self.open_queries))
        except (ValueError, OverflowError) as error:
            raise InputError("is damaged", file=self.open_queries, found=str(error)) from None


def environment() -> dict[str, Any]:
    """Versions and machine, for the record."""
    packages = ("torch", "numpy", "numba", "polars", "safetensors")
    return {
        "fitcarl": fitcarl.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "loop_threads": thread_count(),
        "processes": training_rank()[1],
        **{package: version(package) for package in packages},
    }


def _graph_of_all_facts(dataset: Dataset) -> TemporalGraph:
    entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
    return TemporalGraph.from_facts(dataset.everything, entities, relations)
