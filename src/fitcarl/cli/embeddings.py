"""``fitcarl embeddings`` and ``fitcarl similar``: vectors of the entities of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitcarl.cli import console, queries
from fitcarl.errors import InputError


def write_embeddings(
    run: queries.Run,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="Entities and vectors: .parquet, .csv, .tsv or .jsonl.")
    ],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing --out.")] = False,
) -> None:
    """Write the vectors of all entities of a run."""
    from fitcarl.core.tables import check_table_path, table_writer

    check_table_path(out, "--out")
    if out.exists() and not overwrite:
        raise InputError("exists already", file=out, expected="another --out, or --overwrite")
    import numpy as np
    import polars as pl

    from fitcarl.runs.run import Run

    loaded = Run.load(run)
    vectors = loaded.entity_vectors
    chosen = np.flatnonzero(vectors.known)
    names = pl.Series("entity", [loaded.vocabulary.entities[index] for index in chosen.tolist()], dtype=pl.String)
    rows, dimensions = np.ascontiguousarray(vectors.rows[chosen]), vectors.rows.shape[1]
    if out.suffix in (".parquet", ".jsonl"):
        kind = pl.Array(pl.Float32, dimensions) if out.suffix == ".parquet" else pl.List(pl.Float32)
        frame = pl.DataFrame([names, pl.Series("vector", rows).cast(kind)])
    else:
        frame = pl.DataFrame([names, *(pl.Series(f"x{number}", rows[:, number]) for number in range(dimensions))])
    with table_writer(out) as writer:
        writer.write(frame)
    size = f"{len(chosen):,} vectors of {dimensions} dimensions"
    console.log.info(f"{size} ({vectors.kind}) written to {out}")


def show_similar(
    run: queries.Run,
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="Name of an entity of the run.")],
    top: Annotated[int, typer.Option("--top", metavar="N", min=1, help="Maximum number of entities.")] = 10,
    json: queries.Json = False,
) -> None:
    """List the entities whose vectors are most similar to that of an entity."""
    from fitcarl.runs.run import Run

    loaded = Run.load(run)
    found = loaded.nearest(entity, top)
    if json:
        similar = [{"entity": name, "similarity": similarity} for name, similarity in found]
        console.show_json({"entity": entity, "kind": loaded.entity_vectors.kind, "similar": similar})
        return
    console.show(f"most similar to {entity} by the {loaded.entity_vectors.kind}:")
    for name, similarity in found:
        console.show(f"{similarity:7.3f}  {name}")
