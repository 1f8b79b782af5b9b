"""Writing dataset folders atomically."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from fitcarl.data.io import dataset_folder as folder_module
from fitcarl.data.io.dataset_folder import read_dataset, write_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.data.vocabulary import Vocabulary
from fitcarl.errors import InputError
from tests.data.dataset_folder import FILES, contents


def test_non_empty_folder_is_kept(folder: Path, tmp_path: Path) -> None:
    data = read_dataset(folder)
    with pytest.raises(InputError, match="the folder is not empty"):
        write_dataset(data, folder)
    with pytest.raises(InputError, match="a file; expected a folder"):
        write_dataset(data, folder / "times.tsv")
    assert contents(folder) == FILES
    (tmp_path / "empty").mkdir()
    write_dataset(data, tmp_path / "empty")
    assert contents(tmp_path / "empty") == FILES


def test_overwrite_replaces_only_a_dataset(folder: Path, tmp_path: Path) -> None:
    data = dataclasses.replace(read_dataset(folder), dropped=Quadruples.empty())
    write_dataset(data, folder, overwrite=True)
    assert contents(folder) == {name: content for name, content in FILES.items() if name != "dropped_cross_facts.tsv"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]
    (folder / "thesis.tex").write_text("ten years of work")
    with pytest.raises(InputError, match=r"the folder contains other files; found 'thesis\.tex'"):
        write_dataset(data, folder, overwrite=True)
    assert (folder / "thesis.tex").exists()


@pytest.mark.parametrize("failing", ["_write_facts", "_exchange"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_failure_leaves_everything_unchanged(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str, error: BaseException
) -> None:
    data = read_dataset(folder)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(folder_module, failing, fail)
    expected = InputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_dataset(data, folder, overwrite=True)
    with pytest.raises(expected):
        write_dataset(data, tmp_path / "a" / "b" / "c")
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]
    assert contents(folder) == FILES


def test_old_dataset_is_restored_if_the_new_one_cannot_be_moved(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = read_dataset(folder)
    rename = folder_module.os.rename

    def only_old(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(folder_module.os, "rename", only_old)
    with pytest.raises(InputError, match="cannot be written: Input/output error"):
        write_dataset(data, folder, overwrite=True)
    assert [entry.name for entry in tmp_path.iterdir()] == ["small"]
    assert contents(folder) == FILES


def test_invalid_dataset_is_not_written(folder: Path, tmp_path: Path) -> None:
    data = read_dataset(folder)
    names = ("Ann\nBob", *data.vocabulary.entities[1:])
    with pytest.raises(InputError, match="a name with a tab or a line break"):
        write_dataset(dataclasses.replace(data, vocabulary=Vocabulary(names, ("r", "s"))), tmp_path / "x")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("link", [False, True])
def test_existing_folder_is_not_replaced(folder: Path, tmp_path: Path, link: bool) -> None:
    target = tmp_path / "empty"
    target.mkdir()
    number = target.stat().st_ino
    if link:
        (tmp_path / "link").symlink_to(target)
    write_dataset(read_dataset(folder), tmp_path / "link" if link else target)
    assert target.stat().st_ino == number
    assert contents(target) == FILES
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["empty"] + ["link"] * link + ["small"]
    assert (tmp_path / "link").is_symlink() == link


def test_dataset_can_be_written_to_the_current_directory(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = read_dataset(folder)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    for overwrite in (False, True):
        write_dataset(data, ".", overwrite=overwrite)
        assert contents(Path()) == FILES  # the current directory is still the written folder
        assert Path().stat().st_ino == here.stat().st_ino
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["here", "small"]


def test_symbolic_link_to_a_dataset_is_kept(folder: Path, tmp_path: Path) -> None:
    data = dataclasses.replace(read_dataset(folder), dropped=Quadruples.empty())
    (tmp_path / "link").symlink_to(folder)
    write_dataset(data, tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert "dropped_cross_facts.tsv" not in contents(folder)


@pytest.mark.parametrize("number", range(1, 19))
def test_moved_files_are_restored_if_one_cannot_be_moved(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    data = read_dataset(folder)
    rename = folder_module.os.rename
    calls = iter(range(1, 100))

    def fails_once(source: Path, target: Path) -> None:
        if next(calls) == number:
            raise OSError(5, "Input/output error")
        rename(source, target)

    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(folder_module.os, "rename", fails_once)
    with pytest.raises(InputError, match="cannot be written: Input/output error"):
        write_dataset(data, folder, overwrite=True)
    assert contents(folder) == FILES
    if number <= len(FILES):
        calls = iter(range(1, 100))
        with pytest.raises(InputError, match="cannot be written: Input/output error"):
            write_dataset(data, tmp_path / "empty")
        assert not any((tmp_path / "empty").iterdir())
