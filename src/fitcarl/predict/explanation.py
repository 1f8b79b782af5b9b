"""The explanation of one answer: evidence, measured effects of facts, and paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from fitcarl.predict.fact import Fact
from fitcarl.predict.query import Direction, Query
from fitcarl.predict.schemas import ExplanationSchema
from fitcarl.scoring.path import AFTER_QUESTION, ExplanationPath

if TYPE_CHECKING:
    import polars as pl

ExplanationKind = Literal["path", "peers", "base rate", "learned", "facts"]
"""What an answer rests on most: facts from the query entity to it, entities with facts like those of the query entity,
how usual the answer is for any entity, what the encoder has learned or, for other models, single facts."""

SOURCE_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "base": "typical candidate",
        "path": "direct path",
        "other_paths": "further paths",
        "copy_support": "earlier facts with the answer",
        "neighbours": "contacts of its contacts",
        "similar_entities": "peers: entities with facts like its own",
        "relation_popularity": "usual answers of the relation",
        "relation_profile": "relations of the answer",
        "same_day": "events of these days with similar entities",
        "activity": "activity of the answer",
        "excitation": "recent events of the answer",
        "concepts": "type of the answer",
        "similarity": "similarity to its contacts",
        "encoder": "learned encoder of its facts and of these days",
        "reach": "learned paths of up to three facts",
        "names": "names",
        "fact": "a single fact",
    }
)
"""Source of evidence → what a reader sees."""

_BAR = 120
"""Width of the longest bar in HTML, in pixels."""


@dataclass(frozen=True)
class Evidence:
    """One source of evidence and its contribution to the score."""

    source: str
    contribution: float
    """In nats; the contributions of all sources add up to the score."""
    facts: tuple[Fact, ...]
    """The strongest facts behind it; empty if it rests on no single facts."""
    label: str
    """The source in words."""


@dataclass(frozen=True)
class FactEffect:
    """A fact, and the answer recomputed without it."""

    subject: str
    relation: str
    object: str
    time: str
    share_without: float
    """The share of the answer without the fact; 0 if there is no such answer then."""
    rank_without: int | None
    """The rank of the answer without the fact; None if there is no such answer then."""
    effect: float
    """Nats of the share that rest on the fact; negative if the fact speaks against the answer."""
    together: tuple[Fact, ...] = ()
    """Facts with which more is lost than by leaving out each alone, often because they can replace each other."""

    @property
    def fact(self) -> Fact:
        return Fact(self.subject, self.relation, self.object, self.time)

    def __str__(self) -> str:
        return str(self.fact)


@dataclass(frozen=True)
class Place:
    """Share and rank of an answer."""

    share: float
    rank: int | None


@dataclass(frozen=True, repr=False)
class Explanation:
    """Why an entity is an answer to a query. It explains the model, not the world.

    All shares and ranks are recomputed answers: the same call with ``without`` returns them.
    """

    query: Query
    entity: str
    rank: int | None
    """Rank among all answers, from 1; None if the model does not list the entity."""
    score: float | None
    share: float
    concepts: tuple[str, ...]
    relation: str
    direction: Direction
    base_rate: float
    """The share of this answer among the background facts of the relation that the query may use and that are not about
    the query entity."""
    kind: ExplanationKind | None = None
    evidence: tuple[Evidence, ...] = ()
    """Largest contribution first, then the base; the contributions add up to the score."""
    facts: tuple[FactEffect, ...] = ()
    """The facts that matter most, largest effect first."""
    considered: int = 0
    """The number of facts whose effects were measured."""
    necessary: tuple[Fact, ...] = ()
    """A smallest known set without which the answer loses its place; empty if none of those tried has that effect."""
    without_necessary: Place | None = None
    sufficient: tuple[Fact, ...] = ()
    """A small set that keeps the answer at its place without all other considered facts; empty if none was found."""
    with_sufficient: Place | None = None
    paths: tuple[ExplanationPath, ...] = ()
    """Paths to the answer, largest measured effect first."""
    later: tuple[Fact, ...] = ()
    """Facts of the explanation that are later than the query; only with hindsight."""

    def marked(self, fact: Fact) -> str:
        """A fact in words, with a mark if it is later than the query."""
        return f"{fact} {AFTER_QUESTION}" if fact in self.later else str(fact)

    @property
    def summary(self) -> str:
        """What the explanation says, in a few sentences."""
        if self.rank is None:
            return f"{self.entity} is not among the answers that the model lists."
        return " ".join([_KIND_TEXTS[self.kind or "base rate"], *self._base_rate_text(), *self._necessary_text()])

    def _base_rate_text(self) -> list[str]:
        if self.base_rate < self.share / 2 or self.base_rate < _MIN_BASE_RATE:
            return []
        return [f"It is likely for any entity: {self.base_rate:.0%} of the “{self.relation}” facts of others have it."]

    def _necessary_text(self) -> list[str]:
        if self.without_necessary is None:
            return [f"No set of the {self.considered} considered facts that was tried takes it from its place."] * bool(
                self.considered
            )
        rank, count = self.without_necessary.rank, len(self.necessary)
        place = "it is not an answer" if rank is None else f"it has rank {rank} ({self.without_necessary.share:.1%})"
        return [f"Without {'one fact' if count == 1 else f'{count} facts'} {place}."]

    def to_json(self) -> dict[str, Any]:
        return ExplanationSchema.model_validate(self).to_json()

    def to_frame(self) -> pl.DataFrame:
        """The facts with their effects as a polars DataFrame."""
        import polars as pl

        columns = ("subject", "relation", "object", "time", "share_without", "rank_without", "effect")
        kinds = {**dict.fromkeys(columns[:4], pl.String), "share_without": pl.Float64, "rank_without": pl.Int64}
        rows = {name: [getattr(fact, name) for fact in self.facts] for name in columns}
        return pl.DataFrame(rows, schema={**kinds, "effect": pl.Float64})

    def __repr__(self) -> str:
        return f"Explanation({str(self.query)!r}, {self.entity!r}, {self._place}, {len(self.facts)} facts)"

    @property
    def _place(self) -> str:
        return "not an answer" if self.rank is None else f"rank {self.rank}, {self.share:.1%}"

    def _repr_html_(self) -> str:
        """Evidence bars, facts and paths, for notebooks."""
        largest = max((abs(one.contribution) for one in self.evidence[:-1]), default=1.0) or 1.0
        bars = "".join(
            f"<tr><td>{escape(one.label)}</td><td style='text-align:right'>{one.contribution:+.2f}</td><td>"
            f"<div style='height:.7em;width:{_BAR * abs(one.contribution) / largest:.0f}px;"
            f"background:{'#2f6fd0' if one.contribution >= 0 else '#c62f33'}'></div></td></tr>"
            for one in self.evidence[:-1]
        )
        facts = "".join(
            f"<tr><td>{escape(self.marked(fact.fact))}</td><td style='text-align:right'>{fact.share_without:.1%}</td>"
            f"<td style='text-align:right'>{'–' if fact.rank_without is None else fact.rank_without}</td></tr>"
            for fact in self.facts
        )
        paths = "".join(f"<li>{escape(path.text)}</li>" for path in self.paths)
        return (
            f"<div><b>{escape(self.entity)}</b>: {self._place}. {escape(self.summary)}"
            f"<table><thead><tr><th>evidence</th><th>nats</th><th></th></tr></thead>{bars}</table>"
            f"<table><thead><tr><th>fact</th><th>share without</th><th>rank without</th></tr></thead>{facts}</table>"
            f"<ol>{paths}</ol></div>"
        )


_MIN_BASE_RATE = 0.01
"""Smaller base rates are not worth a sentence."""
_KIND_TEXTS: Mapping[ExplanationKind, str] = MappingProxyType(
    {
        "path": "It rests mostly on facts that lead from the entity to it.",
        "peers": "It rests mostly on entities with facts like those of the entity.",
        "base rate": "It rests mostly on how usual the answer is.",
        "learned": "It rests mostly on what the model has learned about entities with such facts.",
        "facts": "It rests on single facts.",
    }
)
