"""Roles of columns by their names."""

from __future__ import annotations

import pytest

from fitcarl.data.io.roles import named_columns

HEADERS = [
    ("SQLDATE,Actor1Name,Actor2Name,EventCode", (0,), "Actor1Name EventCode Actor2Name SQLDATE"),
    ("GLOBALEVENTID,SQLDATE,Year,Actor1Code,Actor1Name,Actor2Code,Actor2Name,EventCode,EventRootCode", (1, 2),
     "Actor1Name EventCode Actor2Name SQLDATE"),
    ("event_date,year,event_type,sub_event_type,actor1,assoc_actor_1,actor2,assoc_actor_2,interaction,source,timestamp",
     (0, 1, 10), "actor1 event_type actor2 event_date"),
    ("Event ID,Event Date,Source Name,Source Country,Event Text,CAMEO Code,Target Name,Target Country", (1,),
     "Source_Name Event_Text Target_Name Event_Date"),
    ("timestamp,head,tail,relation_type", (0,), "head relation_type tail timestamp"),
    ("account_from,account_to,type,amount,booked", (4,), "account_from type account_to booked"),
    ("step,type,amount,nameOrig,newbalanceOrig,nameDest,newbalanceDest", (), "nameOrig type nameDest step"),
    ("sender,recipient,subject,date", (3,), "sender - recipient date"),
    ("home_team,away_team,home_score,away_score,tournament,date", (5,), "home_team - away_team date"),
    ("srcip,dstip,proto,ts", (3,), "srcip - dstip ts"),
    ("h,r,t,ts", (3,), "h r t ts"),
    ("s,r,o,t", (), "s r o t"),
    ("player,club,start,end", (2, 3), "player - club start end"),
    ("person,club,from,to", (2, 3), "- - - from to"),
    ("source,target,relation,valid_from,valid_to", (3, 4), "source relation target valid_from valid_to"),
    ("wer,was,wen,wann", (3,), "- - - -"),
    ("date,time,subject,relation,object", (0, 1), "subject relation object -"),
    ("source,target,actor1,actor2,type,date", (5,), "- type - date"),
    ("Subject,subject,relation,object,time", (), "- relation - time"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "times", "roles"), HEADERS)
def test_roles_follow_from_names(header: str, times: tuple[int, ...], roles: str) -> None:
    names = header.split(",")
    found = {role: names[position] for role, position in named_columns(names, times).items()}
    wanted = zip(("subject", "relation", "object", "time", "end"), roles.split(), strict=False)
    assert found == {role: name if name in names else name.replace("_", " ") for role, name in wanted if name != "-"}
