"""The result of the benchmark of explanations as tables."""

from __future__ import annotations

from typing import Any

from fitcarl.reporting.markdown import markdown_table

_LABELS = {
    "explanation": "explanation, by effect",
    "first_paths": "first three paths",
    "recent_facts": "most recent facts",
    "random_facts": "random facts",
    "random_paths": "random paths",
}


def explanation_tables(result: dict[str, Any]) -> list[str]:
    """Lines of Markdown.

    Args:
        result: The benchmark's result as JSON values.
    """
    choices = {"explanation": {**result, **(result["planted"] or {})}, **result["controls"]}
    lines = [f"Data: {result['data']}, split {result['split']}, setting {result['setting']}.", ""]
    if result["planted"] is not None:
        planted = result["planted"]
        lines += [
            f"Planted causes: {planted['asked']} test events made by rules, {planted['right']} predicted correctly, "
            f"{planted['right_with_visible_cause']} of them with a visible cause. First three facts:",
            "",
            markdown_table(
                [
                    ("facts", "recall", "95 % interval", "precision", "a cause among them", "explanation is better by"),
                    *[_planted_row(name, one) for name, one in choices.items()],
                ],
                [0],
            ),
            "",
            markdown_table(
                [
                    ("rule", "answers", "recall", "recall of the first three paths"),
                    *[
                        (rule, f"{one['answers']}", f"{one['recall_at_3']:.2f}", f"{one['first_paths']:.2f}")
                        for rule, one in planted["by_rule"].items()
                    ],
                ],
                [0],
            ),
            "",
        ]
    lines += [
        f"Fidelity: first answers to {result['answers']} queries. Lost: nats of the share without the first k "
        "facts; kept: the share with only these, relative to the share with all facts.",
        "",
        markdown_table(
            [
                ("facts", "lost, k = 1", "3", "5", "mean", "kept, k = 1", "3", "5", "mean"),
                *[_fidelity_row(name, one) for name, one in choices.items()],
            ],
            [0],
        ),
        "",
        f"A set of at most three facts is necessary for {result['necessary_share']:.1%} of the answers. "
        f"Contributions add up to the score within {result['additivity_error']:.1e}.",
        "",
        "Explanations of the first ten answers: "
        + ", ".join(f"{kind} {share:.1%}" for kind, share in result["coverage"].items() if kind != "total")
        + f"; together {result['coverage']['total']:.1%}.",
        "",
        f"Time: {result['ms_per_explanation']:.0f} ms per explanation ({result['cpu_ms_per_explanation']:.0f} ms of "
        f"processor time, {result['recomputed']:.0f} sets of facts left out), {result['ms_top_10']:.0f} ms per query "
        "with ten answers and their paths (medians).",
    ]
    return lines


def _planted_row(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    low, high = one["interval"]
    better = one.get("difference")
    shown = f"{better['mean']:.2f} ({better['low']:.2f} – {better['high']:.2f})" if better else ""
    values = f"{one['recall_at_3']:.2f}", f"{low:.2f} – {high:.2f}", f"{one['precision_at_3']:.2f}"
    return _LABELS.get(name, name), *values, f"{one['hit_at_3']:.2f}", shown


def _fidelity_row(name: str, one: dict[str, Any]) -> tuple[str, ...]:
    columns = [one[part][size] for part in ("comprehensiveness", "sufficiency") for size in ("1", "3", "5", "area")]
    return _LABELS.get(name, name), *(f"{value:.2f}" for value in columns)
