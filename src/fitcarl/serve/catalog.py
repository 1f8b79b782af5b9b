"""The names a model knows: how often facts mention them, what kind of actor they are, and how to find them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

import fitcarl
from fitcarl.predict.predictor import Predictor


class Catalog:
    """What can be looked up about a served run."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self._run = predictor.run
        graph, names = self._run.context.graph, self._run.vocabulary
        self._facts_of = np.diff(graph.base.offsets)[: len(names.entities)]
        own = graph.base.relation[~graph.relations.is_inverse(graph.base.relation)]
        self._facts_by = np.bincount(own, minlength=graph.relations.count)

    def knows(self, name: str) -> bool:
        """Whether the background has facts about a name; otherwise it is a new actor's."""
        number = self._run.vocabulary.entity_index.get(name)
        return number is not None and bool(self._facts_of[number] > 0)

    def entities(self, search: str, most: int) -> list[str]:
        """Known names that a text may mean, the likeliest first; for an empty text the most active."""
        if search:
            return self._predictor.suggest(search, kind="entity", most=most)
        return [self._run.vocabulary.entities[number] for number in self._by_activity[:most]]

    def relations(self, search: str, most: int) -> list[str]:
        """Relations that a text may mean, the likeliest first; for an empty text the most frequent."""
        names = self._run.vocabulary.relations
        if search:
            return self._predictor.suggest(search, kind="relation", most=most)
        return [names[number] for number in np.argsort(-self._facts_by, kind="stable")[:most]]

    def describe_entities(self, names: Iterable[str], observed: set[str]) -> list[dict[str, Any]]:
        """What is known of entities; ``observed`` are those that stored facts mention."""
        return [self._entity(name, name in observed) for name in names]

    def describe_relations(self, names: Iterable[str]) -> list[dict[str, Any]]:
        index = self._run.vocabulary.relation_index
        return [{"name": name, "facts": int(self._facts_by[index[name]])} for name in names]

    def model(self) -> dict[str, Any]:
        """What is served."""
        run, calendar = self._run, self._run.calendar
        name = run.origin.name  # not the source, which may be a path of this machine
        signature = {"preset": run.config.preset, "shots": run.config.shots, "data": f"{name}@{run.digest[:12]}"}
        signature["fitcarl"] = fitcarl.__version__
        return {
            "name": run.folder.path.resolve().name,
            "preset": run.config.preset,
            "shots": run.config.shots,
            "data": name,
            "entities": len(run.vocabulary.entities),
            "relations": len(run.vocabulary.relations),
            "facts": int(self._facts_by.sum()),
            "first_time": calendar.label(0),
            "last_time": calendar.label(calendar.span - 1),
            "granularity": calendar.granularity,
            "version": fitcarl.__version__,
            "signature": "|".join(f"{key}:{value}" for key, value in signature.items()),
        }

    @cached_property
    def _by_activity(self) -> list[int]:
        order = np.argsort(-self._facts_of, kind="stable")
        return [int(number) for number in order if self._facts_of[number] > 0]

    def _entity(self, name: str, observed: bool) -> dict[str, Any]:
        number = self._run.vocabulary.entity_index.get(name)
        known = number is not None
        return {
            "name": name,
            "concepts": list(self._run.concepts.of(number)) if number is not None else [],
            "facts": int(self._facts_of[number]) if known else 0,
            "observed": observed,
        }
