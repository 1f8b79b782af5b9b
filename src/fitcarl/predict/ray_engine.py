"""Answers a file of queries with Ray: on the cores of this machine, or on the cluster at ``RAY_ADDRESS``.

Plain Ray tasks and not Ray Data: a task is ``answer_part``, which the command line runs for ``--shard I/N``, so that
both engines give the same answers. A worker process loads the run once and keeps it for its next tasks. Answers do not
go through Ray's object store: each task writes its part to a file, atomically, which makes tasks safe to retry and lets
a restarted job continue with the missing parts. (Ray Data would stream rows through the object store and write files
whose number and order it chooses, without a way to keep complete ones.) Run, queries and ``--out`` must be on a file
system that all nodes share.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from fitcarl.core.parallel import usable_cores
from fitcarl.core.progress import OnProgress, Progress
from fitcarl.core.shards import Shard, shards
from fitcarl.core.tables import join_tables
from fitcarl.errors import InputError, require_extra
from fitcarl.predict.answer_file import AnsweredPart, AnswerJob, answer_part, existing_part

_OBJECT_STORE = 100_000_000  # bytes; results are a few numbers per part
_TASKS_PER_CORE = 2  # so that a core that is ready early gets another part


def answer_with_ray(job: AnswerJob, parts: int | None = None, on_progress: OnProgress | None = None) -> AnsweredPart:
    """Answers all queries with Ray and joins the parts to one file.

    The parts are kept in a folder beside ``out`` until all are complete. Those that an interrupted call left there are
    used if they were computed from the same run, queries, facts and options.

    Args:
        job: The queries.
        parts: Number of parts; by default two per core of the cluster.
        on_progress: Called after every part.

    Raises:
        InputError: If the queries cannot be read, or one cannot be answered and ``errors`` is ``raise``.
        MissingExtraError: If Ray is not installed.
    """
    require_extra("ray", "ray", needed_by="--engine ray")
    out = job.out.resolve()
    folder = out.with_name(f"{out.name}.parts")
    folder.mkdir(exist_ok=True)
    job = replace(job, run=job.run.resolve(), questions=job.questions.resolve(), out=folder / out.name)
    with _cluster() as ray:
        cores = int(ray.cluster_resources().get("CPU", 1))
        found = _answer_all(ray, job, shards(parts or _TASKS_PER_CORE * max(cores, 1)), on_progress)
    join_tables([part.file for part in found], out)
    shutil.rmtree(folder)
    errors = [part.first_error for part in found if part.first_error is not None]
    queries, failed = sum(part.queries for part in found), sum(part.failed for part in found)
    return AnsweredPart(out, queries, failed, errors[0] if errors else None)


def _answer_all(ray: Any, job: AnswerJob, all_parts: list[Shard], on_progress: OnProgress | None) -> list[AnsweredPart]:
    """Runs a task per part and waits for all; the first invalid input stops the others."""
    task = ray.remote(num_cpus=1, max_retries=3)(_answer_task)
    shared = ray.put(job)
    running = {task.remote(shared, shard): shard for shard in all_parts}
    found: dict[int, AnsweredPart] = {}
    try:
        while running:
            [ready], _ = ray.wait(list(running), num_returns=1)
            shard, result = running.pop(ready), ray.get(ready)
            if isinstance(result, InputError):
                raise result
            found[shard.number] = result
            if on_progress is not None:
                on_progress(Progress("parts", len(found), len(all_parts), "parts"))
    finally:
        for reference in running:
            ray.cancel(reference)
    return [found[number] for number in sorted(found)]


def _answer_task(job: AnswerJob, shard: Shard) -> AnsweredPart | InputError:
    """A part in a worker; invalid input is returned and not raised, because a retry cannot help."""
    os.environ.setdefault("FITCARL_THREADS", "1")  # a task has one core
    try:
        with suppress(InputError):  # a part of something else is computed again
            if (part := existing_part(job, shard)) is not None:
                return part
        return answer_part(job, shard)
    except InputError as error:
        return error


@contextmanager
def _cluster() -> Iterator[Any]:
    """Ray, connected to ``RAY_ADDRESS`` or to an instance on this machine that ends with the block."""
    import ray

    if ray.is_initialized():
        yield ray
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    address = os.environ.get("RAY_ADDRESS")
    if address:
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            reason = " ".join(str(error).split())[:160]
            expected = "a running Ray cluster; if it asks for a token, RAY_AUTH_MODE=token and RAY_AUTH_TOKEN as well"
            raise InputError(
                f"cannot connect to Ray ({reason})", field="RAY_ADDRESS", found=address, expected=expected
            ) from None
    else:
        ray.init(
            address="local",
            num_cpus=usable_cores(),
            object_store_memory=_OBJECT_STORE,
            include_dashboard=False,
            **quiet,
        )
    try:
        yield ray
    finally:
        ray.shutdown()
