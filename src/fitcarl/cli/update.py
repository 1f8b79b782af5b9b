"""``fitcarl update``: adds facts to the background of a run, without training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fitcarl.cli import console, options

if TYPE_CHECKING:
    from fitcarl.runs.drift import Drift
    from fitcarl.runs.update import Update


@options.with_file_options
def update_run(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Run folder created by 'fitcarl train'.")],
    facts: Annotated[
        Path, typer.Option("--facts", metavar="FILE", help="Facts to add: subject, relation, object, time, by name.")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="NEW_RUN", help="Write an updated copy here instead of changing RUN."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print counts and drift, and write nothing.")] = False,
    skip_unknown_relations: Annotated[
        bool,
        typer.Option("--skip-unknown-relations", help="Leave out facts with a relation that the run does not know."),
    ] = False,
    judged: Annotated[
        int | None,
        typer.Option(
            "--judged",
            metavar="N",
            min=0,
            help="Facts that the drift is measured on at most. [default: 300; 100 on very large runs]",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the sample of judged facts.")] = 0,
    how: options.ReadHow = options.AS_DETECTED,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Add facts to the background of a run without training, and print how well it predicted them before."""
    from fitcarl.runs.update import update

    with options.errors_name_file_options(), console.progress() as bar:
        done = update(
            run,
            facts,
            out=out,
            skip_unknown_relations=skip_unknown_relations,
            judged=judged,
            seed=seed,
            dry_run=dry_run,
            on_progress=bar,
            **how,
        )
    if json:
        console.show_json(done.to_json())
    else:
        console.show(*_lines(done))


def _lines(done: Update) -> list[str]:
    counts = f"{done.rows:,} rows: {done.added:,} {'would be added' if done.dry_run else 'added'}"
    left_out = {
        "already known": done.already_known,
        "repeated": done.duplicates,
        "with an unknown relation": done.unknown_relations,
    }
    counts += "".join(f", {number:,} {what}" for what, number in left_out.items() if number)
    if done.times_truncated:
        counts += f"; {done.times_truncated:,} times truncated to the granularity of the run"
    after = "would have" if done.dry_run else "has"
    background = (
        f"{done.run} {after} {done.facts:,} facts until {done.last_time}, "
        f"{done.entities:,} entities ({done.new_entities:,} became known)"
    )
    columns = [f"columns: {done.mapping_text}"] if done.mapping_text else []
    return [*columns, *_drift_lines(done.drift), counts, background]


def _drift_lines(drift: Drift) -> list[str]:
    if drift.mrr is None:
        return [f"drift: not measured; {drift.reason}"] if drift.facts else []
    sample = "" if drift.judged == drift.eligible else f", a sample of {drift.eligible:,} that can be judged"
    within = "; all are dated within the background" if drift.within_background else ""
    lines = [
        f"drift: MRR {drift.mrr:.3f} [{drift.low:.3f}, {drift.high:.3f}] as forecasts, before they were added, "
        f"on {drift.judged:,} of {drift.facts:,} new facts{sample}{within}"
    ]
    scale = [f"{drift.heuristic} {drift.heuristic_mrr:.3f} on the same facts"]
    if drift.validation_mrr is not None:
        scale.insert(0, f"validation of the run {drift.validation_mrr:.3f} (setting {drift.validation_setting})")
    return [*lines, "compare: " + "; ".join(scale)]
