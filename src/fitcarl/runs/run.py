"""What a training run leaves behind: a model with everything it needs to answer, names included."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fitcarl.config.schema import Config
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.evaluation.calibration import Calibration
from fitcarl.graph.storage import open_graph
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.base import GraphContext, TrainableModel
from fitcarl.models.registry import build_model
from fitcarl.runs.layout import Origin, RunFolder
from fitcarl.scoring.scorer import Scorer


@dataclass(frozen=True, repr=False)
class Run:
    """A trained model with everything it needs to answer: names, calendar, concepts and the background graph."""

    folder: RunFolder
    config: Config
    origin: Origin
    """The dataset it was trained on."""
    vocabulary: Vocabulary
    calendar: Calendar
    concepts: Concepts
    context: GraphContext
    model: TrainableModel
    calibration: Calibration | None = None
    """How scores become shares, learned on meta-validation; None where learning has not ended yet."""

    @property
    def source(self) -> str:
        """Where its dataset is: a catalogue name or a folder; of plain facts, a folder of its own."""
        return str(self.folder.dataset) if self.whole else self.origin.source

    @property
    def digest(self) -> str:
        """sha256 of its dataset's content."""
        return self.origin.digest

    @property
    def whole(self) -> bool:
        """Whether the graph has every fact of the dataset, those of its unseen entities included."""
        return self.origin.whole

    @classmethod
    def load(cls, path: str | Path) -> Run:
        """Opens a run folder; a folder that is none, or is incomplete, ends in one line that says what is missing."""
        folder = RunFolder(Path(path))
        config = folder.read_config()
        if not folder.weights.exists():
            raise InputError(
                "has no weights yet", file=folder.path, expected="a run that looked at meta-validation at least once"
            )
        origin = folder.read_data()
        vocabulary, calendar, concepts = folder.read_names()
        context = GraphContext.from_graph(open_graph(folder.graph, thorough=True), concepts, calendar, vocabulary)
        _check_names(folder, vocabulary, calendar, concepts, context.graph)
        statistics = folder.read_statistics(context, config)
        model = build_model(
            config,
            context,
            lambda: folder.fitting_embeddings(vocabulary),
            statistics,
            lambda: folder.fitting_encoder(context, config),
        )
        folder.load_weights(model.module)
        calibration = folder.read_calibration()
        return cls(folder, config, origin, vocabulary, calendar, concepts, context, model, calibration)

    def __repr__(self) -> str:
        names = f"{len(self.vocabulary.entities):,} entities, {len(self.vocabulary.relations):,} relations"
        return f"Run({str(self.folder.path)!r}, {self.config.preset}, {self.config.shots}-shot, {names})"

    def dataset(self) -> Dataset:
        """The dataset it was trained on, where that is still there as it was; of plain facts, what was made of them."""
        found = load_dataset(self.source)
        if found.digest != self.digest:
            raise InputError(
                "is no longer the dataset the run was trained on",
                file=self.source,
                found=found.digest[:12],
                expected=self.digest[:12],
            )
        return replace(found, name=self.origin.name) if self.whole else found

    def scorer_for(self, dataset: Dataset) -> Scorer:
        """The agent over a dataset's background, which may be another than the one it was trained on."""
        if dataset.digest == self.digest and not self.whole:
            return self.model.scorer()
        folder, context = self.folder, GraphContext.from_dataset(dataset)
        other = build_model(
            self.config,
            context,
            lambda: folder.fitting_embeddings(self.vocabulary),
            encoder=lambda: folder.fitting_encoder(context, self.config),
        )
        self.folder.load_weights(other.module)
        return other.scorer()


def _check_names(
    folder: RunFolder, vocabulary: Vocabulary, calendar: Calendar, concepts: Concepts, graph: TemporalGraph
) -> None:
    """Names, calendar, concepts and graph must be of one run."""
    entities, relations = len(vocabulary.entities), len(vocabulary.relations)
    if (graph.entities, graph.relations.count) != (entities, relations):
        raise InputError(
            "does not fit the graph",
            file=folder.vocabulary,
            found=f"{entities} entities, {relations} relations",
            expected=f"{graph.entities} and {graph.relations.count}",
        )
    times = graph.base.time
    if len(times) and not 0 <= times.min() <= times.max() < calendar.span:
        raise InputError(
            "has a calendar that does not fit the graph",
            file=folder.vocabulary,
            found=f"ticks 0 to {calendar.span - 1}",
            expected=f"{times.min()} to {times.max()} at least",
        )
    ends = concepts.offsets
    fine = len(ends) == entities + 1 and ends[0] == 0 and ends[-1] == len(concepts.ids) and (np.diff(ends) >= 0).all()
    if not fine or (len(concepts.ids) and not 0 <= concepts.ids.min() <= concepts.ids.max() < len(concepts.names)):
        raise InputError("has damaged concepts", file=folder.vocabulary, expected="those of its entities")
