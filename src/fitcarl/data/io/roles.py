"""Which column of a file is the subject, the relation, the object and the time, by the names of the columns."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, get_args

Role = Literal["subject", "relation", "object", "time", "end", "clock"]
ROLES: tuple[Role, ...] = get_args(Role)
COLUMNS: tuple[Role, ...] = ROLES[:4]
"""The four columns of a fact. ``end`` is the last time of an interval that starts at ``time``; ``clock`` is the time of
day if ``time`` is a date."""

_ALIASES: dict[Role, tuple[str, ...]] = {
    "subject": (
        "subject subj sub s head h",
        "source src from actor actor1 entity1 sender who initiator from_entity source_entity",
    ),
    "relation": (
        "relation rel r predicate pred p relationship property relation_type rel_type edge_type edge_label",
        "event_type event_text event_code interaction_type transaction_type message_type action_type verb action deed",
        "event interaction activity edge type kind category method",
    ),
    "object": (
        "object obj o tail target tgt",
        "to destination dst dest actor2 entity2 recipient receiver whom counterpart counterparty to_entity",
    ),
    "time": (
        "event_date event_time event_datetime sqldate date_of_event",
        "time t date timestamp ts datetime time_stamp date_time",
        "day when at occurred occurred_at occurred_on created created_at creation_date sent sent_at sent_on booked "
        "booking_date transaction_date value_date posted posted_at start start_date start_time begin begin_date since "
        "valid_from from_date start_year time_since_epoch unix_time unixtime unix_timestamp epoch unixts",
        "month year week quarter tick step period season yr",
    ),
    "end": (
        "end end_date end_time until valid_to valid_until to_date end_year finish finish_date stop stop_date ended",
    ),
    "clock": ("time clock hour time_of_day local_time hhmm",),
}
"""Known names of a column in tiers: a name of an earlier tier is preferred to all names of later ones."""
_TIER_OF = {
    alias.replace("_", ""): (role, tier)
    for role, tiers in _ALIASES.items()
    for tier, names in enumerate(tiers)
    for alias in names.split()
    if role != "clock"
}
_CLOCK_NAMES = tuple(_ALIASES["clock"][0].replace("_", "").split())
_PAIR_LIST = """
    subject/object head/tail source/target source/destination source/dest src/dst src/dest src/tgt
    from/to actor1/actor2 entity1/entity2 sender/recipient sender/receiver payer/payee orig/dest
    origin/destination originator/beneficiary ordering/beneficiary home/away winner/loser
    buyer/seller caller/callee caller/receiver follower/followee follower/followed exporter/importer
    lender/borrower debtor/creditor donor/recipient attacker/victim attacker/defender initiator/target
    who/whom author/recipient citing/cited employer/employee user/item user/product
    sender/to sender/recipients from/recipient from/recipients actor/target perpetrator/target attacker/target
    customer/merchant customer/product customer/shop person/company person/organization employee/company
    client/server player/club player/team reporter/partner side_a/side_b 1/2 a/b
"""
_PAIRS = tuple(tuple(pair.split("/")) for pair in _PAIR_LIST.split())
"""Words that name the two ends of a fact, in the names of two columns that are equal but for them."""
_LETTERS = ("h", "t"), ("u", "v"), ("i", "j"), ("s", "o")
"""Names of one letter that do so."""
_ENTITY_WORDS = (
    *("", "name", "entity", "id", "node", "actor", "account", "user", "team", "person", "player", "party", "company"),
    *("organization", "organisation", "org", "country", "iso3", "iso", "address", "addr", "ip", "station", "bank"),
    *("client", "customer", "member", "agent", "page", "title", "email", "number", "phone", "code", "airport"),
)
"""What may stand beside these words in the name of an entity, in order of preference."""
_NUMBERED = ("", "address", "addr", "title", "code", "number", "phone", "email")
"""Words whose columns may be numbered without naming two entities: address1 and address2."""
_MISLEADING = ("source", "subject")
"""Names of ends that are often something else: the source of a report, the subject of a message."""
_SHORT = 2


def words_of(name: str) -> list[str]:
    """The words of a column name in lower case: ``Actor1Name`` → actor1, name."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name.strip())
    return [word for word in re.split(r"[^0-9a-zA-Z]+", parted.lower()) if word]


def role_of(name: str) -> tuple[Role, int] | None:
    """The role that a column name stands for and the tier of the name; None if it is unknown."""
    words = words_of(name)
    last = words[-1] if len(words) > 1 else ""
    found = _TIER_OF.get("".join(words[:-1] if last in ("id", "name") else words))
    if found is None and last == "type":
        return "relation", 3
    if found is not None and found[0] == "relation" and found[1] and last == "id":
        return None  # an event_id numbers the rows
    return found


