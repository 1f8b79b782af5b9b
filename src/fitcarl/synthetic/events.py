"""Events during the generation of a world, with the rule and the causes of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fitcarl.synthetic.verbs import TONE, VERBS

MAX_CAUSES = 3
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Events:
    """Events in columns, in order of generation: the causes of an event precede it."""

    subject: NDArray[np.int32]
    """int32 [events]."""
    relation: NDArray[np.int32]
    """int32 [events], index into VERBS."""
    object: NDArray[np.int32]
    """int32 [events]."""
    time: NDArray[np.int32]
    """int32 [events], days since the first day."""
    rule: NDArray[np.int8]
    """int8 [events], the Rule that generated the event."""
    causes: NDArray[np.int32]
    """int32 [events, 3], positions of the causes, padded with -1."""

    @classmethod
    def of(
        cls,
        subject: ArrayLike,
        relation: ArrayLike,
        object: ArrayLike,
        time: ArrayLike,
        rule: ArrayLike = 0,
        causes: Sequence[ArrayLike] = (),
    ) -> Events:
        """Events; ``relation`` and ``rule`` may be scalars, ``causes`` has one column per cause."""
        subjects = np.asarray(subject, dtype=np.int32)
        table = np.full((len(subjects), MAX_CAUSES), -1, dtype=np.int32)
        for column, cause in enumerate(causes):
            table[:, column] = cause
        return cls(
            subjects,
            np.broadcast_to(np.asarray(relation, dtype=np.int32), subjects.shape),
            np.asarray(object, dtype=np.int32),
            np.asarray(time, dtype=np.int32),
            np.broadcast_to(np.asarray(rule, dtype=np.int8), subjects.shape),
            table,
        )

    @classmethod
    def concat(cls, parts: Sequence[Events]) -> Events:
        return cls(
            np.concatenate([part.subject for part in parts]),
            np.concatenate([part.relation for part in parts]),
            np.concatenate([part.object for part in parts]),
            np.concatenate([part.time for part in parts]),
            np.concatenate([part.rule for part in parts]),
            np.concatenate([part.causes for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.subject)

    def take(self, rows: NDArray[np.bool_] | Rows | slice) -> Events:
        """The events at these positions; causes remain positions in the log."""
        return Events(
            self.subject[rows],
            self.relation[rows],
            self.object[rows],
            self.time[rows],
            self.rule[rows],
            self.causes[rows],
        )

    @cached_property
    def tone(self) -> NDArray[np.int8]:
        """int8 [events]: friendly, neutral or hostile."""
        tones: NDArray[np.int8] = TONE[self.relation]
        return tones


class EventLog:
    """All accepted events. Duplicates, events outside the time span and events beyond a quota are rejected."""

    def __init__(self, actors: int, days: int) -> None:
        self.actors = actors
        self.days = days
        self.quota: NDArray[np.int64] = np.full(actors, np.iinfo(np.int64).max)
        """int64 [actors]: number of further events allowed per actor."""
        self._parts: list[Events] = []
        self._keys: NDArray[np.int64] = np.empty(0, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def events(self) -> Events:
        """All accepted events in order."""
        self._parts = [Events.concat(self._parts)] if len(self._parts) > 1 else self._parts
        return self._parts[0]

    def add(self, proposals: Events, rng: np.random.Generator, share: float = 1.0) -> Rows:
        """int64 [proposals]: position of each proposal in the log, -1 if it was rejected.

        ``share`` limits the part of the remaining quotas that may be used.
        """
        fits = (proposals.subject != proposals.object) & (proposals.time >= 0) & (proposals.time < self.days)
        accepted = np.flatnonzero(fits)
        keys = self._key(proposals.take(accepted))
        # A stable sort: of equal proposals the first is accepted, on every machine.
        order = np.argsort(keys, kind="stable")
        keys, accepted = keys[order], accepted[order]
        fresh = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
        if len(self._keys):
            existing = np.searchsorted(self._keys, keys).clip(max=len(self._keys) - 1)
            fresh &= self._keys[existing] != keys
        accepted = np.sort(accepted[fresh])
        accepted = accepted[self._within_quota(proposals.take(accepted), rng, share)]

        part = proposals.take(accepted)
        for end in (part.subject, part.object):
            limited = end[self.quota[end] < np.iinfo(np.int64).max]
            np.subtract.at(self.quota, limited, 1)
        # Two sorted runs: a stable sort merges them in linear time.
        merged = np.concatenate([self._keys, np.sort(self._key(part))])
        self._keys = np.sort(merged, kind="stable")
        self._parts.append(part)
        position = np.full(len(proposals), -1, dtype=np.int64)
        position[accepted] = self._count + np.arange(len(accepted))
        self._count += len(accepted)
        return position

    def _key(self, events: Events) -> NDArray[np.int64]:
        pair = events.subject.astype(np.int64) * self.actors + events.object
        return (pair * len(VERBS) + events.relation) * self.days + events.time

    def _within_quota(self, events: Events, rng: np.random.Generator, share: float) -> NDArray[np.bool_]:
        """bool [events]: a random subset in which no actor exceeds its quota."""
        limited = self.quota < np.iinfo(np.int64).max
        allowed = np.ceil(self.quota * share).astype(np.int64) if share < 1 else self.quota
        rows = np.flatnonzero(limited[events.subject] | limited[events.object])
        rows = rng.permutation(rows)
        end = np.stack([events.subject[rows], events.object[rows]], axis=1).ravel()
        order = np.argsort(end, kind="stable")
        start = np.append(True, end[order][1:] != end[order][:-1])[: len(end)]
        first = np.maximum.accumulate(np.where(start, np.arange(len(end)), 0))
        position = np.empty(len(end), dtype=np.int64)
        position[order] = np.arange(len(end)) - first
        valid = (position < allowed[end]).reshape(-1, 2).all(axis=1)
        within = np.ones(len(events), dtype=np.bool_)
        within[rows[~valid]] = False
        return within
