"""Factorization models on a standard split of a temporal knowledge graph, where all entities are known.

    python benchmarks/transductive.py FOLDER [--models complex,tntcomplex] [--dim 100] [--epochs 12]

FOLDER has train.txt, valid.txt and test.txt with lines of ids (subject, relation, object, time). Prints the MRR of the
test facts in both directions, with realistic ranks and the time-aware filter over all three files.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from fitcarl.config.factorization import FactorizationConfig
from fitcarl.config.settings import configure
from fitcarl.data.dataset import MetaSet
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.evaluation.filtering import KnownAnswers
from fitcarl.evaluation.ranks import rank
from fitcarl.models.factorization.adagrad import RestartedAdagrad
from fitcarl.models.factorization.batches import MiniBatches
from fitcarl.models.factorization.objective import QueryIds, TableModule
from fitcarl.models.factorization.scorer import frozen
from fitcarl.models.factorization.seen_facts import SeenFacts
from fitcarl.models.factorization.trainable import objective_of
from fitcarl.scoring.scores import Scores
from fitcarl.tasks.task import Queries


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", default="complex,tntcomplex")
    parser.add_argument("--dim", type=int, default=100, help="real numbers per entity: twice the rank")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--sample", type=int, default=2000, help="facts that are ranked")
    parser.add_argument("--split", choices=("valid", "test"), default="test", help="valid to choose settings")
    parser.add_argument("--set", action="append", default=[], help="settings such as training.n3_weight=0.01")
    given = parser.parse_args()
    splits = {name: _read(given.folder / f"{name}.txt") for name in ("train", "valid", "test")}
    everything = Quadruples.concat(list(splits.values()))
    relations = RelationIds(int(everything.relation.max()) + 1)
    entities = int(max(everything.subject.max(), everything.object.max())) + 1
    known = KnownAnswers.of_facts(everything, relations)
    for model in given.models.split(","):
        settings = [f"embedding.dim={given.dim}", *given.set]
        config = configure(settings=settings, model=model)
        assert isinstance(config, FactorizationConfig)
        began = time.process_time()
        mrr = _mrr(config, splits["train"], splits[given.split], entities, relations, known, given.epochs, given.sample)
        print(f"{model}: MRR {mrr:.4f}, {time.process_time() - began:.0f} CPU seconds", flush=True)


def _read(file: Path) -> Quadruples:
    return Quadruples.from_rows(np.loadtxt(file, dtype=np.int64, usecols=(0, 1, 2, 3)))


def _mrr(
    config: FactorizationConfig,
    train: Quadruples,
    test: Quadruples,
    entities: int,
    relations: RelationIds,
    known: KnownAnswers,
    epochs: int,
    sample: int,
) -> float:
    """Trains on facts and ranks both directions of a sample of test facts."""
    empty = MetaSet(np.empty(0, np.int32), Quadruples.empty())
    seen = SeenFacts(np.ones(entities, dtype=np.bool_), np.unique(train.time).astype(np.int64), empty)
    objective = objective_of(config)
    generator = torch.Generator().manual_seed(config.seed)
    module = TableModule(objective.initial_tables(entities, relations.directed, len(seen.ticks), generator))
    batches = MiniBatches(train, seen, objective.temporal, relations, config)
    optimizer = RestartedAdagrad(module.parameters(), config.training.learning_rate)
    for number in range(1, epochs * batches.per_epoch + 1):
        objective.begin_episode(module.tables, number, generator)
        loss, _ = objective.loss(module.tables, batches.get(number), generator)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    chosen = np.random.default_rng(0).permutation(len(test))[:sample]
    facts = test.take(chosen).both_directions(relations)
    tables, reciprocal = frozen(module.tables), []
    for first in range(0, len(facts), 250):
        part = facts.take(slice(first, first + 250))
        ids = part.subject.astype(np.int64), part.relation.astype(np.int64), seen.tick_rows(part.time)
        with torch.no_grad():
            scores = Scores.from_dense(objective.scores(tables, QueryIds(*map(torch.from_numpy, ids))).numpy())
        queries = Queries(part.subject, part.relation, part.time, part.object)
        ranks = rank(scores, queries, known, entities, "time-aware")
        reciprocal.append(1 / ranks.of("realistic"))
    return float(np.concatenate(reciprocal).mean())


if __name__ == "__main__":
    main()
