"""A file of generated facts, by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fitcarl.core.files import replacing
from fitcarl.synthetic import generate_world

_ROW_GROUP = 250_000


def write_world(facts: int, file: Path) -> int:
    """Writes the facts of a demo world as Parquet, in row groups; returns its number of entities.

    Args:
        facts: The number of facts.
        file: The file.
    """
    import polars as pl

    world = generate_world(facts).facts
    names = {"subject": world.vocabulary.entities, "relation": world.vocabulary.relations}
    names["object"] = world.vocabulary.entities
    columns = {name: pl.Series(list(texts)).gather(getattr(world.quadruples, name)) for name, texts in names.items()}
    row = np.searchsorted(world.calendar.ticks, world.quadruples.time)
    columns["time"] = pl.Series(list(world.calendar.labels)).gather(row)
    with replacing(file) as sibling:
        pl.DataFrame(columns).write_parquet(sibling, row_group_size=_ROW_GROUP)
    return len(world.vocabulary.entities)
