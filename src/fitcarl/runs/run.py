"""A trained run: a model with everything it needs to score queries by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.config.base import Setting
from fitcarl.config.schema import Config
from fitcarl.core.device import resolve_device
from fitcarl.core.display import display_block, display_table
from fitcarl.core.storage import largest_tensors
from fitcarl.core.tensor_limits import TensorLimitError, limited_tensors
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import read_reading
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.reading import Reading
from fitcarl.data.traffic import last_busy_tick
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError, UnusableRunError, did_you_mean
from fitcarl.evaluation.calibration import Calibration
from fitcarl.graph.columns import StoredColumns, open_columns
from fitcarl.graph.storage import graph_of_columns
from fitcarl.models.base import GraphContext, TrainableModel
from fitcarl.models.entity_vectors import EntityVectors, HasEntityVectors
from fitcarl.models.open_queries.fitting import OpenModels, fit_open_models
from fitcarl.models.registry import trainable_class
from fitcarl.runs.history import UpdateRecord, read_history
from fitcarl.runs.layout import Origin, RunFolder
from fitcarl.runs.manifest import answer_files, manifest_file, verified_manifest
from fitcarl.scoring.scorer import Scorer
from fitcarl.scoring.scores import NotFiniteError

_TENSORS = ".safetensors"
_SMALL_TENSOR = 1 << 22
"""Elements of a tensor that a model may create although no file has one of that size, such as a table of time."""
_TENSOR_COPIES = 8
"""Copies of its stored tensors that a model may create while it is loaded."""


@dataclass(frozen=True, repr=False)
class Run:
    """A trained model with its settings, names, calendar, concepts and background graph."""

    folder: RunFolder
    config: Config
    origin: Origin
    """The dataset it was trained on."""
    vocabulary: Vocabulary
    calendar: Calendar
    concepts: Concepts
    context: GraphContext
    model: TrainableModel
    calibrations: Mapping[Setting, Calibration] = field(default_factory=dict)
    """How scores become shares in each setting, fitted on meta-validation; empty if training has not ended."""
    updates: tuple[UpdateRecord, ...] = ()
    """The updates whose facts are in its background, oldest first."""

    @property
    def calibration(self) -> Calibration | None:
        """How scores become shares in the setting that the run was trained for; None if training has not ended."""
        return self.calibrations.get(self.config.setting)

    def calibration_for(self, setting: Setting) -> Calibration | None:
        """How scores become shares in a setting.

        If meta-validation has no queries in that setting, it is the calibration of the other one.

        Args:
            setting: ``completion`` or ``forecast``.
        """
        return self.calibrations.get(setting, self.calibration)

    @property
    def source(self) -> str:
        """Where its dataset is: a registered name or a folder; the run's own folder if it was made of plain facts."""
        return str(self.folder.dataset) if self.keep_all_facts else self.origin.source

    @property
    def digest(self) -> str:
        """sha256 of its dataset's content."""
        return self.origin.digest

    @property
    def keep_all_facts(self) -> bool:
        """Whether the graph has every fact of the dataset, those of its unseen entities included."""
        return self.origin.keep_all_facts

    @classmethod
    def load(cls, path: str | Path, *, as_trained: bool = False) -> Run:
        """Opens a run folder; the model is on the CPU.

        Args:
            path: The folder that ``fitcarl train`` wrote.
            as_trained: Without the facts that ``fitcarl update`` has added since.

        Raises:
            InputError: If a part is missing, damaged or does not fit the others.
        """
        folder = RunFolder(Path(path))
        folder.check()
        history = read_history(folder.path)
        if history.current and not as_trained:
            folder = replace(folder, update=history.current)
        if not folder.weights.exists() and not manifest_file(folder.path, folder.update).exists():
            raise InputError("has no weights yet", file=folder.path, expected="a run that was validated at least once")
        manifest = verified_manifest(folder.path, folder.update)
        if manifest is not None:
            folder = replace(folder, verified=True, deferred=manifest.deferred)
        config, origin = folder.read_config(), folder.read_data()
        vocabulary, calendar, concepts = folder.read_names()
        columns = open_columns(folder.graph, thorough=True, verified=folder.verified)
        _check_names(folder, vocabulary, calendar, concepts, columns)
        if max(origin.training_entities, default=0) >= max(len(vocabulary.entities), 1):
            raise InputError("does not fit the names", file=folder.data, field="training_entities")
        graph = graph_of_columns(columns, folder.graph)
        context = GraphContext.from_graph(graph, concepts, calendar, vocabulary, origin.unit_in(calendar))
        model = _load_model(folder, config, context)
        calibrations = folder.read_calibrations(config.setting)
        updates = history.updates if folder.update else ()
        return cls(folder, config, origin, vocabulary, calendar, concepts, context, model, calibrations, updates)

    def to(self, device: str | torch.device) -> Run:
        """The same run with the tensors of its model on a device; this run is not changed.

        Args:
            device: ``auto`` (a GPU if there is one), ``cpu``, ``cuda``, or a torch device.

        Raises:
            InputError: If there is no such device.
        """
        return replace(self, model=self.model.to(resolve_device(device)))

    def __repr__(self) -> str:
        names = f"{len(self.vocabulary.entities):,} entities, {len(self.vocabulary.relations):,} relations"
        return f"Run({str(self.folder.path)!r}, {self.config.preset}, {self.config.shots}-shot, {names})"

    def _repr_html_(self) -> str:
        """Model, data and size, for notebooks."""
        config, names = self.config, self.vocabulary
        rows = [
            ("model", f"{config.model} (preset {config.preset})" if config.preset else config.model),
            ("trained for", f"{config.setting}, {config.shots}-shot, seed {config.seed}"),
            ("data", f"{self.origin.name}, {self.calendar.extent} ({self.calendar.granularity})"),
            ("names", f"{len(names.entities):,} entities, {len(names.relations):,} relations"),
            ("background", f"{len(self.context.graph.base) // 2:,} facts"),
            ("parameters", f"{self.parameters:,}"),
            ("shares", "calibrated" if self.calibration is not None else "not calibrated: training has not ended"),
        ]
        if self.updates:
            rows.append(("updates", f"{len(self.updates):,}"))
        return display_block(f"Run {self.folder.path}", display_table(("", ""), rows, "ll"))

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return sum(parameter.numel() for parameter in self.model.module.parameters() if parameter.requires_grad)

    @cached_property
    def reading(self) -> Reading:
        """How the facts of its dataset were read; empty for a published dataset."""
        return read_reading(self.folder.reading)

    @cached_property
    def open_models(self) -> OpenModels:
        """The models of queries that leave relation or time open.

        A run without them (from an earlier version, or whose training has not ended) gets models that are fitted to
        its background here, without calibration.
        """
        saved = self.folder.read_open_models()
        if saved is not None:
            return saved
        return fit_open_models(self.context.graph, self.config.shots, self.calendar.half_life, self.config.seed)

    @cached_property
    def last_busy_tick(self) -> int:
        """The last tick with real traffic in its background; stray facts with later times do not count."""
        times = self.context.graph.base.time
        return last_busy_tick(times) if len(times) else 0

    @cached_property
    def entity_vectors(self) -> EntityVectors:
        """The vectors of its entities.

        Raises:
            InputError: If the model has none.
        """
        if not isinstance(self.model, HasEntityVectors):
            problem = f"the model {self.config.model} has no vectors of entities"
            raise InputError(problem, file=self.folder.path, expected="a run of plus or of a model with embeddings")
        return self.model.entity_vectors()

    def embedding(self, entity: str) -> NDArray[np.float32]:
        """The vector of a known entity; ``entity_vectors.kind`` says what it is.

        Args:
            entity: Name of the entity.

        Raises:
            InputError: If the entity has no vector, or the model has none.
        """
        return self.entity_vectors.rows[self._with_vector(entity)].copy()

    def nearest(self, entity: str, n: int = 10) -> list[tuple[str, float]]:
        """The most similar other entities by the cosine of their vectors, most similar first.

        Args:
            entity: Name of the entity.
            n: Maximum number of entities.

        Raises:
            InputError: If the entity has no vector, or the model has none.
        """
        found = self.entity_vectors.nearest(self._with_vector(entity), n)
        return [(self.vocabulary.entities[other], similarity) for other, similarity in found]

    def _with_vector(self, entity: str) -> int:
        """The id of an entity that has a vector."""
        known, index = self.entity_vectors.known, self.vocabulary.entity_index.get(entity)
        if index is None:
            hint = did_you_mean(entity, self.vocabulary.entities)
            raise InputError("unknown entity", field="entity", found=entity, expected="an entity of the run", hint=hint)
        if not known[index]:
            expected = "an entity that the model was trained on"
            raise InputError("an entity without a trained vector", field="entity", found=entity, expected=expected)
        return index

    def dataset(self) -> Dataset:
        """The dataset it was trained on.

        Raises:
            InputError: If it is no longer there or has changed.
        """
        found = load_dataset(self.source)
        if found.digest != self.digest:
            raise InputError(
                "is no longer the dataset the run was trained on",
                file=self.source,
                found=found.digest[:12],
                expected=self.digest[:12],
            )
        return replace(found, name=self.origin.name) if self.keep_all_facts else found

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Names the run if its model gives scores that are not finite, as weights that were changed may do."""
        try:
            yield
        except NotFiniteError:
            problem, expected = "the model gives scores that are not finite", "the weights that training wrote"
            raise UnusableRunError(problem, file=self.folder.path, expected=expected) from None

    def scorer_for(self, dataset: Dataset) -> Scorer:
        """The model on the background of ``dataset``, which may be another one than it was trained on."""
        if dataset.digest == self.digest and not self.keep_all_facts:
            return self.model.scorer()
        context = GraphContext.from_dataset(dataset, self.context.time_unit)
        return self.model.refit_statistics(context.graph, context.concepts).scorer(context.span - 1)


def _load_model(folder: RunFolder, config: Config, context: GraphContext) -> TrainableModel:
    """The model with its weights. Every tensor of a network is in a file, so none may be larger than those."""
    largest, total = largest_tensors(
        file for name in answer_files(folder.path, folder.update) if (file := folder.path / name).suffix == _TENSORS
    )
    try:
        with limited_tensors(max(largest, _SMALL_TENSOR), _TENSOR_COPIES * (total + _SMALL_TENSOR)):
            model = trainable_class(config.model).load(config, context, folder.artifacts)
    except TensorLimitError as error:
        expected = "settings that fit the stored tensors"
        raise InputError(f"would create {error}", file=folder.config, expected=expected) from None
    except MemoryError:
        raise InputError("needs more memory than there is", file=folder.path) from None
    folder.load_weights(model.module)
    return model


def _check_names(
    folder: RunFolder, vocabulary: Vocabulary, calendar: Calendar, concepts: Concepts, columns: StoredColumns
) -> None:
    """Raises an InputError unless names, calendar, concepts and graph belong together."""
    entities, relations = len(vocabulary.entities), len(vocabulary.relations)
    stored = len(columns.offsets) - 1, columns.relations
    if stored != (entities, relations):
        raise InputError(
            "does not fit the graph",
            file=folder.vocabulary,
            found=f"{entities} entities, {relations} relations",
            expected=f"{stored[0]} and {stored[1]}",
        )
    times = columns.time
    if len(times) and not 0 <= times.min() <= times.max() < calendar.span:
        raise InputError(
            "has a calendar that does not fit the graph",
            file=folder.vocabulary,
            found=f"ticks 0 to {calendar.span - 1}",
            expected=f"{times.min()} to {times.max()} at least",
        )
    if len(concepts.offsets) != entities + 1:
        raise InputError("has damaged concepts", file=folder.vocabulary, expected="those of its entities")
