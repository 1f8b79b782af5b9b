"""Runs of any size on generated facts, with random weights: for measurements of time and memory, not of accuracy."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from fitcarl.config.schema import PlusConfig
from fitcarl.config.settings import configure
from fitcarl.core.files import write_atomically, write_json
from fitcarl.data.dataset import Dataset, MetaSet
from fitcarl.data.facts import Facts, named_facts
from fitcarl.data.quadruples import Quadruples
from fitcarl.models.base import GraphContext
from fitcarl.models.plus.encoder.network import SupportEncoder
from fitcarl.models.plus.features.scaling import FeatureScaling
from fitcarl.models.plus.statistics import compute_statistics
from fitcarl.models.plus.trainable import PlusModel
from fitcarl.runs.layout import RunFolder


def make_run(facts: Facts, folder: Path, held_back: int) -> Path:
    """A run of model plus with random weights on all but the last facts; returns a file of those."""
    config = configure("plus", [])
    assert isinstance(config, PlusConfig)
    order = np.argsort(facts.quadruples.time, kind="stable")
    background, later = (facts.quadruples.take(part) for part in (order[:-held_back], order[-held_back:]))
    none = MetaSet(np.empty(0, np.int32), Quadruples.empty())
    names = facts.vocabulary, facts.calendar
    dataset = Dataset("generated", *names, background, none, none, none, Quadruples.empty(), facts.concepts)
    context = GraphContext.from_dataset(dataset)
    run = RunFolder(folder)
    run.create(dataset, "generated", config, context.graph, time_unit=context.time_unit)
    torch.manual_seed(0)
    encoder = SupportEncoder(config.encoder, context.graph.entities, context.graph.relations.directed)
    encoder.freeze(np.diff(context.graph.base.offsets) > 0)
    statistics = compute_statistics(context.facts, context.graph, context.concepts, context.units_per_tick)
    model = PlusModel(config, context, replace(statistics, scaling=FeatureScaling.unfitted()), encoder)
    run.artifacts.write("encoder", encoder.state_dict())
    scaling = model.statistics.scaling.arrays().items()
    run.artifacts.write("scaling", {name: torch.from_numpy(array) for name, array in scaling})
    model.save_artifacts(run.artifacts)
    run.save_weights(model.module)
    run.write_manifest()
    write_json(run.result, {"best_valid_mrr": 0.0})
    file = folder.with_suffix(".tsv")
    write_atomically(file, "".join("\t".join(row) + "\n" for row in named_facts(later, *names)).encode())
    return file
