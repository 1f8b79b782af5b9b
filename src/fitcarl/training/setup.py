"""Dataset, settings and tasks of a training, checked before anything is written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fitcarl.config.schema import Config
from fitcarl.core.progress import OnProgress, ShouldStop, ignore_progress
from fitcarl.core.storage import Artifacts
from fitcarl.data.calendar import MAX_SPAN, Calendar
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.holdout import HoldoutRule, dataset_from_facts, larger_holdout
from fitcarl.data.split_advice import CROSSVALIDATE, few_entities
from fitcarl.data.time_scale import AUTO, chosen_time_unit, time_scale_text
from fitcarl.errors import InputError
from fitcarl.tasks.sampler import TaskSampler
from fitcarl.tasks.task import official_task

_log = logging.getLogger(__name__)

ImportArtifacts = Callable[[Dataset, Config, Artifacts], None]
"""Writes artifacts from elsewhere, such as published embeddings, before the model prepares its own."""


def never_stop() -> bool:
    """Never requests a stop."""
    return False


@dataclass(frozen=True)
class Callbacks:
    """Callbacks that the caller of a training passes."""

    on_progress: OnProgress = ignore_progress
    should_stop: ShouldStop = never_stop
    import_artifacts: ImportArtifacts | None = None


@dataclass(frozen=True)
class TrainingSetup:
    """A dataset, settings and the tasks that are sampled from it."""

    dataset: Dataset
    config: Config
    sampler: TaskSampler
    source: str
    """Where the dataset came from: a registered name, a folder or a file."""
    keep_all_facts: bool = False
    """Whether the trained run uses all facts of the dataset, those of its unseen entities included."""

    @cached_property
    def training_part(self) -> Dataset:
        """The part of the dataset that weights are fitted to; the dataset itself unless it is split by time."""
        return training_part(self.dataset, self.config)

    @cached_property
    def time_unit(self) -> float:
        """Ticks per time unit, estimated from the facts that weights are fitted to unless it is set.

        Raises:
            InputError: If the setting is no duration of the dataset.
        """
        chosen = self.config.time_unit_setting or AUTO
        return chosen_time_unit(chosen, self.dataset.calendar, self.training_part.background)


def prepare_data(data: Dataset | Facts, config: Config, source: str, rule: HoldoutRule | None = None) -> TrainingSetup:
    """A setup from a dataset or from plain facts; without a meta-train split, the settings are adapted.

    Args:
        data: The dataset or the facts.
        config: All settings.
        source: Where the data came from.
        rule: Which entities of plain facts are held out for validation and test.

    Raises:
        InputError: If nothing can be trained on the data.
    """
    if isinstance(data, Facts) or not len(data.train):
        config = config.without_meta_train()
    dataset = _hold_out(data, config, rule) if isinstance(data, Facts) else data
    sampler = make_task_sampler(dataset, config)
    setup = TrainingSetup(dataset, config, sampler, source, keep_all_facts=isinstance(data, Facts))
    _ = setup.time_unit  # a wrong duration is refused before anything is written
    return setup


def training_part(dataset: Dataset, config: Config) -> Dataset:
    """The part of a dataset that weights are fitted to, and all that is fitted once and kept, like scaling.

    For forecasts on a chronological split these are the facts before the first meta-validation entity appears;
    otherwise it is the dataset itself.

    Raises:
        InputError: If the model is trained on facts of meta-validation and meta-test by its settings.
    """
    if dataset.cuts is None or config.setting != "forecast":
        return dataset
    if config.official_supports_only:
        raise InputError(
            "would fit weights to facts later than the cut of meta-validation",
            file=dataset.name,
            field="sees",
            found="support",
            expected="--set sees=fold-in or --set sees=paper for forecasts on a chronological split",
        )
    return dataset.before(dataset.cuts.valid)


def _more_facts(config: Config) -> str:
    """What an entity needs to be asked about."""
    later = config.setting == "forecast"
    return f"facts later than its first {config.shots}" if later else f"more than {config.shots} facts"


def make_task_sampler(dataset: Dataset, config: Config) -> TaskSampler:
    """The training tasks of a dataset.

    Raises:
        InputError: If the dataset has too few facts, or too long a time span.
    """
    official = official_task(dataset.valid, config.shots, dataset.vocabulary.relation_ids, config.setting)
    if not len(official.queries):
        max_facts = int(np.diff(dataset.valid.offsets).max(initial=0))
        raise InputError(
            f"no meta-validation entity has {_more_facts(config)}",
            file=dataset.name,
            found=f"at most {max_facts}",
            expected="fewer --shots" if max_facts > 1 else "entities with at least two facts there",
        )
    sampler = TaskSampler(training_part(dataset, config), config)
    if dataset.calendar.span > MAX_SPAN:
        raise InputError(
            "too long a time span for its granularity",
            file=dataset.name,
            found=f"{dataset.calendar.span} ticks",
            expected=f"at most {MAX_SPAN}: read the facts with a coarser --granularity",
        )
    return sampler


def log_time_unit(config: Config, calendar: Calendar, unit: float) -> None:
    """Logs the time unit of models that use it.

    Args:
        config: The settings.
        calendar: The calendar of the dataset.
        unit: Ticks per time unit.
    """
    if config.time_unit_setting is not None:
        how = "from the facts; --set time_unit=DURATION changes it" if config.time_unit_setting == AUTO else "as set"
        _log.info(f"time unit: {time_scale_text(calendar, unit)} ({how})")


def log_task_source(setup: TrainingSetup) -> None:
    """Logs which known entities are held out in turn."""
    if setup.sampler.pseudo_unseen is not None:
        both = "; half of the tasks are from meta-train" if setup.config.task_source == "both" else ""
        _log.info("pseudo-unseen for training: %s, held out in turn%s", setup.sampler.pseudo_unseen, both)


def _hold_out(facts: Facts, config: Config, rule: HoldoutRule | None) -> Dataset:
    """Plain facts as a dataset with held-out entities; logs what was done."""
    meta_train = config.task_source in ("meta", "both")
    forecast = config.setting == "forecast"
    shots, seed = config.shots, config.seed
    dataset, held_out = dataset_from_facts(facts, shots, seed, meta_train=meta_train, chronological=forecast, rule=rule)
    names, times = facts.vocabulary, facts.calendar
    _log.info(
        f"{facts.name}: {len(facts.quadruples):,} facts of {len(names.entities):,} entities, "
        f"{len(names.relations):,} relations, {times.labels[0]} to {times.labels[-1]}"
    )
    if facts.reading.text:
        _log.info(f"columns: {facts.reading.text}")
    if len(facts.quadruples) < facts.rows or facts.times_truncated or facts.concept_rows or facts.reading.notes:
        _log.info(f"{facts.name}: {facts.summary}")
    for warning in facts.warnings:
        _log.warning(f"warning: {warning}")
    if dataset.cuts is not None:
        valid, test = (times.label(tick) for tick in (dataset.cuts.valid, dataset.cuts.test))
        note = f" that first appear from {valid} (test: {test}) on, and training uses facts before {valid}"
    else:
        note = ", chosen at random because too few first appear late in the data" if forecast else ""
    again = len(dataset.valid) + len(dataset.test)
    _log.info(
        f"held out for validation: {held_out.valid}; for test: {held_out.test or 'none, too few are suitable'}{note}; "
        f"the trained run uses their {again:,} facts again"
    )
    if len(dataset.train):
        train = dataset.train
        _log.info(f"held out for training: {len(train.entities):,} entities with {len(train):,} facts")
    sizes = {"validation": len(dataset.valid.entities), "test": len(dataset.test.entities)}
    warnings = [text for group, size in sizes.items() if (text := few_entities(group, size))]
    if warnings:
        fewest, emerging = min(sizes.values()), dataset.cuts is not None
        kind = {"meta_train": meta_train, "chronological": forecast, "emerging": emerging}
        more = larger_holdout(facts, shots, seed, fewest, **kind)
        warnings += [*([f"More entities: {more}."] if more else []), CROSSVALIDATE]
    for text in warnings:
        _log.warning(text)
    return dataset
