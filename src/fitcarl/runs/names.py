"""Names, calendar, concepts and facts of a run, read without its model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from fitcarl.core.files import read_json, write_atomically
from fitcarl.data.calendar import Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.graph.columns import open_columns
from fitcarl.runs.history import read_history

_A_RUN = "a folder that `fitcarl train` wrote"


def check_run(folder: Path) -> None:
    """Raises an InputError unless this is a run folder, finished or not.

    Args:
        folder: The folder.
    """
    if not folder.is_dir():
        raise InputError("no such run", file=folder, expected=_A_RUN)
    if not is_run(folder):
        raise InputError("is not a run, as it has no config.json", file=folder, expected=_A_RUN)


def is_run(folder: Path) -> bool:
    """Whether a folder is that of a run, finished or not."""
    return (folder / "config.json").is_file()


def latest_file(folder: Path, update: str, name: str) -> Path:
    """A file of an update, or the one that training wrote if the update did not replace it.

    Args:
        folder: The run folder.
        update: The folder of the update inside it; empty for the run as it was trained.
        name: Name of the file.
    """
    replaced = folder / update / name
    return replaced if update and replaced.exists() else folder / name


def read_run_names(folder: Path) -> tuple[Vocabulary, Calendar, Concepts]:
    """Names, calendar and concepts of a run with its last update.

    Args:
        folder: The run folder.

    Raises:
        InputError: If it is not a run, or damaged.
    """
    check_run(folder)
    return read_names(latest_file(folder, read_history(folder).current, "vocabulary.json"))


def read_run_facts(folder: Path) -> Facts:
    """The facts that a run answers from: those it was trained on, and those of its updates.

    Args:
        folder: The run folder.

    Raises:
        InputError: If it is not a run, or damaged.
    """
    vocabulary, calendar, concepts = read_run_names(folder)
    graph = latest_file(folder, read_history(folder).current, "graph")
    facts = open_columns(graph, thorough=True).facts()
    loops = int(np.count_nonzero(facts.subject == facts.object))
    name = folder.resolve().name
    return Facts(name, facts, vocabulary, calendar, concepts, rows=len(facts), duplicates=0, self_loops=loops)


def read_run_dataset(folder: Path) -> Dataset | None:
    """The dataset that a run on plain facts keeps, whose groups were held out; None for a run on a dataset.

    Args:
        folder: The run folder.

    Raises:
        InputError: If it is not a run, or damaged.
    """
    check_run(folder)
    kept = folder / "dataset"
    return read_dataset(kept) if kept.is_dir() else None


def read_names(file: Path) -> tuple[Vocabulary, Calendar, Concepts]:
    """Names, calendar and concepts from the file that ``write_names`` wrote."""
    try:
        return _names_from_json(read_json(file))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError("is damaged", file=file, expected="names, calendar and concepts") from None


def write_names(file: Path, vocabulary: Vocabulary, calendar: Calendar, concepts: Concepts) -> None:
    """Writes names, calendar and concepts."""
    content = json.dumps(_names_to_json(vocabulary, calendar, concepts), ensure_ascii=False)  # long lists: no indent
    write_atomically(file, (content + "\n").encode())


def _names_to_json(vocabulary: Vocabulary, calendar: Calendar, concepts: Concepts) -> dict[str, Any]:
    return {
        "entities": vocabulary.entities,
        "relations": vocabulary.relations,
        "calendar": {
            "granularity": calendar.granularity,
            "origin": calendar.origin,
            "step": calendar.step,
            "codes": calendar.codes.tolist(),
            "ticks": calendar.ticks.tolist(),
        },
        "concepts": {"names": concepts.names, "offsets": concepts.offsets.tolist(), "ids": concepts.ids.tolist()},
    }


def _names_from_json(names: dict[str, Any]) -> tuple[Vocabulary, Calendar, Concepts]:
    times, concepts = names["calendar"], names["concepts"]
    return (
        Vocabulary(tuple(names["entities"]), tuple(names["relations"])),
        Calendar(
            times["granularity"],
            times["origin"],
            times["step"],
            np.array(times["codes"], dtype=np.int64),
            np.array(times["ticks"], dtype=np.int32),
        ),
        Concepts(
            tuple(concepts["names"]),
            np.array(concepts["offsets"], dtype=np.int64),
            np.array(concepts["ids"], dtype=np.int32),
        ),
    )
