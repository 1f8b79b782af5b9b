"""What each of three ranks computes together with the others; rank 1 fails at the end. Started by torchrun."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from fitcarl.core.process_group import ProcessGroup, ShardDropout, launched_processes
from fitcarl.core.progress import Interrupted
from fitcarl.errors import FitcarlError, InputError


def exchanges(group: ProcessGroup, folder: Path) -> dict[str, object]:
    """Every operation once."""
    found: dict[str, object] = {"rank": group.rank}
    shard = group.shard(2)  # fewer rows than ranks
    found["gathered"] = group.gather(torch.tensor([[5.0, 6.0], [7.0, 8.0]])[:, shard.rows], shard).tolist()
    found["any"] = [group.any(group.rank == 2), group.any(False)]
    found["decided"] = [group.decide(group.is_first), group.decide(not group.is_first)]
    found["maximum"] = group.maximum(-1.0 - group.rank)

    used, unused, partly = (torch.nn.Parameter(torch.zeros(2)) for _ in range(3))
    large = torch.nn.Parameter(torch.zeros(600, 500))
    frozen = torch.nn.Parameter(torch.zeros(2), requires_grad=False)
    used.grad = torch.full((2,), 1.0 + group.rank)
    large.grad = torch.full((500, 600), 1.0 + group.rank).T
    if group.rank == 2:
        partly.grad = torch.ones(2)
    group.sum_gradients([used, unused, partly, large, frozen])
    gradients = [None if part.grad is None else sorted(set(part.grad.flatten().tolist())) for part in (used, partly)]
    found["gradients"] = [*gradients, unused.grad, frozen.grad, large.grad.unique().tolist()]

    module = torch.nn.Linear(1, 1)
    group.copy_from_first(module)
    found["copied"] = module.weight.item()

    torch.manual_seed(3)
    rows = group.shard(9)
    with ShardDropout(rows):
        dropped = torch.nn.functional.dropout(torch.ones(9, 4)[rows.rows], 0.5)
    found["dropped"] = group.gather(dropped.T.contiguous(), rows).T.tolist()

    file = folder / "written"
    group.on_first(lambda: file.write_text("by rank 0"), file)
    found["read"] = file.read_text()

    def stop() -> None:
        raise Interrupted("stopped")

    try:
        group.on_first(stop)
    except Interrupted:
        found["stopped"] = True
    group.require_same("the text", "same")
    try:
        group.require_same("the text", f"of rank {min(group.rank, 1)}")
    except InputError as error:
        found["different"] = str(error)
    return found


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    results: dict[str, object] = {}
    try:
        with launched_processes() as first:
            first.wait()
        with launched_processes() as group:
            results = exchanges(group, folder)
            if group.rank == 1:
                raise InputError("cannot be read", file="there")
            group.wait()
    except FitcarlError as error:
        results["error"] = str(error)
    (folder / f"{results['rank']}.json").write_text(json.dumps(results))
