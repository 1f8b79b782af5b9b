"""What learns: the two kinds of agent behind one interface, so that one loop trains either."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import nn

from fitcarl.config.schema import Config
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts, concept_distribution
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.models.fitcarl.episode import Episode, play
from fitcarl.models.fitcarl.network import Fitcarl
from fitcarl.models.fitcarl.rollout import ConceptPrior
from fitcarl.models.fitcarl.scorer import FitcarlScorer
from fitcarl.models.plus.action_features import choices
from fitcarl.models.plus.candidates import Shortlist
from fitcarl.models.plus.encoder.network import Reader, SupportEncoder
from fitcarl.models.plus.names import Names
from fitcarl.models.plus.policy import PlusPolicy, log_likelihood
from fitcarl.models.plus.scorer import PlusScorer
from fitcarl.models.plus.statistics import Statistics, count, meetings
from fitcarl.scoring.scorer import Explainer
from fitcarl.tasks.task import Task


@dataclass(frozen=True)
class Surroundings:
    """What every agent knows before any newcomer: the background graph, the concepts, and how long time is."""

    graph: TemporalGraph
    concepts: Concepts
    span: int
    """Ticks from the first time to the last."""
    days: float
    """How many days a tick is; 1 where times are plain integers and nobody knows."""
    names: tuple[str, ...] = ()
    """Of the entities; looked at only where names are switched on."""

    @classmethod
    def of(cls, dataset: Dataset) -> Surroundings:
        entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
        graph = TemporalGraph.from_facts(dataset.background, entities, relations)
        return cls.over(graph, dataset.concepts, dataset.calendar, dataset.vocabulary)

    @classmethod
    def over(cls, graph: TemporalGraph, concepts: Concepts, calendar: Calendar, vocabulary: Vocabulary) -> Surroundings:
        return cls(graph, concepts, calendar.span, calendar.days_per_tick, vocabulary.entities)

    def widened(self, extra: int) -> Surroundings:
        """The same with room for so many more entities, of which nothing is known."""
        ends = self.graph.base.offsets
        base = replace(self.graph.base, offsets=np.append(ends, np.full(extra, ends[-1])))
        graph = TemporalGraph.from_adjacency(base, self.graph.relations)
        ends = self.concepts.offsets
        concepts = replace(self.concepts, offsets=np.append(ends, np.full(extra, ends[-1])))
        return replace(self, graph=graph, concepts=concepts)

    @property
    def facts(self) -> Quadruples:
        """The background's facts, read off the graph: each once, in its real direction."""
        return facts_of(self.graph)


def facts_of(graph: TemporalGraph) -> Quadruples:
    """The facts of a graph's background: each once, in its real direction."""
    edges = graph.base.edges()
    return edges.take(~graph.relations.is_inverse(edges.relation))


class Agent(Protocol):
    """Something that can be trained on tasks and then answers queries."""

    @property
    def module(self) -> nn.Module:
        """What is learned."""
        ...

    def play(self, task: Task, seed: int) -> Episode:
        """The loss of one training task."""
        ...

    def scorer(self, reach: int = 0, names: Mapping[int, str] | None = None) -> Explainer:
        """The agent at its present weights, as a scorer that can say why; ``reach`` is the largest difference between
        two times that it must bear, where that is more than the background's, ``names`` those of newcomers."""
        ...

    def widened(self, surroundings: Surroundings) -> Agent:
        """The same agent in surroundings that have room for more entities."""
        ...

    def over(self, graph: TemporalGraph) -> Agent:
        """The same agent on another graph of the same entities; what it counted in general stays as it is."""
        ...

    def recounted(self, graph: TemporalGraph) -> Agent:
        """The same weights on another bare graph of the same entities, on which all is counted anew."""
        ...


def agent_for(
    config: Config,
    surroundings: Surroundings,
    embeddings: Callable[[], Embeddings],
    statistics: Statistics | None = None,
    encoder: Callable[[], SupportEncoder] | None = None,
) -> Agent:
    """A new agent of the configured kind; ``embeddings`` and ``encoder`` are only called for one that needs them, and
    ``statistics`` of these surroundings are counted where they are not given to one that needs those."""
    rows = embeddings() if config.agent == "paper" else None
    learned = encoder() if config.agent == "plus" and config.features.encoder and encoder is not None else None
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are not ours to touch
        torch.manual_seed(config.seed)
        if rows is not None:
            return PaperAgent(config, surroundings, rows)
        return PlusAgent(config, surroundings, statistics, learned)


class PaperAgent:
    """FITCARL as in the paper: embeddings, Transformer, GRU, confidence learner, REINFORCE."""

    def __init__(self, config: Config, surroundings: Surroundings, embeddings: Embeddings) -> None:
        self.module = Fitcarl(config.model, embeddings, surroundings.graph.relations)
        self._config = config
        self._background = surroundings.graph
        self._reach = surroundings.span - 1
        self._concept_prior = concept_prior(surroundings) if config.model.concepts else None

    def play(self, task: Task, seed: int) -> Episode:
        return play(self.module, self._background, task, self._config, self._concept_prior, self._reach, seed)

    def scorer(self, reach: int = 0, names: Mapping[int, str] | None = None) -> FitcarlScorer:  # noqa: ARG002
        return FitcarlScorer(self.module, self._background, self._config, max(self._reach, reach))

    def widened(self, surroundings: Surroundings) -> PaperAgent:
        wide = self.over(surroundings.graph)
        wide.module = _with_room(self.module, surroundings.graph.entities - self._background.entities)
        return wide

    def over(self, graph: TemporalGraph) -> PaperAgent:
        other = copy(self)
        other._background = graph
        return other

    def recounted(self, graph: TemporalGraph) -> PaperAgent:
        return self.over(graph)


