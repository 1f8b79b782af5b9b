"""An explanation as text for the terminal: evidence bars, facts by effect, sets of facts, and paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from fitcarl.cli.prediction import path_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from fitcarl.predict.explanation import Explanation, Place
    from fitcarl.predict.fact import Fact

_BAR_WIDTH = 20
_ALONE = "with no other considered fact"
_MIN_SHOWN = 0.05
"""Nats: smaller contributions are summed up in one line."""


def rendered_explanation(explanation: Explanation) -> Group:
    """The explanation of an entity that is an answer."""
    heading = Text.assemble(f"{explanation.rank}. ", (explanation.entity, "bold red"), f"  {explanation.share:.1%}")
    parts: list[RenderableType] = [
        Text(str(explanation.query), style="bold"),
        Text(),
        heading,
        Text(f"   {explanation.summary}"),
        Text(),
        _evidence(explanation),
        Text("Facts by measured effect: the answer recomputed without each of them", style="bold"),
        _facts(explanation),
        *_fact_set(explanation, "Necessary", "without them", explanation.necessary, explanation.without_necessary),
        *_fact_set(explanation, "Sufficient", _ALONE, explanation.sufficient, explanation.with_sufficient),
    ]
    for path in explanation.paths:
        without = (
            ""
            if path.share_without is None
            else f"   Without this path: {_place(path.share_without, path.rank_without)}."
        )
        parts += [Text(), *path_lines(path), Text(f"   {path.text}", style="italic"), Text(without, style="dim")]
    return Group(*parts)


def _evidence(explanation: Explanation) -> Table:
    """Contributions to the score as bars."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title_justify="left")
    table.add_column("evidence")
    table.add_column("nats", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    *sources, base = explanation.evidence
    shown = [one for one in sources if abs(one.contribution) >= _MIN_SHOWN]
    largest = max((abs(one.contribution) for one in shown), default=1.0)
    for one in shown:
        bar = "█" * max(1, round(_BAR_WIDTH * abs(one.contribution) / largest))
        table.add_row(one.label, f"{one.contribution:+.2f}", Text(bar, style="blue" if one.contribution > 0 else "red"))
    rest = sum(one.contribution for one in sources if abs(one.contribution) < _MIN_SHOWN)
    if len(shown) < len(sources):
        table.add_row("all others", f"{rest:+.2f}", "")
    table.add_row(base.label, f"{base.contribution:+.2f}", "")
    table.add_section()
    table.add_row("score (log-probability)", f"{explanation.score:+.2f}", "")
    return table


def _facts(explanation: Explanation) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("fact")
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("rank", justify="right", no_wrap=True)
    for fact in explanation.facts:
        others = f"{len(fact.together)} other{'s' * (len(fact.together) > 1)}"
        note = f"  (more is lost together with {others})" if fact.together else ""
        table.add_row(
            f"{explanation.marked(fact.fact)}{note}",
            f"{fact.share_without:.1%}",
            "–" if fact.rank_without is None else str(fact.rank_without),
        )
    table.add_section()
    table.add_row("with all facts", f"{explanation.share:.1%}", str(explanation.rank))
    return table


def _fact_set(
    explanation: Explanation, title: str, condition: str, facts: Sequence[Fact], place: Place | None
) -> list[RenderableType]:
    """A set of facts and the place of the answer without or with it."""
    if place is None:
        return [Text(f"{title}: no such set was found.", style="dim")]
    head = Text.assemble((f"{title}", "bold"), f" ({condition}: {_place(place.share, place.rank)})")
    return [head, *(Text(f"   {explanation.marked(fact)}") for fact in facts)]


def _place(share: float, rank: int | None) -> str:
    return "no answer" if rank is None else f"rank {rank}, {share:.1%}"
