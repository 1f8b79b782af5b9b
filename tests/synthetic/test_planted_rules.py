"""The recorded causes of the demo world satisfy the conditions of their rules."""

from __future__ import annotations

import numpy as np
import pytest

from fitcarl.synthetic import DESCRIPTIONS, Rule, World, generate_world
from fitcarl.synthetic.verbs import FRIENDLY, HOSTILE, VERBS

VERB = {verb.name: verb for verb in VERBS}
FRIENDLY_NAMES = {verb.name for verb in VERBS if verb.tone == FRIENDLY}
HOSTILE_NAMES = {verb.name for verb in VERBS if verb.tone == HOSTILE}
MESSAGE_NAMES = {
    "Appeal for aid",
    "Consult",
    "Express intent to cooperate",
    "Express intent to meet or negotiate",
    "Praise or endorse",
    "Share intelligence or information",
}

Fact = tuple[int, str, int, int]


@pytest.fixture(scope="module")
def demo() -> World:
    return generate_world()


def effects(world: World, rule: Rule) -> list[tuple[Fact, list[Fact]]]:
    """Every fact of a rule and its causes, with relation names."""
    relations = world.facts.vocabulary.relations
    rows = [(s, relations[r], o, t) for s, r, o, t in world.facts.quadruples]
    made = np.flatnonzero(world.truth.rule == rule).tolist()
    return [(rows[i], [rows[j] for j in world.truth.causes_of(i).tolist()]) for i in made]


def test_fact_has_causes_if_and_only_if_it_has_a_rule(demo: World) -> None:
    truth = demo.truth
    assert truth.cause_offsets[0] == 0
    assert truth.cause_offsets[-1] == len(truth.causes)
    assert np.array_equal(np.diff(truth.cause_offsets) > 0, truth.rule != Rule.NONE)


def test_causes_precede_their_effect(demo: World) -> None:
    truth, time = demo.truth, demo.facts.quadruples.time
    effect = np.repeat(np.arange(len(truth)), np.diff(truth.cause_offsets))
    assert np.all(truth.causes < effect)
    twin = np.array([verb.twin for verb in VERBS])[demo.facts.quadruples.relation[truth.causes]]
    same_day = twin & (truth.rule[effect] == Rule.RECIPROCITY)
    assert np.all(time[truth.causes] + ~same_day <= time[effect])


def test_every_rule_generates_many_facts(demo: World) -> None:
    counts = demo.truth.counts()
    assert sum(counts.values()) == len(demo.facts.quadruples)
    for rule, least in {
        Rule.REPETITION: 2000,
        Rule.RECIPROCITY: 2000,
        Rule.ENEMY_OF_ENEMY: 1500,
        Rule.MEDIATION: 400,
        Rule.SEASON: 800,
        Rule.REFERRAL: 1000,
        Rule.IMITATION: 1000,
    }.items():
        assert counts[rule] >= least
    assert max(counts[Rule.REFERRAL], counts[Rule.IMITATION]) <= 0.1 * len(demo.truth)
    assert 0.3 <= counts[Rule.NONE] / len(demo.truth) <= 0.6


@pytest.mark.parametrize("size", ["tiny", "small", "default"])
def test_every_rule_generates_facts_of_established_and_of_new_entities(size: str) -> None:
    world = generate_world(size)
    facts, new = world.facts.quadruples, np.zeros(world.size.actors, np.bool_)
    new[world.truth.new_entities] = True
    is_new = new[facts.subject] | new[facts.object]
    for rule in Rule:
        assert np.sum(is_new & (world.truth.rule == rule)) >= 10
        assert np.sum(~is_new & (world.truth.rule == rule)) >= 10


def test_repetition_keeps_the_pair_and_repeats_or_escalates(demo: World) -> None:
    for (s, r, o, t), causes in effects(demo, Rule.REPETITION):
        [(s1, r1, o1, t1)] = causes
        assert (s, o) == (s1, o1)
        assert r in (r1, VERB[r1].escalation)
        assert 3 <= t - t1 <= 20


def test_reciprocity_is_a_reply_of_the_object(demo: World) -> None:
    same_day = 0
    for (s, r, o, t), causes in effects(demo, Rule.RECIPROCITY):
        [(s1, r1, o1, t1)] = causes
        assert (s, o) == (o1, s1)
        assert r == VERB[r1].reply
        assert (t == t1) if VERB[r1].twin else (1 <= t - t1 <= 7)
        same_day += t == t1
    assert same_day > 100


