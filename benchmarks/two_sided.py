"""Writes a two-sided file of events: players join clubs. All facts link a player to a club, none links two players.

    python benchmarks/two_sided.py transfers.csv
    fitcarl train transfers.csv --setting forecast --shots 3 --out runs/transfers
    fitcarl benchmark explain --run runs/transfers

Players of the same style move between the same clubs, so that the next club of a new player is best explained by peers.
"""

from __future__ import annotations

import csv
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np

_PLAYERS, _CLUBS, _STYLES = 900, 160, 20
_FIRST, _DAYS = date(2015, 1, 1), 3000
_RELATIONS = ("joins", "is loaned to", "has a trial with")


def transfers(seed: int = 0) -> list[tuple[str, str, str, str]]:
    """Facts (player, relation, club, date), sorted by date."""
    rng = np.random.default_rng(seed)
    favourites = rng.dirichlet(np.full(_CLUBS, 0.05), size=_STYLES)
    rows = []
    for player in range(_PLAYERS):
        style, moves = rng.integers(_STYLES), int(rng.integers(8, 20))
        begin = rng.integers(0, _DAYS - 700)
        days = np.sort(begin + rng.integers(0, 700, moves))
        clubs = rng.choice(_CLUBS, size=moves, p=favourites[style])
        for day, club in zip(days.tolist(), clubs.tolist(), strict=True):
            relation = _RELATIONS[int(rng.choice(3, p=(0.5, 0.3, 0.2)))]
            when = (_FIRST + timedelta(days=int(day))).isoformat()
            rows.append((f"Player {player:03}", relation, f"Club {club:03}", when))
    return sorted(set(rows), key=lambda row: (row[3], row))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rows = transfers()
    with Path(sys.argv[1]).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("subject", "relation", "object", "time"))
        writer.writerows(rows)
    print(f"{len(rows):,} facts of {_PLAYERS} players and {_CLUBS} clubs in {sys.argv[1]}")


if __name__ == "__main__":
    main()
