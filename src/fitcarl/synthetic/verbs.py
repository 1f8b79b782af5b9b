"""Relations of the demo world, their replies and escalations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FRIENDLY, NEUTRAL, HOSTILE = 1, 0, -1


@dataclass(frozen=True)
class Verb:
    """A relation of the demo world. ``reply`` and ``escalation`` are names of other verbs."""

    name: str
    tone: int
    """FRIENDLY, NEUTRAL or HOSTILE; used by the rules."""
    reply: str | None = None
    """The relation of the object's reply to the subject."""
    twin: bool = False
    """The reply is the other side of the same event and has the same day."""
    escalation: str | None = None
    """The next stronger relation from the same subject to the same object."""


VERBS: tuple[Verb, ...] = (
    Verb("Accuse", HOSTILE, reply="Reject", escalation="Threaten with sanctions"),
    Verb("Appeal for aid", FRIENDLY, reply="Provide aid", escalation="Make a visit"),
    Verb("Arrest or detain", HOSTILE, reply="Demonstrate or rally", escalation="Use armed force"),
    Verb("Attend a gathering of", NEUTRAL),
    Verb("Consult", FRIENDLY, reply="Consult", twin=True, escalation="Sign formal agreement"),
    Verb("Convene a gathering", NEUTRAL),
    Verb("Cooperate economically", FRIENDLY, reply="Cooperate economically", escalation="Provide aid"),
    Verb("Cooperate militarily", FRIENDLY, reply="Share intelligence or information", escalation="Form an alliance"),
    Verb("Criticize or denounce", HOSTILE, reply="Criticize or denounce", escalation="Accuse"),
    Verb("Demand", HOSTILE, reply="Reject", escalation="Threaten with force"),
    Verb("Demonstrate or rally", HOSTILE, reply="Arrest or detain", escalation="Demand"),
    Verb("Engage in mediation", NEUTRAL, reply="Consult", escalation="Host a visit"),
    Verb("Express intent to cooperate", FRIENDLY, reply="Praise or endorse", escalation="Sign formal agreement"),
    Verb("Express intent to meet or negotiate", FRIENDLY, reply="Host a visit", escalation="Consult"),
    Verb("Form an alliance", FRIENDLY, reply="Praise or endorse", escalation="Cooperate militarily"),
    Verb("Hold talks at a gathering", NEUTRAL, escalation="Express intent to cooperate"),
    Verb("Host a visit", FRIENDLY, reply="Make a visit", twin=True, escalation="Sign formal agreement"),
    Verb("Impose sanctions", HOSTILE, reply="Impose sanctions", escalation="Reduce relations"),
    Verb("Make a statement", NEUTRAL),
    Verb("Make a visit", FRIENDLY, reply="Host a visit", twin=True, escalation="Sign formal agreement"),
    Verb("Offer to mediate", NEUTRAL, reply="Express intent to meet or negotiate", escalation="Engage in mediation"),
    Verb("Praise or endorse", FRIENDLY, reply="Express intent to cooperate", escalation="Cooperate economically"),
    Verb("Provide aid", FRIENDLY, reply="Praise or endorse", escalation="Sign formal agreement"),
    Verb("Reduce relations", HOSTILE, reply="Reduce relations", escalation="Impose sanctions"),
    Verb("Reject", HOSTILE, reply="Criticize or denounce", escalation="Reduce relations"),
    Verb("Share intelligence or information", FRIENDLY, reply="Consult", escalation="Cooperate militarily"),
    Verb("Sign formal agreement", FRIENDLY, reply="Cooperate economically", escalation="Cooperate economically"),
    Verb("Threaten with force", HOSTILE, reply="Threaten with force", escalation="Use armed force"),
    Verb("Threaten with sanctions", HOSTILE, reply="Accuse", escalation="Impose sanctions"),
    Verb("Use armed force", HOSTILE, reply="Use armed force", escalation="Use armed force"),
)

NAMES: tuple[str, ...] = tuple(verb.name for verb in VERBS)
_ID = {name: number for number, name in enumerate(NAMES)}


def verb_id(name: str) -> int:
    """The relation id of a verb."""
    return _ID[name]


def _verb_ids(names: list[str | None]) -> NDArray[np.int32]:
    return np.array([-1 if name is None else _ID[name] for name in names], dtype=np.int32)


