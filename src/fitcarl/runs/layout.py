"""The folder of a training run: where its parts lie, and how each is written and read."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from torch import nn

import fitcarl
from fitcarl.config.schema import Config
from fitcarl.core.parallel import thread_count
from fitcarl.core.storage import read_json, read_tensors, write_json, write_tensors
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import write_dataset
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import Calibration
from fitcarl.graph.storage import save_graph
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.statistics import GraphStatistics
from fitcarl.models.plus.trainable import names_for
from fitcarl.runs.example import example_of

_A_RUN = "a folder that `fitcarl train` made"
_OF_THIS_VERSION = "a run of this version of fitcarl; train it again"


@dataclass(frozen=True)
class Origin:
    """Which dataset a run was started on."""

    name: str
    source: str
    """Where it was: a catalogue name, a folder or a file."""
    digest: str
    """sha256 of its content."""
    whole: bool = False
    """Whether it was made of plain facts, all of which the run knows in the end."""
    met: tuple[int, ...] = ()
    """Unseen entities that the run learned from or was chosen by; earlier versions did not write them down."""


@dataclass(frozen=True)
class RunFolder:
    """Where the parts of a run lie."""

    path: Path

    @property
    def config(self) -> Path:
        """All settings."""
        return self.path / "config.json"

    @property
    def data(self) -> Path:
        """Which dataset it was started on."""
        return self.path / "data.json"

    @property
    def dataset(self) -> Path:
        """For a run on plain facts: the dataset that was made of them, a folder."""
        return self.path / "dataset"

    @property
    def environment(self) -> Path:
        """What it was made with."""
        return self.path / "environment.json"

    @property
    def vocabulary(self) -> Path:
        """Names, calendar and concepts."""
        return self.path / "vocabulary.json"

    @property
    def graph(self) -> Path:
        """The background graph, a folder."""
        return self.path / "graph"

    @property
    def embeddings(self) -> Path:
        """For preset ``paper``."""
        return self.path / "embeddings.safetensors"

    @property
    def statistics(self) -> Path:
        """What preset ``plus`` counted on the background."""
        return self.path / "statistics.safetensors"

    @property
    def encoder(self) -> Path:
        """What preset ``plus`` learned from the background before any task."""
        return self.path / "encoder.safetensors"

    @property
    def weights(self) -> Path:
        """The best by meta-validation."""
        return self.path / "weights.safetensors"

    @property
    def state(self) -> Path:
        """What learning goes on from."""
        return self.path / "state.safetensors"

    @property
    def trace(self) -> Path:
        """One line an episode."""
        return self.path / "trace.jsonl"

    @property
    def curve(self) -> Path:
        """The learning curve."""
        return self.path / "curve.svg"

    @property
    def example(self) -> Path:
        """A question to begin with: facts about an actor that the run has not met, and what to ask about it."""
        return self.path / "example.json"

    @property
    def calibration(self) -> Path:
        """How its scores become shares; there once learning has ended."""
        return self.path / "calibration.json"

    @property
    def result(self) -> Path:
        """How it ended; there once it has."""
        return self.path / "result.json"

    def create(self, dataset: Dataset, source: str, config: Config, *, whole: bool = False) -> None:
        """Writes what is known before learning starts. Safe to repeat: only the settings, which may have changed
        (a later end), are written again. The graph of a ``whole`` run has every fact, and the dataset is kept too."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.config, config.model_dump())
        if not self.data.exists():
            if whole:
                write_dataset(dataset, self.dataset, overwrite=True)
            groups = [dataset.valid] if config.training.tasks == "pseudo" else [dataset.train, dataset.valid]
            met = sorted({entity for group in groups for entity in group.entities.tolist()})
            write_json(self.data, asdict(Origin(dataset.name, source, dataset.digest, whole, tuple(met))))
        if not self.environment.exists():
            write_json(self.environment, environment())
        if not self.vocabulary.exists():
            write_json(self.vocabulary, _names_to_json(dataset.vocabulary, dataset.calendar, dataset.concepts))
        if not self.example.exists() and (example := example_of(dataset, config.shots, whole=whole)):
            write_json(self.example, example)
        if not self.graph.exists():
            shutil.rmtree(self.path / "graph.unfinished", ignore_errors=True)
            entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
            facts = dataset.everything if whole else dataset.background
            save_graph(TemporalGraph.from_facts(facts, entities, relations), self.graph)

    def check(self) -> None:
        """Raises unless this is a run, finished or not."""
        if not self.path.is_dir():
            raise InputError("no such run", file=self.path, expected=_A_RUN)
        if not self.config.is_file():
            raise InputError("is not a run, as it has no config.json", file=self.path, expected=_A_RUN)

    def read_config(self) -> Config:
        self.check()
        try:
            return Config.model_validate(read_json(self.config))
        except ValidationError as trouble:
            raise InputError(f"not the settings of a run ({trouble.errors()[0]['msg']})", file=self.config) from None

    def read_data(self) -> Origin:
        """The dataset it was started on."""
        found = read_json(self.data)
        try:
            met = tuple(map(int, found.get("met", ())))
            return Origin(
                str(found["name"]), str(found["source"]), str(found["digest"]), bool(found.get("whole", False)), met
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("is damaged", file=self.data, expected="the dataset's name, source and digest") from None

    def read_names(self) -> tuple[Vocabulary, Calendar, Concepts]:
        """Names, calendar and concepts."""
        self.check()
        try:
            return _names_from_json(read_json(self.vocabulary))
        except (KeyError, TypeError, ValueError, AttributeError):
            raise InputError("is damaged", file=self.vocabulary, expected="names, calendar and concepts") from None

    def save_weights(self, model: nn.Module) -> None:
        write_tensors(self.weights, dict(model.named_parameters()))

    def load_weights(self, model: nn.Module) -> None:
        """Puts stored weights into a model; one line where they do not fit."""
        weights, _ = read_tensors(self.weights)
        parameters = {name: parameter.shape for name, parameter in model.named_parameters()}
        wrong = sorted(parameters.keys() ^ weights.keys())
        wrong += [name for name in parameters.keys() & weights.keys() if parameters[name] != weights[name].shape]
        if wrong:
            raise InputError(
                "does not fit the model",
                file=self.weights,
                found=", ".join(wrong[:3]),
                expected="a run of this version of fitcarl with these settings; train it again",
            )
        model.load_state_dict(weights, strict=False)

    def read_calibration(self) -> Calibration | None:
        """The stored calibration, None where there is none yet."""
        if not self.calibration.exists():
            return None
        try:
            return Calibration.from_json(read_json(self.calibration))
        except ValueError as trouble:
            raise InputError("is damaged", file=self.calibration, found=str(trouble)) from None

    def save_statistics(self, statistics: GraphStatistics) -> None:
        write_tensors(self.statistics, {name: torch.from_numpy(part) for name, part in statistics.arrays().items()})

    def read_statistics(self, context: GraphContext, config: Config) -> GraphStatistics | None:
        """What was counted on the run's graph; None where that was not stored."""
        if not self.statistics.exists():
            return None
        stored, _ = read_tensors(self.statistics)
        arrays = {name: part.numpy() for name, part in stored.items()}
        try:
            found = GraphStatistics.from_arrays(arrays, context.concepts, names_for(config, context))
        except KeyError:
            raise InputError("is of an older version", file=self.statistics, expected=_OF_THIS_VERSION) from None
        except (IndexError, ValueError, TypeError):
            found = None
        if found is None or not found.matches(context.graph):
            raise InputError(
                "does not fit the graph", file=self.statistics, hint="delete it: all is counted again then"
            )
        return found

    def keep_encoder(
        self, context: GraphContext, config: Config, make: Callable[[], tuple[SupportEncoder, float]]
    ) -> SupportEncoder:
        """The encoder of this run; it is made when it is first asked for, and the seconds that took are kept too."""
        if not self.encoder.exists():
            encoder, seconds = make()
            write_tensors(self.encoder, encoder.state_dict(), {"seconds": seconds})
        return self.fitting_encoder(context, config)

    def encoder_seconds(self) -> float:
        """How long the training of the encoder took; 0 where there is none."""
        return float(read_tensors(self.encoder)[1].get("seconds", 0.0)) if self.encoder.exists() else 0.0

    def fitting_encoder(self, context: GraphContext, config: Config) -> SupportEncoder:
        """The stored encoder; compiled loops check no bounds, so it must have a row for every name."""
        weights, _ = read_tensors(self.encoder)
        graph = context.graph
        try:
            found = SupportEncoder.from_state(weights)
        except (KeyError, RuntimeError, ValueError):
            raise InputError(
                "is damaged or of an older version", file=self.encoder, expected=_OF_THIS_VERSION
            ) from None
        if not found.matches(graph.entities, graph.relations.directed, names_for(config, context)):
            raise InputError("does not fit the names", file=self.encoder, expected=f"{graph.entities} entities")
        return found

    def keep_embeddings(self, make: Callable[[], Embeddings]) -> Embeddings:
        """The embeddings of this run; they are made when they are first asked for."""
        if not self.embeddings.exists():
            make().save(self.embeddings)
        return Embeddings.load(self.embeddings)

    def fitting_embeddings(self, vocabulary: Vocabulary) -> Embeddings:
        """The stored embeddings; compiled loops check no bounds, so they must have a row for every name."""
        found = Embeddings.load(self.embeddings)
        wanted = len(vocabulary.entities), vocabulary.relation_ids.directed
        if (len(found.entity), len(found.relation)) != wanted:
            raise InputError("does not fit the names", file=self.embeddings, expected=f"{wanted} rows")
        return found


def environment() -> dict[str, Any]:
    """What a run was made with."""
    packages = ("torch", "numpy", "numba", "polars", "safetensors")
    return {
        "fitcarl": fitcarl.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
        "loop_threads": thread_count(),
        **{package: version(package) for package in packages},
    }


def _names_to_json(vocabulary: Vocabulary, calendar: Calendar, concepts: Concepts) -> dict[str, Any]:
    return {
        "entities": vocabulary.entities,
        "relations": vocabulary.relations,
        "calendar": {
            "granularity": calendar.granularity,
            "origin": calendar.origin,
            "step": calendar.step,
            "codes": calendar.codes.tolist(),
            "ticks": calendar.ticks.tolist(),
        },
        "concepts": {"names": concepts.names, "offsets": concepts.offsets.tolist(), "ids": concepts.ids.tolist()},
    }


def _names_from_json(names: dict[str, Any]) -> tuple[Vocabulary, Calendar, Concepts]:
    times, concepts = names["calendar"], names["concepts"]
    return (
        Vocabulary(tuple(names["entities"]), tuple(names["relations"])),
        Calendar(
            times["granularity"],
            times["origin"],
            times["step"],
            np.array(times["codes"], dtype=np.int64),
            np.array(times["ticks"], dtype=np.int32),
        ),
        Concepts(
            tuple(concepts["names"]),
            np.array(concepts["offsets"], dtype=np.int64),
            np.array(concepts["ids"], dtype=np.int32),
        ),
    )
