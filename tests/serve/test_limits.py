from __future__ import annotations

import pytest

from fitcarl.errors import InputError
from fitcarl.serve.limits import Limits


def test_assignments_change_single_limits() -> None:
    limits = Limits.from_assignments(["top=7", "seconds=0.5"])
    assert (limits.top, limits.seconds) == (7, 0.5)
    assert limits.to_json() == {**Limits().to_json(), "top": 7, "seconds": 0.5}


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("tpo=7", "unknown limit; found 'tpo'.*did you mean 'top'"),
        ("top=many", "field top: not a number; found 'many'"),
        ("top", "field top: not a number"),
        ("top=0", "field top: invalid limit"),
        ("seconds=nan", "field seconds: invalid limit"),
        ("seconds=inf", "field seconds: invalid limit"),
    ],
)
def test_invalid_limit_is_reported(setting: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Limits.from_assignments([setting])
