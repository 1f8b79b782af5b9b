"""What a training run leaves behind: a folder from which everything can be loaded again, names included."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import fitcarl
from fitcarl.config import Config
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.embed.embeddings import Embeddings
from fitcarl.errors import InputError
from fitcarl.graph.storage import open_graph, save_graph
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.learn.files import read_json, read_tensors, write_json, write_tensors
from fitcarl.model.fitcarl import Fitcarl
from fitcarl.search.scorer import FitcarlScorer


@dataclass(frozen=True)
class RunFolder:
    """Where the parts of a run lie."""

    path: Path

    def __getattr__(self, part: str) -> Path:
        names = {
            "config": "config.json",
            "data": "data.json",
            "environment": "environment.json",
            "vocabulary": "vocabulary.json",
            "graph": "graph",
            "embeddings": "embeddings.safetensors",
            "weights": "weights.safetensors",
            "state": "state.safetensors",
            "trace": "trace.jsonl",
            "curve": "curve.svg",
            "result": "result.json",
        }
        if part not in names:
            raise AttributeError(part)
        return self.path / names[part]

    def create(self, dataset: Dataset, source: str, config: Config) -> None:
        """Writes what is known before learning starts. Safe to repeat: what is there already is left alone."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.config, config.model_dump())
        write_json(self.data, {"name": dataset.name, "source": source, "digest": dataset.digest})
        write_json(self.environment, environment())
        if not self.vocabulary.exists():
            write_json(self.vocabulary, _names_to_json(dataset.vocabulary, dataset.calendar, dataset.concepts))
        if not self.graph.exists():
            shutil.rmtree(self.path / "graph.unfinished", ignore_errors=True)
            entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
            save_graph(TemporalGraph.index(dataset.background, entities, relations), self.graph)

    def read_config(self) -> Config:
        return Config.model_validate(read_json(self.config))

    def save_weights(self, model: Fitcarl) -> None:
        write_tensors(self.weights, dict(model.named_parameters()))


@dataclass(frozen=True)
class Run:
    """A trained model with everything it needs to answer: names, calendar, concepts and the background graph."""

    folder: RunFolder
    config: Config
    source: str
    """The dataset it was trained on, as it was given: a catalogue name or a folder."""
    digest: str
    """sha256 of that dataset's content."""
    vocabulary: Vocabulary
    calendar: Calendar
    concepts: Concepts
    background: TemporalGraph
    model: Fitcarl

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Opens a run folder; a folder that is none, or is incomplete, ends in one line that says what is missing."""
        folder = RunFolder(Path(path))
        if not folder.path.is_dir():
            raise InputError("no such run", file=path, expected="a folder that `fitcarl train` made")
        config = folder.read_config()
        if not folder.weights.exists():
            raise InputError(
                "has no weights yet", file=folder.path, expected="a run that looked at meta-validation at least once"
            )
        data = read_json(folder.data)
        vocabulary, calendar, concepts = _names_from_json(read_json(folder.vocabulary))
        model = Fitcarl(config.model, Embeddings.load(folder.embeddings), vocabulary.relation_ids)
        weights, _ = read_tensors(folder.weights)
        try:
            missing, unexpected = model.load_state_dict(weights, strict=False)
        except RuntimeError as trouble:
            raise InputError(f"does not fit the model ({trouble})", file=folder.weights) from None
        lacking = [name for name, _ in model.named_parameters() if name in missing] + list(unexpected)
        if lacking:
            raise InputError("does not fit the model", file=folder.weights, found=", ".join(lacking[:3]))
        return cls(
            folder,
            config,
            data["source"],
            data["digest"],
            vocabulary,
            calendar,
            concepts,
            open_graph(folder.graph),
            model.eval(),
        )

    def scorer_for(self, dataset: Dataset) -> FitcarlScorer:
        """The model over a dataset's background, which may be another than the one it was trained on."""
        entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
        background = TemporalGraph.index(dataset.background, entities, relations)
        return FitcarlScorer(self.model, background, self.config, dataset.calendar.span - 1)


def environment() -> dict[str, Any]:
    """What a run was made with."""
    packages = ("torch", "numpy", "numba", "polars", "safetensors")
    return {
        "fitcarl": fitcarl.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "torch_threads": torch.get_num_threads(),
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
