"""Events whose objects are candidates, against numpy's masks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fitcarl.models.plus.encoder import candidate_events as module
from fitcarl.models.plus.encoder.candidate_events import candidate_events
from fitcarl.models.plus.event_index import EVENT_ARRAYS


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 2**32 - 1), events=st.integers(0, 200), share=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
@pytest.mark.parametrize("min_events", [7, 20_000])
def test_copies_are_those_of_a_mask(min_events: int, seed: int, events: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 30, events).astype(np.int32) for name in EVENT_ARRAYS}
    column = np.where(rng.random(30) < share, np.arange(30), -1)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(module, "_MIN_EVENTS", min_events)
        patched.setattr("fitcarl.core.parallel.thread_count", lambda: 3)
        kept = candidate_events(columns, column)
    chosen = column[columns["event_target"]] >= 0
    assert list(kept) == list(EVENT_ARRAYS)
    for name in EVENT_ARRAYS:
        np.testing.assert_array_equal(kept[name], columns[name][chosen], strict=True)
