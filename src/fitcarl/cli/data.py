"""``fitcarl data``: list, describe, download and make datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from fitcarl.cli import console, options
from fitcarl.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def data_commands() -> typer.Typer:
    app = console.group("List, describe, download and make datasets.")
    app.command("list")(list_datasets)
    app.command("describe", epilog=console.examples(*_DESCRIBE))(describe_data)
    app.command("get")(get_dataset)
    app.command("split", epilog=console.examples(*_SPLIT))(split_file)
    app.command("index", epilog=console.examples(*_INDEX))(index_file)
    return app


_DESCRIBE = (
    "fitcarl data describe events.csv --columns home,tournament,away,date",
    "fitcarl data describe runs/mine --json",
)
_SPLIT = (
    "fitcarl data split --facts events.csv --out mine",
    "fitcarl data split --facts events.csv --chronological --cut 0.5 --out emerging",
)
_INDEX = ("fitcarl data index events.parquet --out index --memory 500",)


def list_datasets(json: Json = False) -> None:
    """List the named datasets and where they are on this machine."""
    entries = registry_entries()
    if json:
        console.show_json(entries)
        return
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        console.show(f"{entry['name']:<{width}}  {entry['title']}", f"{'':<{width}}  {_where(entry)}")


@options.with_file_options
def describe_data(
    context: typer.Context,
    data: Annotated[
        str,
        typer.Argument(
            metavar="FILE|DATA|RUN",
            help="A file of facts (TSV, CSV, …), a dataset folder, a name from 'fitcarl data list', or a run folder.",
        ),
    ],
    concepts: options.Concepts = None,
    how: options.ReadHow = options.AS_DETECTED,
    granularity: options.Granularity = "auto",
    normalise: options.Normalise = False,
    json: Json = False,
) -> None:
    """Show what facts are like: size, times, traffic, busiest names, repeats; of a dataset also its unseen entities."""
    from fitcarl.data.describe import describe
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.data.io.sources import is_facts
    from fitcarl.data.profile import profile_facts
    from fitcarl.runs.names import is_run, read_run_dataset, read_run_facts

    if not is_facts(data):
        console.reject_options(
            context,
            options.OPTIONS | options.NORMALISE,
            "applies to a file of facts only",
            f"an existing file, instead of {data}",
        )
    document: dict[str, Any]
    if is_facts(data):
        read = options.read_fact_file(Path(data).expanduser(), how, granularity, concepts, name=data)
        lines = options.reading_lines(Path(data), read)[1:]  # the profile shows the columns
        found = profile_facts(options.merge_names(read) if normalise else read)
        document = found.to_json() | {"reading": read.reading.to_json(), "warnings": list(read.warnings)}
        text = "\n".join([*lines, "", found.render()])
    elif is_run(Path(data)):
        found, dataset = profile_facts(read_run_facts(Path(data))), read_run_dataset(Path(data))
        groups = None if dataset is None else describe(dataset)
        document = (groups.to_json() if groups else {}) | found.to_json()
        text = f"{data}\n\n{found.render()}" + (f"\n\n{groups.render_split()}" if groups else "")
    else:
        description = describe(load_dataset(data))
        document, text = description.to_json(), description.render()
    if json:
        console.show_json(document)
    else:
        console.show(text)


def get_dataset(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name from 'fitcarl data list'.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Target folder. [default: the cache directory]")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FOLDER", help="Read raw files from this folder.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", metavar="URL", help="Download from a mirror with the same layout.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing dataset.")] = False,
    json: Json = False,
) -> None:
    """Download a public dataset, verify its raw files, and split it as published."""
    from fitcarl.data.describe import describe
    from fitcarl.data.io.dataset_folder import read_dataset
    from fitcarl.data.io.registry import download_dataset

    with console.progress() as on_progress:
        folder = download_dataset(
            name, out, source=source, base_url=base_url, overwrite=overwrite, on_progress=on_progress
        )
    description = describe(read_dataset(folder))
    if json:
        console.show_json({"folder": str(folder), "dataset": description.to_json()})
    else:
        console.show(description.render(), "", f"written to {folder}")


@options.with_file_options
def split_file(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Target folder.")],
    facts: Annotated[
        Path | None, typer.Option("--facts", metavar="FILE", help="A file of facts: TSV, CSV, JSONL or Parquet.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option("--data", metavar="DATA", help="All facts of a dataset, instead of --facts."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the split.")] = 42,
    chronological: Annotated[
        bool,
        typer.Option("--chronological", help="Unseen entities are those that first appear after a cut, by time."),
    ] = False,
    cut: Annotated[
        str | None,
        typer.Option(
            "--cut",
            metavar="CUT",
            help="Cut of a chronological split: a date, or a share of the facts such as 0.5; three, joined by /, "
            "are the cuts of train, valid and test. [default: chosen so that enough entities first appear after it]",
        ),
    ] = None,
    low: Annotated[
        int | None,
        typer.Option(
            "--low",
            help="Minimum number of facts of an unseen entity. [default: 10, fewer if needed; chronological: 4]",
        ),
    ] = None,
    high: Annotated[
        int | None,
        typer.Option(
            "--high",
            help="Maximum number of facts of an unseen entity. [default: 25, more if needed; chronological: 50]",
        ),
    ] = None,
    share: Annotated[
        float | None, typer.Option("--share", help="Share of these entities that become unseen. [default: 0.5]")
    ] = None,
    parts: Annotated[
        str | None,
        typer.Option("--parts", help="Shares of train, valid and test. [default: 80/10/10; chronological: 60/20/20]"),
    ] = None,
    concepts: options.Concepts = None,
    how: options.ReadHow = options.AS_DETECTED,
    granularity: options.Granularity = "auto",
    normalise: options.Normalise = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing dataset in DIR.")] = False,
    json: Json = False,
) -> None:
    """Make a dataset from your own facts: some entities become unseen, and their facts are removed from the background.

    Each row is one fact: subject, relation, object and time. With --data and another --seed, other entities become
    unseen. With --chronological they first appear after a cut, as in a live stream, and training for forecasts never
    uses a fact that is later than the first entity it is validated on.
    """
    if (facts is None) == (data is None):
        found = "neither" if facts is None else "both"
        raise InputError("exactly one source of facts is required", found=found, expected="either --facts or --data")
    from fitcarl.data.describe import describe
    from fitcarl.data.facts import Facts
    from fitcarl.data.io.dataset_folder import write_dataset
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.data.split import split_facts
    from fitcarl.data.split_advice import advise

    part_shares = None if parts is None else parse_parts(parts)
    if facts is None:
        console.reject_options(context, options.OPTIONS, "applies to a file of facts only", "--facts FILE")
        read = Facts.of(load_dataset(str(data)))
    else:
        read = options.read_fact_file(facts, how, granularity, concepts, name=str(facts))
    if normalise:
        read = options.merge_names(read)
    name = out.resolve().name
    dataset = split_facts(
        read,
        name=name,
        seed=seed,
        bounds=_bounds(low, high, chronological),
        share=share,
        parts=part_shares,
        chronological=chronological,
        cut=cut,
    )
    write_dataset(dataset, out, overwrite=overwrite)
    description = describe(dataset)
    advice = advise(read, dataset, seed=seed, parts=part_shares, chronological=chronological)
    if json:
        source = {name: getattr(read, name) for name in _IMPORT_STATISTICS}
        source |= {"mapping": read.mapping, "reading": read.reading.to_json(), "warnings": list(read.warnings)}
        warning = None if advice is None else advice.to_json()
        console.show_json(
            {"folder": str(out), "source": source, "dataset": description.to_json(), "few_entities": warning}
        )
    else:
        lines = [f"{data}: {read.summary}"] if facts is None else options.reading_lines(facts, read)
        console.show(*lines, "", description.render(), "", f"written to {out}")
    for line in () if advice is None else advice.lines:
        console.log.warning(line)


@options.with_file_options
def index_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of facts: Parquet, CSV or TSV.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Target folder, which must not exist.")],
    memory: Annotated[
        int,
        typer.Option(
            "--memory", metavar="MB", min=1, help="Memory for facts, besides names, distinct times and libraries."
        ),
    ] = 1000,
    how: options.ReadHow = options.AS_DETECTED,
    granularity: options.Granularity = "auto",
    json: Json = False,
) -> None:
    """Index facts that may be larger than memory: names, calendar and the memory-mapped graph.

    The file is read once, in chunks; facts are sorted in partitions on disk.
    """
    from fitcarl.runs.fact_index import index_facts

    with console.progress() as bar, options.errors_name_file_options():
        index = index_facts(file, out, granularity=granularity, memory_mb=memory, on_progress=bar, **how)
    if json:
        console.show_json(index.to_json())
        return
    counts = index.counts
    console.log.info(f"{file}: {index.columns}")
    lines = [
        f"{counts.facts:,} facts of {counts.rows:,} rows, {counts.entities:,} entities, {counts.relations:,} relations",
        f"times: {index.names[1].extent} ({index.names[1].granularity})",
        f"sorted in {counts.partitions:,} partition(s) of at most {counts.largest_partition:,} edges",
    ]
    if counts.incomplete:
        lines.append(f"{counts.incomplete:,} rows with a missing value left out")
    if counts.times_truncated:
        lines.append(f"{counts.times_truncated:,} times truncated to {index.names[1].unit}")
    console.show(*lines, f"written to {out}")


def _bounds(low: int | None, high: int | None, chronological: bool) -> tuple[int, int] | None:
    """The bounds that were given, completed by the usual ones; None if none were given."""
    from fitcarl.data.bounds import BENCHMARK_BOUNDS
    from fitcarl.data.chronological import BOUNDS

    usual = BOUNDS if chronological else BENCHMARK_BOUNDS
    if low is None and high is None:
        return None
    return usual[0] if low is None else low, usual[1] if high is None else high


_IMPORT_STATISTICS = (
    *("rows", "duplicates", "self_loops", "times_truncated", "merged_by_truncation"),
    *("concept_rows", "concept_rows_used"),
)


def parse_parts(text: str) -> tuple[float, float, float]:
    """Shares of train, valid and test from ``80/10/10``, ``8/1/1`` or ``0.8/0.1/0.1``."""
    try:
        train, valid, test = (float(part) for part in text.split("/"))
    except ValueError:
        raise InputError(
            "invalid parts", field="--parts", found=text, expected="three numbers such as 80/10/10"
        ) from None
    total = train + valid + test
    if not min(train, valid, test) > 0 or total == float("inf"):
        raise InputError(
            "invalid parts", field="--parts", found=text, expected="three positive numbers such as 80/10/10"
        )
    return train / total, valid / total, test / total


def registry_entries() -> list[dict[str, Any]]:
    """All named datasets with the local folder of each."""
    from fitcarl.data.io.registry import REGISTRY, find_dataset

    entries = []
    for entry in REGISTRY.values():
        folder = find_dataset(entry.name)
        entries.append(
            {
                "name": entry.name,
                "title": entry.title,
                "generated": not entry.files,
                "folder": None if folder is None else str(folder.resolve()),
            }
        )
    return entries


def _where(entry: dict[str, Any]) -> str:
    if entry["folder"]:
        return f"in {entry['folder']}"
    return "generated on demand" if entry["generated"] else f"download with: fitcarl data get {entry['name']}"
