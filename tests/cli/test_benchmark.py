"""``fitcarl benchmark``: options that cannot be used."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Command


@pytest.mark.parametrize("text", ["", "abc", "20000,x", "100", "-5"])
def test_wrong_sizes_are_one_line(fitcarl: Command, text: str) -> None:
    outcome = fitcarl("benchmark", "scale", f"--facts={text}")
    assert (outcome.code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    assert "--facts" in outcome.stderr
    assert "such as 20000,300000" in outcome.stderr


def test_unknown_setting_is_one_line(fitcarl: Command) -> None:
    outcome = fitcarl("benchmark", "scale", "--setting", "later")
    assert (outcome.code, outcome.stderr.count("\n")) == (2, 1)
    assert "completion or forecast" in outcome.stderr
