"""What learns: the two kinds of agent behind one interface, so that one loop trains either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import nn

from fitcarl.config import Config
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts, concept_distribution
from fitcarl.data.dataset import Dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.embed.embeddings import Embeddings
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.learn.episode import Episode, play
from fitcarl.model.fitcarl import Fitcarl
from fitcarl.plus.choices import choices, crowd_sizes
from fitcarl.plus.policy import PlusPolicy, log_likelihood
from fitcarl.plus.scorer import PlusScorer
from fitcarl.plus.statistics import count
from fitcarl.search.explanation import Explainer
from fitcarl.search.rollout import ConceptGuide
from fitcarl.search.scorer import FitcarlScorer
from fitcarl.tasks import Task

_DAYS = {"hour": 1 / 24, "day": 1.0, "month": 30.4, "year": 365.0}
_CROWD_AT_ONCE = 1_600_000
"""Entities of all crowds together that one update looks at; each costs about 500 bytes while gradients are taken."""


@dataclass(frozen=True)
class Surroundings:
    """What every agent knows before any newcomer: the background graph, the concepts, and how long time is."""

    graph: TemporalGraph
    concepts: Concepts
    span: int
    """Ticks from the first time to the last."""
    days: float
    """How many days a tick is; 1 where times are plain integers and nobody knows."""

    @classmethod
    def of(cls, dataset: Dataset) -> Surroundings:
        entities, relations = len(dataset.vocabulary.entities), dataset.vocabulary.relation_ids
        graph = TemporalGraph.index(dataset.background, entities, relations)
        return cls.over(graph, dataset.concepts, dataset.calendar)

    @classmethod
    def over(cls, graph: TemporalGraph, concepts: Concepts, calendar: Calendar) -> Surroundings:
        return cls(graph, concepts, calendar.span, _DAYS.get(calendar.granularity, 1.0))

    @property
    def facts(self) -> Quadruples:
        """The background's facts, read off the graph: each once, in its real direction."""
        edges = self.graph.base.edges()
        return edges.take(edges.relation < self.graph.relations.count)


class Agent(Protocol):
    """Something that can be trained on tasks and then answers queries."""

    @property
    def module(self) -> nn.Module:
        """What is learned."""
        ...

    def play(self, task: Task, seed: int) -> Episode:
        """The loss of one training task."""
        ...

    def scorer(self) -> Explainer:
        """The agent at its present weights, as a scorer that can say why."""
        ...


def agent_for(config: Config, surroundings: Surroundings, embeddings: Callable[[], Embeddings]) -> Agent:
    """A new agent of the configured kind; ``embeddings`` is only called for one that needs them."""
    rows = embeddings() if config.agent == "paper" else None
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are not ours to touch
        torch.manual_seed(config.seed)
        return PlusAgent(config, surroundings) if rows is None else PaperAgent(config, surroundings, rows)


class PaperAgent:
    """FITCARL as in the paper: embeddings, Transformer, GRU, confidence learner, REINFORCE."""

    def __init__(self, config: Config, surroundings: Surroundings, embeddings: Embeddings) -> None:
        self.module = Fitcarl(config.model, embeddings, surroundings.graph.relations)
        self._config = config
        self._background = surroundings.graph
        self._reach = surroundings.span - 1
        self._guide = concept_guide(surroundings) if config.model.concepts else None

    def play(self, task: Task, seed: int) -> Episode:
        return play(self.module, self._background, task, self._config, self._guide, self._reach, seed)

    def scorer(self) -> FitcarlScorer:
        return FitcarlScorer(self.module, self._background, self._config, self._reach)


class PlusAgent:
    """The walker of preset ``plus``: counted statistics, small networks, trained by the likelihood of the answer."""

    def __init__(self, config: Config, surroundings: Surroundings) -> None:
        self.module = PlusPolicy(config.plus.hidden)
        self._size = config.plus.action_space
        self._background = surroundings.graph
        self._statistics = count(surroundings.facts, surroundings.graph, surroundings.concepts, surroundings.days)

    def play(self, task: Task, seed: int) -> Episode:
        """Learns from as many of the task's queries, drawn at random, as memory allows."""
        order = np.random.default_rng(seed).permutation(len(task.queries))
        cost = crowd_sizes(self._statistics, task.queries.take(order))
        queries = task.queries.take(np.sort(order[: max(1, int((np.cumsum(cost) <= _CROWD_AT_ONCE).sum()))]))
        graph = self._background.overlay(task.support.facts)
        options = choices(graph, task.support, self._statistics, queries, self._size)
        likelihood = log_likelihood(self.module(options), options, torch.from_numpy(queries.answer))
        probability = float(likelihood.detach().exp().mean())
        return Episode(-likelihood.mean(), probability, float((likelihood.detach() > -0.7).float().mean()))

    def scorer(self) -> PlusScorer:
        return PlusScorer(self.module, self._background, self._statistics, self._size)


def concept_guide(surroundings: Surroundings) -> ConceptGuide:
    """C_e and P(c | r), counted on the background."""
    concepts, relations = surroundings.concepts, surroundings.graph.relations
    return ConceptGuide(concepts, concept_distribution(surroundings.facts, concepts, relations))
