"""The event log: no duplicates, no events outside the time span, no exceeded quotas."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fitcarl.synthetic.events import EventLog, Events


def test_event_log_rejects_duplicates_and_events_outside_the_span() -> None:
    log, rng = EventLog(actors=5, days=10), np.random.default_rng(0)
    first = log.add(Events.of([0, 0, 1, 2], [3, 3, 3, 3], [1, 1, 1, 3], [4, 4, 4, 10]), rng)
    assert first.tolist() == [0, -1, -1, -1], (
        "the second is the first again, the third a self-loop, the fourth too late"
    )
    second = log.add(Events.of([0, 1], [3, 3], [1, 0], [4, 4]), rng)
    assert second.tolist() == [-1, 1]
    assert log.events.subject.tolist() == [0, 1]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 9)), max_size=40), st.integers(0, 5))
def test_event_log_respects_quotas(rows: list[tuple[int, int, int]], quota: int) -> None:
    log, rng = EventLog(actors=4, days=10), np.random.default_rng(0)
    log.quota[3] = quota
    free = len({row for row in rows if row[0] != row[1] and 3 not in row[:2]})
    requested = len({row for row in rows if row[0] != row[1] and 3 in row[:2]})
    for part in (rows[::2], rows[1::2]):
        subject, object_, time = np.array(part, dtype=np.int32).reshape(-1, 3).T
        log.add(Events.of(subject, 0, object_, time), rng)
    events = log.events
    limited = (events.subject == 3) | (events.object == 3)
    assert np.sum(limited) == min(quota, requested)
    assert np.sum(~limited) == free
    assert log.quota[3] == quota - np.sum(limited)
