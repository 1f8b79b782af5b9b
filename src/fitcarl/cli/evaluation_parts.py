"""``fitcarl evaluate --shard`` and ``--merge``: an evaluation in parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fitcarl.cli import console
from fitcarl.errors import InputError

if TYPE_CHECKING:
    from fitcarl.core.shards import Shard
    from fitcarl.evaluation.report import Report

ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Rank only the I-th of N parts of the queries and write their ranks to the folder --out; in a process of "
        "torchrun, RANK + 1 of WORLD_SIZE by default.",
    ),
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="Folder of the parts that --shard writes.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Compute a part again that exists already.")]
Merge = Annotated[
    Path | None,
    typer.Option("--merge", metavar="FOLDER", help="Report on all parts that --shard wrote to this folder."),
]


@dataclass(frozen=True)
class PartOptions:
    """A part to evaluate."""

    shard: Shard
    out: Path
    overwrite: bool

    @classmethod
    def from_options(
        cls, shard: str | None, out: Path | None, overwrite: bool, merge: Path | None, others: Mapping[str, object]
    ) -> PartOptions | None:
        """The options, checked; None if all queries are evaluated, or parts are merged.

        Args:
            shard: The part; by default that of the process if ``torchrun`` started it.
            out: The folder of the parts.
            overwrite: Whether an existing part is computed again.
            merge: The folder whose parts are merged.
            others: Options that do not fit a part, and their values.
        """
        given = {"--shard": shard, "--out": out, "--overwrite": overwrite}
        if merge is not None:
            for option in (name for name, value in given.items() if value):
                raise InputError("not available with --merge", field=option, expected="only the folder of the parts")
            return None
        from fitcarl.core.shards import Shard

        chosen = Shard.from_environment() if shard is None else Shard.parse(shard)
        if shard is None and chosen.is_all:
            for option in (name for name, value in given.items() if value):
                raise InputError("an option of a part", field=option, expected="--shard I/N as well")
            return None
        for option in (name for name, value in others.items() if value):
            raise InputError(f"not available for part {chosen}", field=option, expected="all queries, or --merge")
        if out is None:
            raise InputError("missing option", field="--out", expected=f"a folder for part {chosen}")
        if out.exists() and not out.is_dir():
            raise InputError("a file", field="--out", found=str(out), expected="a folder for the parts")
        return cls(chosen, out, overwrite)

    def evaluate(self, run: Path, options: Mapping[str, Any], device: str) -> None:
        """Writes the part, unless it is there.

        Args:
            run: The run folder.
            options: Split, setting and the other options of ``evaluate_part``.
            device: The value of ``--device``.
        """
        from fitcarl.runs.evaluate_parts import evaluate_part

        with console.progress() as bar:
            file, is_new = evaluate_part(
                *(run, self.shard, self.out), **options, overwrite=self.overwrite, device=device, on_progress=bar
            )
        message = "written" if is_new else "exists and is complete; --overwrite computes it again"
        console.log.info(f"part {self.shard}: {file} {message}")


def merged_report(run: Path, folder: Path, options: Mapping[str, Any]) -> Report:
    """The report on all parts.

    Args:
        run: The run folder.
        folder: The folder of the parts.
        options: As in ``PartOptions.evaluate``; defaults are those of the parts.
    """
    from fitcarl.runs.evaluate_parts import merge_parts

    recorded = {name: options[name] or None for name in ("draws", "seed")}
    return merge_parts(run, folder, **{**options, **recorded})


def check_one_run(runs: list[Path], left_open: str | None) -> None:
    """Raises an InputError for what is not evaluated in parts and merged.

    Args:
        runs: The run folders.
        left_open: The value of ``--open``.
    """
    if len(runs) > 1:
        raise InputError("one run is evaluated in parts", found=f"{len(runs)} runs", expected="one run")
    if left_open is not None:
        raise InputError("not available in parts", field="--open", expected="no --shard and no --merge")
