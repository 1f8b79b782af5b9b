from __future__ import annotations

import pytest

from fitcarl.errors import InputError
from fitcarl.serve.limits import Limits


def test_limits_are_set_by_name_and_the_others_stay() -> None:
    limits = Limits.of(["top=7", "seconds=0.5"])
    assert (limits.top, limits.seconds) == (7, 0.5)
    assert limits.to_json() == {**Limits().to_json(), "top": 7, "seconds": 0.5}


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("tpo=7", "no such limit; found 'tpo'.*did you mean 'top'"),
        ("top=many", "field top: not a number; found 'many'"),
        ("top", "field top: not a number"),
        ("top=0", "field top: not a limit"),
        ("seconds=nan", "field seconds: not a limit"),
        ("seconds=inf", "field seconds: not a limit"),
    ],
)
def test_what_is_no_limit_is_one_line(setting: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        Limits.of([setting])