TONE: NDArray[np.int8] = np.array([verb.tone for verb in VERBS], dtype=np.int8)
"""int8 [verbs]: FRIENDLY, NEUTRAL or HOSTILE."""
REPLY: NDArray[np.int32] = _verb_ids([verb.reply for verb in VERBS])
"""int32 [verbs]: the reply, -1 for none."""
ESCALATION: NDArray[np.int32] = _verb_ids([verb.escalation for verb in VERBS])
"""int32 [verbs]: the escalation, -1 for none."""
TWIN: NDArray[np.bool_] = np.array([verb.twin for verb in VERBS])
"""bool [verbs]: the reply has the same day."""

CONVENE, ATTEND, TALK = _ID["Convene a gathering"], _ID["Attend a gathering of"], _ID["Hold talks at a gathering"]
SEASONAL: NDArray[np.bool_] = np.isin(np.arange(len(VERBS)), [CONVENE, ATTEND, TALK])
"""bool [verbs]: belongs to a yearly gathering."""

MESSAGE: NDArray[np.bool_] = np.isin(
    np.arange(len(VERBS)),
    [
        _ID["Appeal for aid"],
        _ID["Consult"],
        _ID["Express intent to cooperate"],
        _ID["Express intent to meet or negotiate"],
        _ID["Praise or endorse"],
        _ID["Share intelligence or information"],
    ],
)
"""bool [verbs]: a message to the object, which may pass it on."""

SIDES: tuple[str, ...] = ("state", "society", "business", "opposition", "armed")
"""Sides of actors; they determine which verbs an actor uses."""

_USUAL: dict[str, tuple[dict[str, int], dict[str, int]]] = {
    "state": (
        {
            "Make a visit": 3,
            "Host a visit": 3,
            "Consult": 4,
            "Express intent to cooperate": 3,
            "Express intent to meet or negotiate": 3,
            "Sign formal agreement": 2,
            "Provide aid": 2,
            "Praise or endorse": 2,
            "Cooperate militarily": 1,
            "Make a statement": 3,
        },
        {
            "Criticize or denounce": 4,
            "Accuse": 4,
            "Demand": 2,
            "Threaten with sanctions": 2,
            "Impose sanctions": 1,
            "Reduce relations": 1,
            "Arrest or detain": 3,
            "Threaten with force": 1,
        },
    ),
    "society": (
        {
            "Appeal for aid": 3,
            "Praise or endorse": 3,
            "Consult": 2,
            "Express intent to cooperate": 2,
            "Make a statement": 3,
            "Provide aid": 1,
        },
        {"Demonstrate or rally": 5, "Criticize or denounce": 4, "Demand": 3, "Accuse": 2},
    ),
    "business": (
        {
            "Sign formal agreement": 3,
            "Cooperate economically": 4,
            "Express intent to cooperate": 3,
            "Make a visit": 1,
            "Consult": 2,
            "Make a statement": 2,
        },
        {"Accuse": 3, "Demand": 3, "Reject": 2, "Criticize or denounce": 2},
    ),
    "opposition": (
        {
            "Express intent to cooperate": 3,
            "Consult": 3,
            "Express intent to meet or negotiate": 2,
            "Praise or endorse": 2,
            "Appeal for aid": 1,
            "Make a statement": 2,
        },
        {"Criticize or denounce": 4, "Accuse": 4, "Demonstrate or rally": 3, "Demand": 3, "Reject": 1},
    ),
    "armed": (
        {"Cooperate militarily": 3, "Share intelligence or information": 2, "Consult": 2, "Appeal for aid": 1},
        {"Use armed force": 4, "Threaten with force": 3, "Accuse": 2, "Demand": 1},
    ),
}


def _choices() -> NDArray[np.int32]:
    """int32 [sides, 2, 840]: usual verbs repeated in proportion to their weights; friendly, then hostile."""
    width = 840
    table = np.empty((len(SIDES), 2, width), dtype=np.int32)
    for i, side in enumerate(SIDES):
        for j, usual in enumerate(_USUAL[side]):
            weights = np.array(list(usual.values()))
            bounds = np.cumsum(weights) * width // weights.sum()
            verbs = np.array([_ID[name] for name in usual], dtype=np.int32)
            table[i, j] = verbs[np.searchsorted(bounds, np.arange(width), side="right")]
    return table


_CHOICES = _choices()


def usual_verbs(side: NDArray[np.int8], friendly: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int32]:
    """int32 [events]: a verb that an actor of this side uses towards a friend or an enemy."""
    pick = rng.integers(_CHOICES.shape[2], size=len(side))
    verbs: NDArray[np.int32] = _CHOICES[side, np.where(friendly, 0, 1), pick]
    return verbs