def named_columns(
    names: Sequence[str],
    times: Collection[int] = (),
    measures: Collection[int] = (),
    texts: Collection[int] = (),
) -> dict[Role, int]:
    """Positions of the columns whose role follows from their names alone.

    The two ends of a fact are found together where the names form a known pair (``home_team`` and ``away_team``). A
    role is left out if no name, or more than one of the same tier, stands for it.

    Args:
        names: Names of all columns.
        times: Positions of columns that contain times, which are no entities or relations.
        measures: Positions of columns that contain decimal numbers, which are none either.
        texts: Positions of columns that contain text: a pair of them may have any words in common.
    """
    found: dict[Role, int] = {}
    others = {*times, *measures}
    entities = [position for position in range(len(names)) if position not in others]
    pairs = _pairs_of_ends(names, entities, texts)
    unclear = len(pairs) > 1
    if len(pairs) == 1:
        found["subject"], found["object"] = pairs[0]
        unclear = _other_ends(names, entities, pairs[0])
    if unclear:
        found.clear()
    for role in ROLES[:5]:
        if role in ("subject", "object") and unclear:
            continue
        allowed = set(range(len(names))) if role in ("time", "end") else set(entities)
        if role not in found and (position := _best(names, role, allowed - set(found.values()))) is not None:
            found[role] = position
    period = _pair_of_times(names, times)
    if period is not None:
        found["time"], found["end"] = period
    if "end" in found and ("time" not in found or found["end"] not in times):
        del found["end"]
    return found


def _other_ends(names: Sequence[str], entities: Sequence[int], pair: tuple[int, int]) -> bool:
    """Whether further columns are called like a subject or an object, so that the pair may be something else."""
    used = {"".join(words_of(names[position])) for position in pair}
    for position in entities:
        known = role_of(names[position])
        if position in pair or known is None or known[0] not in ("subject", "object"):
            continue
        words = words_of(names[position])
        if "".join(words) in _MISLEADING and "".join(words) not in used:
            continue
        if words[0] in used or any(word.startswith(words[0]) for word in used):
            continue  # another form of the same end, such as its id
        return True
    return False


def clock_columns(names: Sequence[str]) -> list[int]:
    """Positions of columns that are called like a time of day."""
    return [position for position, name in enumerate(names) if "".join(words_of(name)) in _CLOCK_NAMES]


def _best(names: Sequence[str], role: Role, allowed: Collection[int]) -> int | None:
    """The only column of the first tier that has any; None if there is none, or more than one."""
    tiers: dict[int, list[int]] = {}
    for position in allowed:
        known = role_of(names[position])
        if known is not None and known[0] == role:
            tiers.setdefault(known[1], []).append(position)
    best = tiers[min(tiers)] if tiers else []
    return best[0] if len(best) == 1 else None


def _pairs_of_ends(names: Sequence[str], allowed: Sequence[int], texts: Collection[int]) -> list[tuple[int, int]]:
    """Positions of subject and object by the best pairs of names; more than one if they are equally good."""
    words = {position: "_".join(words_of(names[position])) for position in allowed}
    positions, text_columns = _positions_of(words), set(texts)
    found: dict[tuple[int, int], int] = {}
    for first in allowed:
        partners = ((second, rest) for other, rest in _partners(words[first]).items() for second in positions[other])
        for second, rest in sorted(partners):
            if first == second:
                continue
            if rest in _ENTITY_WORDS:
                found[first, second] = _ENTITY_WORDS.index(rest)
            elif first in text_columns and second in text_columns:
                found[first, second] = len(_ENTITY_WORDS)
    best = min(found.values(), default=0)
    return [pair for pair, order in found.items() if order == best]


def _positions_of(words: Mapping[int, str]) -> defaultdict[str, list[int]]:
    """Positions by name; pairs are looked up, because comparing all with all takes too long for many columns."""
    positions: defaultdict[str, list[int]] = defaultdict(list)
    for position, text in words.items():
        positions[text].append(position)
    return positions


def _partners(whole: str) -> dict[str, str]:
    """Names that differ from a name in a known pair of words only, and what both have in common."""
    found: dict[str, str | None] = {other: "" for one, other in _LETTERS if one == whole}
    for one, two in _PAIRS:
        short = len(one) < _SHORT
        pattern = (
            rf"(?<=[a-z]){one}(?![a-z0-9])|(?<=_){one}(?![a-z0-9])" if short else rf"(?<![a-z]){one}(?![0-9])|{one}$"
        )
        for match in re.finditer(pattern, whole):
            rest = (whole[: match.start()] + whole[match.end() :]).strip("_")
            other = whole[: match.start()] + two + whole[match.end() :]
            found.setdefault(other, None if short and rest in _NUMBERED else rest)
    return {other: rest for other, rest in found.items() if rest is not None}


def _pair_of_times(names: Sequence[str], times: Collection[int]) -> tuple[int, int] | None:
    """Positions of start and end if the names of two columns with times say so."""
    starts = ("start", "begin", "from", "since", "first", "valid_from", "beginning")
    ends = ("end", "end", "to", "until", "last", "valid_to", "end")
    words = {position: "_".join(words_of(names[position])) for position in times}
    positions = _positions_of(words)
    found: set[tuple[int, int]] = set()
    for first, one in words.items():
        pairs = [(a, b) for a, b in zip(starts, ends, strict=True) if re.search(rf"(^|_){a}", one)]
        found |= {(first, second) for a, b in pairs for second in positions[re.sub(a, b, one, count=1)]}
    return found.pop() if len(found) == 1 else None