def test_enemies_of_one_enemy_cooperate(demo: World) -> None:
    pairs = []
    for (s, r, o, t), causes in effects(demo, Rule.ENEMY_OF_ENEMY):
        [(s1, r1, o1, t1), (s2, r2, o2, t2)] = causes
        assert r1 in HOSTILE_NAMES
        assert r2 in HOSTILE_NAMES
        assert r in FRIENDLY_NAMES
        assert o1 == o2
        assert o1 not in (s, o)
        assert {s, o} == {s1, s2}
        assert 0 <= t2 - t1 <= 14
        assert 1 <= t - t2 <= 5
        pairs.append(frozenset((s, o)))
    assert len(set(pairs)) == len(pairs), "two actors join forces once; what follows are other rules"


def test_mediators_are_friends_of_both_sides(demo: World) -> None:
    for (mediator, r, o, t), causes in effects(demo, Rule.MEDIATION):
        quarrels = [cause for cause in causes if cause[1] in HOSTILE_NAMES]
        friendships = [cause for cause in causes if cause[1] in FRIENDLY_NAMES]
        [(one, _, other, quarrel_time)] = quarrels
        assert r in ("Engage in mediation", "Offer to mediate")
        assert o in (one, other)
        assert mediator not in (one, other)
        assert {frozenset((s, x)) for s, _, x, _ in friendships} == {
            frozenset((mediator, one)),
            frozenset((mediator, other)),
        }
        assert all(0 <= quarrel_time - time <= 75 for *_, time in friendships)
        assert 1 <= t - quarrel_time <= 6


def test_message_is_passed_on_from_the_subject_to_the_object_of_a_referral(demo: World) -> None:
    for (s, r, o, t), causes in effects(demo, Rule.REFERRAL):
        [(s1, r1, o1, t1), (s2, r2, o2, t2), (s3, r3, o3, t3)] = causes
        assert {r1, r2, r3} <= MESSAGE_NAMES
        assert (s, o1, o2, o3) == (s1, s2, s3, o)
        assert len({s, o1, o2, o}) == 4
        assert r == ("Sign formal agreement" if r3 == "Appeal for aid" else "Make a visit")
        assert t1 < t2 < t3 <= t1 + 30
        assert 1 <= t - t3 <= 6


def test_imitation_repeats_the_act_of_a_peer(demo: World) -> None:
    for (s, r, o, t), causes in effects(demo, Rule.IMITATION):
        [(s3, r3, o3, t3)] = causes[2:]
        [(s1, r1, o1, t1), (s2, r2, o2, t2)] = causes[:2]
        assert (r1, o1) == (r2, o2)
        assert {s1, s2} == {s, s3}
        assert (r, o) == (r3, o3)
        assert len({s, s3, o1, o}) == 4
        assert t1 <= t2 < t3 <= t1 + 21
        assert 1 <= t - t3 <= 6


@pytest.mark.parametrize("rule", [Rule.REFERRAL, Rule.IMITATION])
def test_rules_of_four_entities_apply_once_per_pair(demo: World, rule: Rule) -> None:
    pairs = [frozenset((s, o)) for (s, _, o, _), _ in effects(demo, rule)]
    assert len(set(pairs)) == len(pairs)


def test_gatherings_recur_yearly_and_guests_talk(demo: World) -> None:
    seen = set()
    for (s, r, o, t), causes in effects(demo, Rule.SEASON):
        seen.add(r)
        if r == "Convene a gathering":
            assert causes == [(s, r, o, t - 365)]
        elif r == "Attend a gathering of":
            [(host, call, _, called)] = causes
            assert (host, call) == (o, "Convene a gathering")
            assert t - called in (10, 11)
        else:
            assert r == "Hold talks at a gathering"
            [(guest, come, host, came), (guest2, come2, host2, came2)] = causes
            assert come == come2 == "Attend a gathering of"
            assert host == host2
            assert {guest, guest2} == {s, o}
            assert t == max(came, came2) + 1
    assert len(seen) == 3


def test_every_rule_has_a_description(demo: World) -> None:
    assert set(DESCRIPTIONS) == set(Rule)
    assert demo.truth.describe(Rule.MEDIATION) == DESCRIPTIONS[Rule.MEDIATION]
    assert Rule.ENEMY_OF_ENEMY.title == "enemy of enemy"
    assert Rule.REFERRAL.title == "referral"
