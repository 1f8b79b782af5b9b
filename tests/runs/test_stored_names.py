"""Names of a run are what the readers of facts accept: one visible line each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import read_dataset
from fitcarl.data.name_rules import MAX_NAME_LENGTH
from fitcarl.errors import InputError
from fitcarl.runs.names import read_names, write_names


@pytest.fixture(scope="module")
def dataset(data: Path) -> Dataset:
    return read_dataset(data)


@pytest.mark.parametrize("group", ["entities", "relations", "concepts"])
@pytest.mark.parametrize("name", ["A\nB", "red\x1b[31m", "  ", "x" * (MAX_NAME_LENGTH + 1), "abc\u202edef"])
def test_names_that_readers_refuse_are_refused_in_a_run(
    dataset: Dataset, tmp_path: Path, group: str, name: str
) -> None:
    file = tmp_path / "vocabulary.json"
    write_names(file, dataset.vocabulary, dataset.calendar, dataset.concepts)
    read_names(file)
    names = json.loads(file.read_text())
    (names["concepts"]["names"] if group == "concepts" else names[group])[0] = name
    file.write_text(json.dumps(names))
    with pytest.raises(InputError) as caught:
        read_names(file)
    assert "\n" not in str(caught.value)


def test_names_in_other_scripts_are_kept(dataset: Dataset, tmp_path: Path) -> None:
    file = tmp_path / "vocabulary.json"
    write_names(file, dataset.vocabulary, dataset.calendar, dataset.concepts)
    names = json.loads(file.read_text())
    names["entities"][0] = "Côte d'Ivoire · 中国"
    file.write_text(json.dumps(names))
    assert read_names(file)[0].entities[0] == "Côte d'Ivoire · 中国"
