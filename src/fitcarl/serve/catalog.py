"""Entities and relations of the served run: fact counts, concepts and search by name."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property

import numpy as np

import fitcarl
from fitcarl.predict.predictor import Predictor
from fitcarl.serve.limits import Limits
from fitcarl.serve.schemas import EntityItem, ModelResponse, RelationItem


class Catalog:
    """Lookup of names in a served run."""

    def __init__(self, predictor: Predictor) -> None:
        self._predictor = predictor
        self._run = predictor.run
        graph, names = self._run.context.graph, self._run.vocabulary
        self._facts_of_entity = np.diff(graph.base.offsets)[: len(names.entities)]
        forward = graph.base.relation[~graph.relations.is_inverse(graph.base.relation)]
        self._facts_of_relation = np.bincount(forward, minlength=graph.relations.count)

    @cached_property
    def background(self) -> str:
        """Identifies the known names of the run."""
        names = self._run.vocabulary.entities
        known = [names[number] for number in np.flatnonzero(self._facts_of_entity > 0)]
        return hashlib.sha256("\n".join(sorted(known)).encode()).hexdigest()

    def knows(self, name: str) -> bool:
        """Whether the background has facts about an entity; otherwise it is new."""
        number = self._run.vocabulary.entity_index.get(name)
        return number is not None and bool(self._facts_of_entity[number] > 0)

    def find_entities(self, search: str, limit: int) -> list[str]:
        """Known entities that match a text, best first; for an empty text those with the most facts."""
        if search:
            return self._predictor.suggest(search, "entity", limit)
        return [self._run.vocabulary.entities[number] for number in self._by_facts[:limit]]

    def find_relations(self, search: str, limit: int) -> list[str]:
        """Relations that match a text, best first; for an empty text the most frequent ones."""
        if search:
            return self._predictor.suggest(search, "relation", limit)
        names = self._run.vocabulary.relations
        return [names[number] for number in np.argsort(-self._facts_of_relation, kind="stable")[:limit]]

    def describe_entities(self, names: Iterable[str], observed: set[str]) -> tuple[EntityItem, ...]:
        """Descriptions of entities; ``observed`` are the entities that stored facts mention."""
        return tuple(self._entity(name, name in observed) for name in names)

    def describe_relations(self, names: Iterable[str]) -> tuple[RelationItem, ...]:
        """Descriptions of relations."""
        index = self._run.vocabulary.relation_index
        return tuple(RelationItem(name=name, facts=int(self._facts_of_relation[index[name]])) for name in names)

    def describe_model(self, limits: Limits) -> ModelResponse:
        """Description of the served run."""
        run, calendar = self._run, self._run.calendar
        data = run.origin.name  # not the source, which may be a path on this machine
        signature = {"preset": run.config.preset, "shots": run.config.shots, "data": f"{data}@{run.digest[:12]}"}
        if run.updates:
            signature["background"] = run.updates[-1].background_digest[:12]
        signature["fitcarl"] = fitcarl.__version__
        return ModelResponse(
            name=run.folder.path.resolve().name,
            preset=run.config.preset,
            shots=run.config.shots,
            trained_for=run.config.setting,
            data=data,
            entities=len(run.vocabulary.entities),
            relations=len(run.vocabulary.relations),
            facts=int(self._facts_of_relation.sum()),
            updates=len(run.updates),
            first_time=calendar.label(0),
            last_time=calendar.label(run.last_busy_tick),
            granularity=calendar.granularity,
            version=fitcarl.__version__,
            signature="|".join(f"{key}:{value}" for key, value in signature.items()),
            limits=limits.to_json(),
        )

    @cached_property
    def _by_facts(self) -> list[int]:
        order = np.argsort(-self._facts_of_entity, kind="stable")
        return [int(number) for number in order if self._facts_of_entity[number] > 0]

    def _entity(self, name: str, observed: bool) -> EntityItem:
        number = self._run.vocabulary.entity_index.get(name)
        if number is None:
            return EntityItem(name=name, concepts=(), facts=0, observed=observed)
        concepts = tuple(self._run.concepts.of(number))
        return EntityItem(name=name, concepts=concepts, facts=int(self._facts_of_entity[number]), observed=observed)
