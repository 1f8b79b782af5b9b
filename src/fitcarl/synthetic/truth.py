"""Ground truth of a demo world: the rule and the causes of every fact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fitcarl.data.quadruples import Quadruples
from fitcarl.synthetic.rules import DESCRIPTIONS, Rule


@dataclass(frozen=True, eq=False)
class Truth:
    """The planted rule and the causes of every fact. Facts are identified by their row; see ``rows_of``."""

    facts: Quadruples
    """All facts of the world, sorted by time; the row of a cause is smaller than the row of its effect."""
    rule: NDArray[np.int8]
    """int8 [facts], number of the Rule that generated the fact; 0 for none."""
    cause_offsets: NDArray[np.int64]
    """int64 [facts + 1]: the causes of fact i are ``causes[cause_offsets[i]:cause_offsets[i + 1]]``."""
    causes: NDArray[np.int64]
    """int64 [causes], rows of facts, ascending within an effect. A fact has causes if and only if it has a rule."""
    new_entities: NDArray[np.int32]
    """int32 [new entities], ids of the entities that appear late."""

    def __len__(self) -> int:
        return len(self.rule)

    def causes_of(self, row: int) -> NDArray[np.int64]:
        """int64 [causes]: rows of the causes of a fact."""
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)} facts")
        return self.causes[self.cause_offsets[row] : self.cause_offsets[row + 1]]

    def rule_of(self, row: int) -> Rule:
        """The rule that generated a fact."""
        return Rule(int(self.rule[row]))

    def counts(self) -> dict[Rule, int]:
        """Number of facts per rule."""
        counts = np.bincount(self.rule, minlength=len(Rule))
        return {rule: int(counts[rule]) for rule in Rule}

    def describe(self, rule: Rule) -> str:
        """Description of a rule."""
        return DESCRIPTIONS[rule]

    def rows_of(self, facts: Quadruples) -> NDArray[np.int64]:
        """int64 [facts]: row of each fact, such as the facts of a split; -1 for an unknown fact."""
        keys, rows = self._index
        first, last = self._bounds
        fact_rows = facts.rows().astype(np.int64)
        inside = ((fact_rows >= first) & (fact_rows <= last)).all(axis=1)
        if not len(keys):
            return np.full(len(fact_rows), -1, dtype=np.int64)
        key = self._key(fact_rows)
        position = np.searchsorted(keys, key).clip(max=len(keys) - 1)
        return np.where(inside & (keys[position] == key), rows[position], -1)

    @cached_property
    def _bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        table = (self.facts.subject, self.facts.relation, self.facts.object, self.facts.time)
        return np.zeros(4, np.int64), np.array([column.max(initial=0) for column in table], dtype=np.int64)

    def _key(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64 [facts]: one key per fact, unique within the bounds."""
        _, relations, objects, times = (self._bounds[1] + 1).tolist()
        key: NDArray[np.int64] = ((rows[:, 0] * relations + rows[:, 1]) * objects + rows[:, 2]) * times + rows[:, 3]
        return key

    @cached_property
    def _index(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Keys of all facts in ascending order, and their rows."""
        keys = self._key(self.facts.rows().astype(np.int64))
        order = np.argsort(keys)
        return keys[order], order
