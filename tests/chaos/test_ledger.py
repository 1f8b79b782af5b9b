"""The ledger of a client notices every kind of disagreement."""

from __future__ import annotations

from random import Random

from tests.chaos.ledger import FactKey, Ledger, State
from tests.chaos.results import MAX_PROBLEMS, Results

KEY: FactKey = ("Me", "Consult", "Peliland", "2023-05-01")
OTHER: FactKey = ("Peliland", "Consult", "Me", "2023-05-02")


def stored(key: FactKey) -> dict[str, str]:
    return dict(zip(("subject", "relation", "object", "time"), key, strict=True))


def ledger(**states: State) -> Ledger:
    found = Ledger()
    found.states.update({{"key": KEY, "other": OTHER}[name]: state for name, state in states.items()})
    return found


def test_agreement_has_no_differences() -> None:
    known = ledger(key=State.STORED, other=State.UNKNOWN)
    assert known.differences("Me", [stored(KEY)]) == []
    assert known.differences("Me", [stored(KEY), stored(OTHER)]) == []
    assert ledger(key=State.REMOVED).differences("Me", []) == []


def test_lost_double_foreign_and_undead_facts_are_differences() -> None:
    known = ledger(key=State.STORED)
    assert known.differences("Me", []) == [f"lost: {KEY}"]
    assert known.differences("Me", [stored(KEY)] * 2) == [f"twice: {KEY}"]
    assert known.differences("Me", [stored(KEY), stored(OTHER)]) == [f"never sent: {OTHER}"]
    assert known.differences("You", [stored(KEY)]) == [f"of another entity: {KEY}"]
    assert ledger(key=State.REMOVED).differences("Me", [stored(KEY)]) == [f"removed, but there: {KEY}"]


def test_only_facts_that_are_certainly_stored_are_picked() -> None:
    assert ledger(key=State.STORED, other=State.UNKNOWN).pick(Random(0)) == KEY
    assert ledger(key=State.REMOVED).pick(Random(0)) is None


def test_results_count_errors_and_times() -> None:
    results = Results()
    for status, seconds in ((200, 1.0), (200, 2.0), (503, 3.0), ("no response", 0.0)):
        results.response("predict", status, seconds)
    assert results.share_of_errors() == 0.5
    assert (results.percentile(0.5), results.percentile(1.0)) == (2.0, 3.0)
    for number in range(MAX_PROBLEMS + 5):
        results.problem(str(number))
    assert len(results.problems) == MAX_PROBLEMS
