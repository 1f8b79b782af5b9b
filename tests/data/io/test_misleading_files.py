"""Files whose columns are easily taken for each other: read rightly, or rejected; never read wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.data.calendar import Calendar
from fitcarl.data.io.further_facts import read_further_columns
from fitcarl.data.io.read_options import ReadOptions
from fitcarl.data.io.reader import read_facts
from fitcarl.errors import InputError

PEOPLE = ("Ann", "Bob", "Cyd", "Dan", "Eve", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Leo", "Mia")
VALUES = {
    "day": lambda i: f"2014-03-{i % 28 + 1:02d}",
    "person": lambda i: PEOPLE[i * 7 % 13],
    "other": lambda i: PEOPLE[i * 5 % 13],
    "kind": lambda i: ("pays", "calls", "meets")[i % 3],
    "shop": lambda i: f"shop{i % 9}",
    "money": lambda i: f"{i * 37 % 1000 / 100:.2f}",
    "count": lambda i: str(i * 37 % 50),
    "flag": lambda i: str(i % 2),
    "text": lambda i: f"Hello {i}",
    "agency": lambda i: ("Reuters", "AP")[i % 2],
    "number": lambda i: str(1000 + i),
    "year": lambda i: str(2000 + i % 12),
    "small": lambda i: str(i % 12 + 1),
    "clock": lambda i: f"{i % 24:02d}:30",
    "short": lambda i: f"{i % 28 + 1:02d}.03.14",
    "account": lambda i: str(1_000_000_000 + i * 7 % 13),
    "born": lambda i: f"19{50 + i % 40}-05-13",
    "season": lambda i: f"{2001 + i % 6}-{2 + i % 6:02d}",
    "epoch": lambda i: str(1_388_534_400 + 86_400 * i),
    "later": lambda i: ("present", str(2015 + i % 3))[i % 2],
}


def file(folder: Path, header: str, kinds: str, rows: int = 60, name: str = "f.csv") -> Path:
    lines = [header] if header else []
    lines += [",".join(VALUES[kind](i) for kind in kinds.split()) for i in range(rows)]
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "kinds", "columns"),
    [
        ("date,account,counterparty,type,debit,credit", "day person other kind money money", None),
        ("date,team,opponent,home_score,away_score,type", "day person other count count kind", None),
        ("host,peer,src_bytes,dst_bytes,type,time", "person other count count kind day", None),
        (
            "customer,address1,address2,product,type,date",
            "person text text shop kind day",
            "customer type product date",
        ),
        ("customer,shop,group_a,group_b,type,date", "person shop flag flag kind day", "customer type shop date"),
        ("sender,to,subject,type,date", "person other text kind day", "sender type to date"),
        ("date,perpetrator,target,type,source", "day person other kind agency", None),
        ("ip,agent,method,target,timestamp", "person text kind other day", None),
        ("Sender,Receiver2,Type,Source,Target,Date", "person other kind agency agency day", None),
        ("event_id,source,target,date", "number person other day", None),
        ("buyer,seller,property,price,date", "person other number money day", None),
        ("year,month,day,origin,destination,type", "year small small person other kind", None),
        ("year,quarter,origin,destination,type", "year small person other kind", None),
        ("source,target,type,month", "person other kind small", None),
        ("date,player,team,event_type,event_time", "day person shop kind count", "player event_type team date"),
        ("source,type,target,time,created_at", "person kind other count day", "source type target created_at"),
        ("source,type,target,sent,year", "person kind other count year", "source type target year"),
        ("sender,receiver,type,birth,zeit", "person other kind born short", None),
        ("sender,receiver,type,reference,zeit", "person other kind account short", None),
        ("from_account,to_account,type,date", "account account kind day", "from_account type to_account date"),
        ("date,time,caller,callee,type", "day clock person other kind", "caller type callee date time"),
        ("player,club,type,from,to", "person shop kind year later", "player type club from to"),
        ("0,1,2,3", "person kind other day", None),
        ("", "person other kind day", None),
        ("", "kind person other day", None),
        ("", "person shop kind day", None),
        ("", "person kind other count number", None),
        ("", "person kind other day", "column_1 column_2 column_3 column_4"),
    ],
)
def test_columns_are_right_or_the_file_is_rejected(
    tmp_path: Path, header: str, kinds: str, columns: str | None
) -> None:
    path = file(tmp_path, header, kinds)
    if columns is None:
        with pytest.raises(InputError) as caught:
            read_facts(path)
        assert "\n" not in str(caught.value)
    else:
        mapping = read_facts(path).mapping or {}
        assert [name.replace(" ", "_") for name in mapping.values()] == columns.split()


def test_time_of_day_in_a_column_of_its_own_is_used(tmp_path: Path) -> None:
    facts = read_facts(file(tmp_path, "date,time,caller,callee,type", "day clock person other kind"))
    assert facts.calendar.granularity == "hour"
    assert facts.calendar.labels[0] == "2014-03-01T00"
    assert (facts.mapping or {})["clock"] == "time"


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        (["1.40E+12", "1.41E+12"], "not a time"),
        ([*(str(1_388_534_400 + i) for i in range(40)), "0"], "a time out of range; found '0'"),
        (["140301", "140302"], "integers in a column called date"),
        (["41699", "41700"], "integers in a column called date"),
        (["13/03/2014", "03/27/2014"], "dates in two orders; found '03/27/2014'; expected the day first"),
        (["0000-00-00", "2014-03-01"], "no such date|an empty|not a time"),
    ],
)
def test_numbers_that_are_no_dates_are_rejected(tmp_path: Path, values: list[str], complaint: str) -> None:
    rows = "".join(f"a{i % 5},r,b{i % 7},{value}\n" for i, value in enumerate(values))
    (tmp_path / "f.csv").write_text(f"subject,relation,object,date\n{rows}")
    with pytest.raises(InputError, match=complaint):
        read_facts(tmp_path / "f.csv")


def test_ids_are_used_where_names_are_shared(tmp_path: Path) -> None:
    header = "sender_id,sender_name,type,receiver_id,receiver_name,date"
    for name, column in (("person", "sender_name"), ("agency", "sender_id")):
        kinds = f"person {name} kind other {name.replace('person', 'other')} day"
        assert (read_facts(file(tmp_path, header, kinds)).mapping or {})["subject"] == column


def test_seasons_are_years(tmp_path: Path) -> None:
    facts = read_facts(file(tmp_path, "player,club,type,season", "person shop kind season"))
    assert (facts.calendar.granularity, facts.calendar.labels[0]) == ("year", "2001")


def test_missing_values_are_no_names(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("subject,relation,object,date\na,r,NULL,2014-03-01\na,r,b,2014-03-02\n")
    with pytest.raises(InputError, match=r"row 2, field object: a missing value; found 'NULL'; .*--skip-incomplete"):
        read_facts(tmp_path / "f.csv")
    assert read_facts(tmp_path / "f.csv", skip_incomplete=True).reading.incomplete == 1


def test_spaces_after_commas_belong_to_no_name(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text(
        "subject, relation, object, date\nAnn, r, Bob, 2014-03-01\nBob, r, Ann, 2014-03-02\n"
    )
    assert read_facts(tmp_path / "f.csv").vocabulary.entities == ("Ann", "Bob")
    (tmp_path / "g.csv").write_text('"subject", "relation", "object", "date"\n"Lee, Ann", "r", "Bob", "2014-03-01"\n')
    assert read_facts(tmp_path / "g.csv").vocabulary.entities == ("Lee, Ann", "Bob")


def test_decimal_commas_of_a_file_without_header_do_not_separate(tmp_path: Path) -> None:
    rows = "".join(
        f"{VALUES['person'](i)};card;{VALUES['other'](i)};{i % 28 + 1:02d}.03.2014;1,5;2,5;3,0\n" for i in range(40)
    )
    (tmp_path / "f.csv").write_text(rows)
    facts = read_facts(tmp_path / "f.csv")
    assert "Ann" in facts.vocabulary.entities
    assert facts.calendar.labels[0] == "2014-03-01"


def test_old_line_ends_and_quoted_fields_between_blanks_are_read(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(b"subject,relation,object,date\rAnn,r,Bob,2014-03-01\rBob,r,Ann,2014-03-02\r")
    assert len(read_facts(tmp_path / "f.csv").quadruples) == 2
    (tmp_path / "g.txt").write_text('"Ann Lee" "meets" "Bob" 2014-03-01\n"Bob" "meets" "Ann Lee" 2014-03-02\n')
    assert read_facts(tmp_path / "g.txt").vocabulary.entities == ("Ann Lee", "Bob")


@pytest.mark.parametrize("header", ["subject,relation,object,time\n", ""])
def test_many_relations_of_one_new_entity_are_read(tmp_path: Path, header: str) -> None:
    rows = "".join(f"New,r{i % 20},{VALUES['shop'](i)},{VALUES['day'](i)}\n" for i in range(28))
    (tmp_path / "new.csv").write_text(header + rows)
    calendar = Calendar.of_granules("day", [16_100, 16_200])
    assert len(read_further_columns(tmp_path / "new.csv", ReadOptions(), calendar).values[0]) == 28
