"""The rules of referral and imitation on logs of a few events, with certainty instead of chance."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.synthetic import Rule
from fitcarl.synthetic.dated_events import DatedEvents
from fitcarl.synthetic.events import Events
from fitcarl.synthetic.peers import imitation
from fitcarl.synthetic.referrals import referral
from fitcarl.synthetic.verbs import NAMES, verb_id

ACTORS = 6
A, B, C, D, E, F = range(ACTORS)
Row = tuple[int, str, int, int]


def log(*rows: Row) -> Events:
    subject, relation, object_, time = zip(*rows, strict=True)
    return Events.of(subject, [verb_id(name) for name in relation], object_, time)


def acts(events: Events) -> list[tuple[int, str, int]]:
    """The events without their times."""
    rows = zip(events.subject.tolist(), events.relation.tolist(), events.object.tolist(), strict=True)
    return [(subject, NAMES[relation], object_) for subject, relation, object_ in rows]


def proposals(rule: Rule, events: Events, eager: tuple[int, ...] = tuple(range(ACTORS))) -> Events:
    """The proposals of a rule that always applies to eager actors and never to others."""
    is_eager = np.isin(np.arange(ACTORS), eager)
    propose = {Rule.REFERRAL: referral, Rule.IMITATION: imitation}[rule]
    return propose(events, 0.0, is_eager, 1.0, np.random.default_rng(0))


CHAIN: tuple[Row, ...] = ((A, "Consult", B, 1), (B, "Praise or endorse", C, 4), (C, "Consult", D, 9))


def test_referral_joins_the_ends_of_a_chain_of_three_messages() -> None:
    found = proposals(Rule.REFERRAL, log((E, "Accuse", F, 0), *CHAIN))
    assert [
        (int(s), NAMES[r], int(o)) for s, r, o in zip(found.subject, found.relation, found.object, strict=True)
    ] == [(A, "Make a visit", D)]
    assert 10 <= found.time[0] <= 15
    assert found.rule.tolist() == [Rule.REFERRAL]
    assert found.causes.tolist() == [[1, 2, 3]]


def test_appeal_that_is_passed_on_leads_to_an_agreement() -> None:
    found = proposals(Rule.REFERRAL, log(*CHAIN[:2], (C, "Appeal for aid", D, 9)))
    assert found.relation.tolist() == [verb_id("Sign formal agreement")]


@pytest.mark.parametrize(
    "rows",
    [
        CHAIN[:2],
        (*CHAIN[:2], (C, "Accuse", D, 9)),
        (*CHAIN[:2], (D, "Consult", C, 9)),
        (*CHAIN[:2], (C, "Consult", D, 4)),
        (*CHAIN[:2], (C, "Consult", D, 32)),
        (*CHAIN[:2], (C, "Consult", A, 9)),
        (*CHAIN[:2], (C, "Consult", B, 9)),
        ((A, "Consult", B, 1), (B, "Consult", A, 4), (A, "Consult", D, 9)),
    ],
    ids=["too short", "hostile", "wrong direction", "same day", "too late", "back to A", "back to B", "over A"],
)
def test_no_referral_without_a_chain_of_four_entities_within_the_window(rows: tuple[Row, ...]) -> None:
    assert len(proposals(Rule.REFERRAL, log(*rows))) == 0


PEERS: tuple[Row, ...] = ((A, "Demand", C, 5), (B, "Demand", C, 2))


def test_imitation_repeats_what_a_peer_did() -> None:
    found = proposals(Rule.IMITATION, log((E, "Accuse", F, 0), *PEERS, (B, "Provide aid", D, 8)))
    assert [
        (int(s), NAMES[r], int(o)) for s, r, o in zip(found.subject, found.relation, found.object, strict=True)
    ] == [(A, "Provide aid", D)]
    assert 9 <= found.time[0] <= 14
    assert found.rule.tolist() == [Rule.IMITATION]
    assert found.causes.tolist() == [[1, 2, 3]]


def test_earlier_of_two_peers_imitates_the_later_one_too() -> None:
    found = proposals(Rule.IMITATION, log(*PEERS, (A, "Provide aid", D, 8)))
    assert acts(found) == [(B, "Provide aid", D)]
    assert found.causes.tolist() == [[1, 0, 2]]


@pytest.mark.parametrize(
    "rows",
    [
        (PEERS[0], (B, "Accuse", C, 2), (B, "Provide aid", D, 8)),
        (PEERS[0], (C, "Demand", B, 2), (B, "Provide aid", D, 8)),
        (PEERS[0], (B, "Demand", E, 2), (B, "Provide aid", D, 8)),
        (*PEERS, (B, "Provide aid", D, 5)),
        (*PEERS, (B, "Provide aid", D, 24)),
        (*PEERS, (B, "Provide aid", A, 8)),
        (*PEERS, (B, "Provide aid", C, 8)),
        (*PEERS, (B, "Attend a gathering of", D, 8)),
    ],
    ids=[
        *("other relation", "other direction", "other contact", "before they are peers", "too late"),
        *("towards the imitator", "towards the contact", "seasonal"),
    ],
)
def test_no_imitation_without_a_peer_that_acts_towards_a_fourth_entity(rows: tuple[Row, ...]) -> None:
    assert len(proposals(Rule.IMITATION, log(*rows))) == 0


def test_chance_depends_on_the_first_sender_and_on_the_imitator() -> None:
    assert len(proposals(Rule.REFERRAL, log(*CHAIN), eager=(B, C, D))) == 0
    assert len(proposals(Rule.REFERRAL, log(*CHAIN), eager=(A,))) == 1
    peers = log(*PEERS, (B, "Provide aid", D, 8))
    assert len(proposals(Rule.IMITATION, peers, eager=(B, C, D))) == 0
    assert len(proposals(Rule.IMITATION, peers, eager=(A,))) == 1


def test_next_event_is_after_the_day_and_not_after_the_limit() -> None:
    events = log((A, "Consult", B, 3), (A, "Consult", C, 5), (A, "Consult", D, 9), (B, "Consult", A, 4))
    index = DatedEvents.of_subjects(events, np.arange(4))

    def next_row(actor: int, day: int, until: int, ahead: int) -> int:
        as_array = (np.array([value], dtype=np.int32) for value in (actor, day, until))
        return int(index.next(*as_array, ahead)[0])

    assert next_row(A, 3, 9, 1) == 1
    assert next_row(A, 2, 9, 1) == 0
    assert next_row(A, 3, 9, 2) == 2
    assert next_row(A, 3, 8, 2) == -1
    assert next_row(A, 9, 20, 1) == -1, "the next entry belongs to another actor"
    assert next_row(B, 4, 20, 1) == -1, "there is no next entry"
