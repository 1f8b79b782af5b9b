"""Invented names of places, people and institutions, combined from syllables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def _words(text: str, separator: str = " ") -> tuple[str, ...]:
    return tuple(text.split(separator))


_PLACE_STARTS = _words("Val Bren Tor Kest Orv Lys Dras Fen Hesk Istr Jor Kald Nev Pel Quor Rav Selm Tham Ulv Verr Yar")
_PLACE_MIDDLES = _words("a e i o u an ar el en or")
_COUNTRY_ENDS = _words("via nia dia thia mark land doria dor mere")
_TOWN_ENDS = _words("vik holm grad burg moor gate fell sund")

_GIVEN_STARTS = _words("Ta El Mo Jo Ka Li No Sa Ve Ri Da Mi Or Be Ce Fa Hu Il Lu Ne Pa Ru So Ty Ul Va")
_GIVEN_ENDS = _words("vik rael len mira dor sha nel tis ren lane dan rith vo sel ko mar")
_FAMILY_STARTS = _words("Or Tov Bel Kast Dren Mal Ves Har Lom Quin Ras Sten Tal Um Vor Wen Yel Zor Cam Fir Gor Hol Jur")
_FAMILY_MIDDLES = _words("a e i o u an en in on ar er or al el il")
_FAMILY_ENDS = _words("vani dell mov ker stra nis tova rick len do mire sund vash tell ric mas")
_COMPANY_ENDS = _words("x nex tra vane core lux mond")

_BLOC_PLACES = _words(
    "Northern|Meridian|Harbour|Inner Sea|Highland|Eastern Isles|Delta|Crescent|Long Coast|Steppe", "|"
)
_BLOC_WORDS = _words("Concord League Pact Union Compact Assembly Accord Alliance Forum Circle")

CAUSES = _words("Free River|Open Harbour|Clean Water|New Dawn|Common Land|Fair Wage|Green Valley|Safe Streets", "|")
CAUSES += _words("Quiet Sky|Civic Voice|White Lantern|Iron Bridge|Red Orchard|Blue Mountain|Silver Field", "|")
IDEAS = _words("Civic National Progressive Conservative Agrarian Liberal Workers' Unity Reform Democratic")
TRADES = _words("Energy Mining Shipping Textiles Telecom Steel Foods Rail Insurance Pharma")
PAPERS = _words("Herald Courier Observer Radio Gazette Tribune")


def country_names(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct names of countries such as Valdoria."""
    return _joined(count, (_PLACE_STARTS, _PLACE_MIDDLES, _COUNTRY_ENDS), rng)


def town_names(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct names of towns such as Kessagrad."""
    return _joined(count, (_PLACE_STARTS, _PLACE_MIDDLES, _TOWN_ENDS), rng)


def person_names(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct names of people such as Elmira Tovanis."""
    given, family = (_GIVEN_STARTS, _GIVEN_ENDS), (_FAMILY_STARTS, _FAMILY_MIDDLES, _FAMILY_ENDS)
    return _joined(count, (*given, (" ",), *family), rng)


def company_stems(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct first words of company names such as Dranis."""
    return _joined(count, (_FAMILY_STARTS, _FAMILY_MIDDLES, _COMPANY_ENDS), rng)


def bloc_names(count: int) -> list[str]:
    """Distinct names of alliances such as Northern Concord."""
    places, words = len(_BLOC_PLACES), len(_BLOC_WORDS)
    return [f"{_BLOC_PLACES[i % places]} {_BLOC_WORDS[(i + i // places) % words]}" for i in range(count)]


def _joined(count: int, parts: Sequence[Sequence[str]], rng: np.random.Generator) -> list[str]:
    """Distinct combinations of one element per part, sampled without replacement."""
    sizes = [len(part) for part in parts]
    total = int(np.prod(sizes))
    if count > total:
        raise ValueError(f"{count} names requested, but only {total} are possible")
    picks = np.unravel_index(rng.choice(total, size=count, replace=False), sizes)
    columns = [[part[i] for i in pick] for part, pick in zip(parts, picks, strict=True)]
    return ["".join(letters) for letters in zip(*columns, strict=True)]