class PlusAgent:
    """The walker of preset ``plus``: counted statistics, small networks, trained by the likelihood of the answer.

    The encoder was trained before, on background facts, and stays as it is.
    """

    def __init__(
        self,
        config: Config,
        surroundings: Surroundings,
        statistics: Statistics | None = None,
        encoder: SupportEncoder | None = None,
    ) -> None:
        self.module = PlusPolicy(config.plus.hidden, config.plus.hidden_crowd, config.features.off)
        self._config = config.plus
        self._background = surroundings.graph
        self.statistics = statistics or count_for(config, surroundings)
        self.encoder = encoder
        self._reader = Reader.over(encoder, self.statistics)

    def play(self, task: Task, seed: int) -> Episode:
        """Learns from some of the task's queries, drawn at random."""
        order = np.random.default_rng(seed).permutation(len(task.queries))
        queries = task.queries.take(np.sort(order[: self._config.queries]))
        graph = self._background.with_facts(task.support.facts)
        shortlist = Shortlist(self._config.learned_from, self._config.learned_from // 2, seed)
        size = self._config.action_space
        options = choices(graph, task.support, self.statistics, queries, size, shortlist, self._reader)
        whole, walked = log_likelihood(self.module(options), options, torch.from_numpy(queries.answer))
        # Walks learn on their own as well: they must explain answers that the crowd alone would find.
        loss = -whole.mean() - self._config.walks * walked.mean()
        return Episode(loss, float(whole.detach().exp().mean()), float((whole.detach() > -0.7).float().mean()))

    def scorer(self, reach: int = 0, names: Mapping[int, str] | None = None) -> PlusScorer:  # noqa: ARG002
        size, shortlist, statistics = self._config.action_space, self._config.shortlist, self.statistics
        reader = self._reader
        if names and statistics.names.used:
            statistics = statistics.changed(names=statistics.names.named(names))
            reader = Reader.over(self.encoder, statistics)
        return PlusScorer(self.module, self._background, statistics, size, shortlist, reader)

    def widened(self, surroundings: Surroundings) -> PlusAgent:
        extra = surroundings.graph.entities - self._background.entities
        encoder = None if self.encoder is None else self.encoder.widened(extra)
        return self._on(surroundings.graph, self.statistics.widened(extra), encoder)

    def over(self, graph: TemporalGraph) -> PlusAgent:
        """Who was met when is read off the graph, rates and rules stay: a few facts do not change them."""
        same = graph.base is self._background.base
        statistics = self.statistics if same else self.statistics.changed(**meetings(graph))
        return self._on(graph, statistics, self.encoder)

    def recounted(self, graph: TemporalGraph) -> PlusAgent:
        now = self.statistics
        names = now.names.counted_on(graph)
        return self._on(graph, count(facts_of(graph), graph, now.concepts, now.days, names=names), self.encoder)

    def _on(self, graph: TemporalGraph, statistics: Statistics, encoder: SupportEncoder | None) -> PlusAgent:
        other = copy(self)
        other._background, other.statistics, other.encoder = graph, statistics, encoder
        if statistics is not self.statistics or encoder is not self.encoder:
            other._reader = Reader.over(encoder, statistics)
        return other


def _with_room(model: Fitcarl, extra: int) -> Fitcarl:
    """The same model with more, empty, rows for entities; an unseen entity is known by its support only."""
    rows = model.entity_rows.detach().numpy()
    rows = np.concatenate([rows, np.zeros((extra, rows.shape[1]), dtype=rows.dtype)])
    embeddings = Embeddings(rows, model.relation_rows.detach().numpy(), np.any(rows != 0, axis=1))
    with torch.random.fork_rng(devices=[]):
        wide = Fitcarl(model.config, embeddings, model.relations)
    learned = {name: value for name, value in model.state_dict().items() if name != "entity_rows"}
    wide.load_state_dict(learned, strict=False)
    return wide


def count_for(config: Config, surroundings: Surroundings) -> Statistics:
    """The statistics of a background, with names where those are switched on."""
    names = names_for(config, surroundings)
    return count(surroundings.facts, surroundings.graph, surroundings.concepts, surroundings.days, names=names)


def names_for(config: Config, surroundings: Surroundings) -> Names:
    """What names say where they are switched on, otherwise nothing."""
    graph = surroundings.graph
    return Names.of(surroundings.names, graph) if config.features.names else Names.none(graph.entities)


def concept_prior(surroundings: Surroundings) -> ConceptPrior:
    """C_e and P(c | r), counted on the background."""
    concepts, relations = surroundings.concepts, surroundings.graph.relations
    return ConceptPrior(concepts, concept_distribution(surroundings.facts, concepts, relations))
