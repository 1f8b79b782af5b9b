"""Which facts a transductive model is trained on, and the record of it that its run keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fitcarl.config.factorization import FactorizationConfig
from fitcarl.core.arrays import Positions
from fitcarl.core.storage import Artifacts
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.quadruples import Ids, Quadruples
from fitcarl.errors import InputError
from fitcarl.models.factorization.embeddings import trained_entities
from fitcarl.tasks.task import official_task

_ARTIFACT = "seen_facts"


@dataclass(frozen=True, eq=False)
class SeenFacts:
    """What a trained run must know about its training facts."""

    entity: NDArray[np.bool_]
    """bool [E]: whether the entity has a training fact."""
    ticks: Positions
    """int64 [T], ascending: the timestamps of the training facts, one row each in models with time."""
    meta: MetaSet
    """The training facts that are listed under an entity of the meta-train, meta-validation or meta-test split."""

    @classmethod
    def read(cls, artifacts: Artifacts, entities: int, relations: int) -> SeenFacts:
        """What ``write`` wrote.

        Args:
            artifacts: The artifacts of the run.
            entities: Number of entities.
            relations: R, the number of relations.

        Raises:
            InputError: If the file is damaged or belongs to other names.
        """
        tensors, _ = artifacts.read(_ARTIFACT)
        arrays = {name: tensor.numpy() for name, tensor in tensors.items()}
        found = {name: (array.dtype.type, array.shape) for name, array in arrays.items()}
        facts, ticks = (len(arrays[name]) if name in arrays and arrays[name].ndim else 0 for name in ("facts", "ticks"))
        expected = {
            "entity": (np.bool_, (entities,)),
            "ticks": (np.int64, (ticks,)),
            "entity_of_fact": (np.int32, (facts,)),
            "facts": (np.int32, (facts, 4)),
        }
        file = artifacts.path(_ARTIFACT)
        if found != expected:
            raise InputError("does not fit the names", file=file, expected=f"the training facts of {entities} entities")
        subject, relation, object, _ = arrays["facts"].T
        ids = [(subject, entities), (relation, relations), (object, entities), (arrays["entity_of_fact"], entities)]
        valid = all(not len(part) or 0 <= part.min() <= part.max() < count for part, count in ids)
        if not valid or (np.diff(arrays["ticks"]) <= 0).any():
            raise InputError("is damaged", file=file, expected="ids of the run's names, and ascending times")
        return cls(
            arrays["entity"], arrays["ticks"], MetaSet(arrays["entity_of_fact"], Quadruples.from_rows(arrays["facts"]))
        )

    def write(self, artifacts: Artifacts) -> None:
        arrays = {
            "entity": self.entity,
            "ticks": self.ticks,
            "entity_of_fact": self.meta.entity_of_fact,
            "facts": self.meta.facts.rows(),
        }
        artifacts.write(_ARTIFACT, {name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})

    def of_entity(self, entity: int) -> set[tuple[int, int, int, int]]:
        """The training facts that are listed under an entity of a meta split."""
        return set(self.meta.facts.take(self.meta.entity_of_fact == entity))

    def tick_rows(self, time: Ids) -> Positions:
        """int64 [times]: the row of the nearest timestamp of the training facts; the earlier of two."""
        if len(self.ticks) < 2:
            return np.zeros(len(time), dtype=np.int64)
        after = np.searchsorted(self.ticks, time).clip(1, len(self.ticks) - 1)
        nearer = np.abs(self.ticks[after] - time) < np.abs(time - self.ticks[after - 1])
        return np.where(nearer, after, after - 1).astype(np.int64)


def training_facts(dataset: Dataset, config: FactorizationConfig) -> tuple[Quadruples, SeenFacts]:
    """The training facts: background, meta-train and, if ``config.sees`` is ``support``, the official support facts.

    The support facts are those of meta-validation and meta-test at ``config.shots``; no other fact of their entities is
    used.
    """
    relations = dataset.vocabulary.relation_ids
    parts = [dataset.train]
    if config.sees == "support":
        splits = (dataset.valid, dataset.test)
        parts += [official_task(meta, config.shots, relations, config.setting).support for meta in splits]
    owner = np.concatenate([part.entity_of_fact for part in parts])
    meta = MetaSet(owner, Quadruples.concat([part.facts for part in parts]))
    facts = Quadruples.concat([dataset.background, meta.facts])
    entity = trained_entities(facts, len(dataset.vocabulary.entities))
    return facts, SeenFacts(entity, np.unique(facts.time).astype(np.int64), meta)
