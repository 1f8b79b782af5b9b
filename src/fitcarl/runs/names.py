"""Names, calendar, concepts and facts of a run, read without its model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fitcarl.core.files import read_json, write_atomically
from fitcarl.data.calendar import GRANULARITIES, MAX_SPAN, Calendar
from fitcarl.data.concepts import Concepts
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.data.name_rules import MAX_NAME_LENGTH, name_problem
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from fitcarl.graph.columns import COLUMNS, open_columns
from fitcarl.runs.history import read_history
from fitcarl.runs.manifest import check_listed

_MAX_ORIGIN = 10**15
"""Granules from the start of a calendar to its first time; integer times may be nanoseconds."""
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
    update = read_history(folder).current
    file = latest_file(folder, update, "vocabulary.json")
    check_listed(folder, update, file)
    return read_names(file)


def read_run_facts(folder: Path) -> Facts:
    """The facts that a run answers from: those it was trained on, and those of its updates.

    Args:
        folder: The run folder.

    Raises:
        InputError: If it is not a run, or damaged.
    """
    vocabulary, calendar, concepts = read_run_names(folder)
    update = read_history(folder).current
    graph = latest_file(folder, update, "graph")
    check_listed(folder, update, *(graph / name for name in ("graph.json", *(f"{column}.npy" for column in COLUMNS))))
    columns = open_columns(graph, thorough=True)
    if (len(columns.offsets) - 1, columns.relations) != (len(vocabulary.entities), len(vocabulary.relations)):
        raise InputError("does not fit the names", file=graph, expected="a graph of the run's names")
    facts = columns.facts()
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
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        found = str(error)[:80] or None
        raise InputError("is damaged", file=file, found=found, expected="names, calendar and concepts") from None


def write_names(file: Path, vocabulary: Vocabulary, calendar: Calendar, concepts: Concepts) -> None:
    """Writes names, calendar and concepts."""
    content = json.dumps(_names_to_json(vocabulary, calendar, concepts), ensure_ascii=False)  # long lists: no indent
    write_atomically(file, (content + "\n").encode())


def check_stored_names(file: Path, vocabulary: Vocabulary, calendar: Calendar, concepts: Concepts) -> None:
    """Raises an InputError unless a file that ``write_names`` wrote has these names, calendar and concepts.

    Args:
        file: The file.
        vocabulary: The expected names.
        calendar: The expected calendar.
        concepts: The expected concepts.
    """
    if _names_to_json(*read_names(file)) != _names_to_json(vocabulary, calendar, concepts):
        raise InputError("does not fit the dataset", file=file, expected="names, calendar and concepts of the dataset")


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
    """Names, calendar and concepts; everything that ids and ticks index is checked."""
    entities = _distinct_texts(names["entities"])
    return (
        Vocabulary(entities, _distinct_texts(names["relations"])),
        _calendar(names["calendar"]),
        _concepts(names["concepts"], len(entities)),
    )


def _calendar(values: dict[str, Any]) -> Calendar:
    granularity, origin, step = values["granularity"], values["origin"], values["step"]
    if granularity not in GRANULARITIES or type(origin) is not int or type(step) is not int or step < 1:
        raise ValueError("granularity, origin or step")
    codes, ticks = _integers(values["codes"], np.int64), _integers(values["ticks"], np.int32)
    ascending = all((np.diff(part) > 0).all() for part in (codes, ticks))
    if not len(ticks) or len(codes) != len(ticks) or ticks[0] != 0 or not ascending or ticks[-1] >= MAX_SPAN:
        raise ValueError("codes or ticks")
    calendar = Calendar(granularity, origin, step, codes, ticks)
    if abs(origin) > _MAX_ORIGIN or step > _MAX_ORIGIN:
        raise ValueError("origin or step")
    _ = calendar.extent  # times that have no date are not accepted
    return calendar


def _concepts(values: dict[str, Any], entities: int) -> Concepts:
    names = _distinct_texts(values["names"])
    offsets, ids = _integers(values["offsets"], np.int64), _integers(values["ids"], np.int32)
    valid = (
        len(offsets) == entities + 1 and offsets[0] == 0 and offsets[-1] == len(ids) and (np.diff(offsets) >= 0).all()
    )
    if not valid or (len(ids) and not 0 <= ids.min() <= ids.max() < len(names)):
        raise ValueError("concepts")
    return Concepts(names, offsets, ids)


def _distinct_texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not set(map(type, values)) <= {str}:
        raise TypeError("not a list of names")
    if len(set(values)) != len(values):
        raise ValueError("a name occurs twice")
    together = "".join(values)  # most names are plain: one look at all of them
    plain = together.isascii() and together.isprintable() and all(map(str.strip, values))
    if not plain or max(map(len, values), default=0) > MAX_NAME_LENGTH:
        for problem in filter(None, map(name_problem, values)):
            raise ValueError(problem)
    return tuple(values)


def _integers(values: Any, dtype: type[np.integer[Any]]) -> NDArray[Any]:
    """A flat array; numbers that are no integers or do not fit the type are refused."""
    if not isinstance(values, list) or not set(map(type, values)) <= {int}:
        raise TypeError("not a list of integers")
    return np.array(values, dtype=dtype)
