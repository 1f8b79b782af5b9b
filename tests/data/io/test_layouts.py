"""Files of public sources, made here in their layouts."""

from __future__ import annotations

from pathlib import Path

import pytest

from fitcarl.data.io.reader import read_facts
from fitcarl.errors import InputError
from tests.data.files import names, read


def gdelt_row(number: int, date: str, first: str, second: str, code: str, width: int) -> str:
    row = [""] * width
    row[0], row[1], row[2], row[3] = str(number), date, date[:6], date[:4]
    row[5], row[6], row[15], row[16] = first[:3], first, second[:3], second
    row[26], row[27], row[28] = code, code[:3], code[:2]
    return "\t".join(row) + "\n"


@pytest.mark.parametrize("width", [57, 58, 61])
@pytest.mark.parametrize("options", [{}, {"layout": "gdelt-export"}])
def test_gdelt_export_is_recognized_by_its_width(tmp_path: Path, width: int, options: dict[str, str]) -> None:
    rows = [
        ("20140103", "KENYA", "POLICE", "042"),
        ("20140104", "KENYA", "", "010"),
        ("20140105", "POLICE", "KENYA", "190"),
    ]
    content = "".join(gdelt_row(i, *row, width) for i, row in enumerate(rows))
    facts = read(tmp_path, "20140105.export.CSV", content, **options)
    assert names(facts) == [("KENYA", "042", "POLICE", "2014-01-03"), ("POLICE", "190", "KENYA", "2014-01-05")]
    assert facts.mapping == {"subject": "column 7", "relation": "column 27", "object": "column 17", "time": "column 2"}
    assert facts.reading.incomplete == 1


def test_acled_export_uses_its_event_date(tmp_path: Path) -> None:
    header = "event_date,year,event_type,sub_event_type,actor1,assoc_actor_1,actor2,source,timestamp"
    rows = (
        "13 May 2014,2014,Protests,Peaceful,Protesters (Kenya),,Police (Kenya),Nation,1625000000\n"
        "14 May 2014,2014,Riots,Mob violence,Rioters (Kenya),,,Nation,1625000000\n"
    )
    facts = read(tmp_path, "acled.csv", f"{header}\n{rows}")
    assert names(facts) == [("Protesters (Kenya)", "Protests", "Police (Kenya)", "2014-05-13")]
    assert facts.reading.incomplete == 1


def test_icews_export_is_read_by_its_names(tmp_path: Path) -> None:
    header = "Event ID\tEvent Date\tSource Name\tSource Sectors\tEvent Text\tCAMEO Code\tTarget Name\tTarget Country"
    row = "207\t2014-01-01\tExtremist (Russia)\tRadicals\tUse conventional military force\t190\tRussia\tRussia"
    assert names(read(tmp_path, "events.tab", f"{header}\n{row}\n")) == [
        ("Extremist (Russia)", "Use conventional military force", "Russia", "2014-01-01")
    ]


def test_edge_list_of_a_temporal_graph_benchmark_is_read(tmp_path: Path) -> None:
    content = "timestamp,head,tail,relation_type\n1388534400,10,20,3\n1388620800,20,30,4\n"
    facts = read(tmp_path, "tkgl-small_edgelist.csv", content)
    assert names(facts) == [("10", "3", "20", "2014-01-01"), ("20", "4", "30", "2014-01-02")]


def test_snap_edges_have_one_relation(tmp_path: Path) -> None:
    facts = read(tmp_path, "CollegeMsg.txt", "1 2 1082040961\n3 4 1082155839\n", layout="snap")
    assert facts.vocabulary.relations == ("interacts with",)
    assert facts.calendar.granularity == "hour"
    facts = read(tmp_path, "CollegeMsg.txt", "1 2 1082040961\n", layout="snap", relation="writes to")
    assert facts.vocabulary.relations == ("writes to",)


def test_unknown_layout_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"unknown layout; found 'gdlt'; expected one of gdelt, .*did you mean 'gdelt'"
    ):
        read(tmp_path, "f.csv", "a,b,c,d\n", layout="gdlt")


def test_folder_of_id_files_is_read_with_names(tmp_path: Path) -> None:
    for part, row in (("train", "0\t0\t1\t0\t0"), ("valid", "1\t0\t2\t24\t0"), ("test", "2\t1\t0\t48\t0")):
        (tmp_path / f"{part}.txt").write_text(f"{row}\n")
    (tmp_path / "entity2id.txt").write_text("Ann\t0\nBob Lee\t1\nCyd\t2\n")
    (tmp_path / "relation2id.txt").write_text("visits\t0\npraises\t1\n")
    facts = read_facts(tmp_path)
    assert names(facts) == [
        ("Ann", "visits", "Bob Lee", "0"),
        ("Bob Lee", "visits", "Cyd", "24"),
        ("Cyd", "praises", "Ann", "48"),
    ]
    assert facts.calendar.step == 24


def test_folder_with_intervals_and_unknown_starts_is_read(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("0\t0\t1\t1952-##-##\t1960-##-##\n1\t0\t2\t####-##-##\t1970-##-##\n")
    (tmp_path / "valid.txt").write_text("2\t0\t1\t1961-##-##\t####-##-##\n")
    facts = read_facts(tmp_path, intervals="start")
    assert [row[3] for row in names(facts)] == ["1952", "1961"]
    assert facts.reading.incomplete == 1


def test_row_of_an_error_in_a_folder_is_that_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("a\tr\tb\t2014-01-01\na\tr\tc\t2014-01-02\n")
    (tmp_path / "test.txt").write_text("a\tr\tb\t2014-01-03\na\tr\tb\tsoon\n")
    with pytest.raises(InputError, match="row 2, field time: not a time; found 'soon'"):
        read_facts(tmp_path)
