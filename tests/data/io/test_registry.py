"""Named datasets: downloaded or read from a local copy, written completely or not at all."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import threading
from collections.abc import Iterator
from datetime import date, timedelta
from functools import partial
from pathlib import Path

import pytest

from fitcarl.core.cache import cache_dir
from fitcarl.core.progress import Progress
from fitcarl.data.dataset import SPLITS
from fitcarl.data.io import registry
from fitcarl.data.io.download import DownloadError, fetch
from fitcarl.data.io.icews import RAW_FILES
from fitcarl.data.io.registry import (
    REGISTRY,
    DatasetEntry,
    RawFile,
    download_dataset,
    find_dataset,
    load_dataset,
    registry_entry,
)
from fitcarl.errors import InputError

TABLES = ("background", "meta_train", "meta_valid", "meta_test", "entities", "relations", "times", "concepts")
PATHS = tuple("auxiliary/ent2sec.json" if name == "ent2sec.json" else name for name in RAW_FILES)


def write_raw(folder: Path) -> None:
    """A raw folder as published: forty entities with twelve facts each around a hub."""
    days = [date(2014, 1, 1) + timedelta(days=day) for day in range(12)]
    rows = [(entity, day % 2, 40, 24 * day) for day in range(12) for entity in range(40)]
    rows += [(41, 0, 40, 24 * day) for day in range(12)]
    texts = {
        "train.txt": rows[:400],
        "valid.txt": rows[400:450],
        "test.txt": rows[450:],
        "entity2id.txt": [(f"Actor {number}", number) for number in range(42)],
        "relation2id.txt": [("visits", 0), ("praises", 1)],
        "time2id.txt": [(day.isoformat(), 24 * number) for number, day in enumerate(days)],
    }
    (folder / "auxiliary").mkdir(parents=True)
    for name, table in texts.items():
        (folder / name).write_text("".join("\t".join(map(str, row)) + "\n" for row in table))
    (folder / "auxiliary" / "ent2sec.json").write_text(json.dumps({f"Actor {i}": ["Citizen"] for i in range(42)}))


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FITCARL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("FITCARL_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "fetch", partial(fetch, timeout=1.0, retries=1, backoff=0.0))
    return tmp_path / "home"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The published folder of a small entry ``tiny-oog``."""
    folder = tmp_path / "published" / "TINY"
    write_raw(folder)
    content = {path: (folder / path).read_bytes() for path in PATHS}
    files = tuple(RawFile(path, len(data), hashlib.sha256(data).hexdigest()) for path, data in content.items())
    monkeypatch.setitem(REGISTRY, "tiny-oog", DatasetEntry("tiny-oog", "a tiny world", folder="TINY/", files=files))
    return folder


@pytest.fixture
def address(published: Path) -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(published.parent)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_dataset_is_downloaded_split_and_found_by_name(address: str, cache: Path) -> None:
    folder = download_dataset("tiny-oog", base_url=address)
    assert folder == cache / "datasets" / "tiny-oog" == find_dataset("tiny-oog")
    dataset = load_dataset("tiny-oog")
    assert dataset.name == "tiny-oog"
    assert [len(dataset.meta(split).entities) for split in SPLITS] == [16, 2, 2]
    assert len(dataset.background) == 20 * 12 + 12


def test_local_copy_gives_the_same_dataset_flat_or_nested(address: str, published: Path, tmp_path: Path) -> None:
    downloaded = download_dataset("tiny-oog", tmp_path / "downloaded", base_url=address)
    nested = download_dataset("tiny-oog", tmp_path / "nested", source=published)
    (published / "auxiliary" / "ent2sec.json").rename(published / "ent2sec.json")
    flat = download_dataset("tiny-oog", tmp_path / "flat", source=published)
    assert content(downloaded) == content(nested) == content(flat)
    assert {f"{table}.tsv" for table in TABLES} <= set(content(flat))


def test_local_copy_needs_no_server_and_no_downloads(published: Path, cache: Path, tmp_path: Path) -> None:
    download_dataset("tiny-oog", tmp_path / "out", source=published, base_url="http://127.0.0.1:1/")
    assert not cache.exists()


def test_files_missing_in_the_local_copy_are_downloaded(
    address: str, published: Path, cache: Path, tmp_path: Path
) -> None:
    source = tmp_path / "mine"
    source.mkdir()
    (published / "train.txt").rename(source / "train.txt")
    folder = download_dataset("tiny-oog", tmp_path / "out", source=source, base_url=address)
    assert (folder / "background.tsv").is_file()
    assert set(content(cache / "downloads" / "tiny-oog")) == set(RAW_FILES) - {"train.txt"}


def test_missing_file_leaves_no_folder_and_finished_downloads_are_reused(
    address: str, published: Path, cache: Path, tmp_path: Path
) -> None:
    (published / "test.txt").rename(tmp_path / "test.txt")
    with pytest.raises(
        DownloadError, match=r"TINY/test\.txt: .*HTTP 404.*--from FOLDER with test\.txt of sha256"
    ) as error:
        download_dataset("tiny-oog", tmp_path / "out", base_url=address)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()
    assert set(content(cache / "downloads" / "tiny-oog")) == {"train.txt", "valid.txt"}

    (tmp_path / "test.txt").rename(published / "test.txt")
    (published / "train.txt").unlink()
    (published / "valid.txt").unlink()
    assert download_dataset("tiny-oog", tmp_path / "out", base_url=address) == tmp_path / "out"


def test_corrupted_download_is_removed(address: str, published: Path, cache: Path, tmp_path: Path) -> None:
    good = (published / "train.txt").read_bytes()
    (published / "train.txt").write_bytes(good.replace(b"0", b"1"))
    with pytest.raises(DownloadError, match=r"TINY/train\.txt, field sha256: corrupted download, removed"):
        download_dataset("tiny-oog", tmp_path / "out", base_url=address)
    assert not (tmp_path / "out").exists()
    assert content(cache / "downloads" / "tiny-oog") == {}


def test_unpublished_file_error_suggests_a_local_copy(
    address: str, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = REGISTRY["tiny-oog"]
    rebuilt = DatasetEntry(entry.name, entry.title, folder=entry.folder, files=entry.files, rebuilt=("train.txt",))
    monkeypatch.setitem(REGISTRY, "tiny-oog", rebuilt)
    (published / "train.txt").unlink()
    message = r"train\.txt: .*404.* must then be supplied; .*--from FOLDER with train\.txt of sha256 [0-9a-f]{64}$"
    with pytest.raises(DownloadError, match=message):
        download_dataset("tiny-oog", tmp_path / "out", base_url=address)


def test_network_error_suggests_a_local_copy_of_all_files(published: Path, tmp_path: Path) -> None:
    assert published.is_dir()
    message = r"train\.txt: download failed after 2 tries: .*; expected --from FOLDER with the raw files of tiny-oog$"
    with pytest.raises(DownloadError, match=message):
        download_dataset("tiny-oog", tmp_path / "out", base_url="http://127.0.0.1:1/")


def test_local_file_with_another_checksum_is_rejected(published: Path, tmp_path: Path) -> None:
    (published / "valid.txt").write_text("0\t0\t40\t0\n")
    with pytest.raises(InputError, match=r"valid\.txt, field sha256: not the published file; found .*\(9 bytes\)"):
        download_dataset("tiny-oog", tmp_path / "out", source=published)
    assert not (tmp_path / "out").exists()


def test_source_without_raw_files_is_rejected(published: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: no such folder"):
        download_dataset("tiny-oog", tmp_path / "out", source=tmp_path / "nowhere")
    with pytest.raises(InputError, match="no raw file of tiny-oog in this folder"):
        download_dataset("tiny-oog", tmp_path / "out", source=published.parent)


def test_existing_folder_is_kept_unless_overwrite_is_set(published: Path, tmp_path: Path) -> None:
    out = download_dataset("tiny-oog", tmp_path / "out", source=published)
    before = content(out)
    (out / "background.tsv").write_text("precious")
    with pytest.raises(InputError, match="out: "):
        download_dataset("tiny-oog", out, source=published)
    assert (out / "background.tsv").read_text() == "precious"
    download_dataset("tiny-oog", out, source=published, overwrite=True)
    assert content(out) == before


def test_progress_names_every_file(address: str, tmp_path: Path) -> None:
    seen: dict[str, Progress] = {}
    download_dataset(
        "tiny-oog", tmp_path / "out", base_url=address, on_progress=lambda update: seen.update({update.stage: update})
    )
    files = REGISTRY["tiny-oog"].files
    assert seen == {file.name: Progress(file.name, file.size, file.size, "bytes") for file in files}


def test_fitcarl_data_is_searched_first_and_the_current_folder_last(
    published: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert find_dataset("tiny-oog") is None
    written = download_dataset("tiny-oog", tmp_path / "tiny-oog", source=published)
    assert find_dataset("tiny-oog") == Path("tiny-oog")
    download_dataset("tiny-oog", source=published)
    assert find_dataset("tiny-oog") == cache / "datasets" / "tiny-oog"
    monkeypatch.setenv("FITCARL_DATA", str(tmp_path / "shared"))
    assert find_dataset("tiny-oog") == cache / "datasets" / "tiny-oog"
    (tmp_path / "shared").mkdir()
    written.rename(tmp_path / "shared" / "tiny-oog")
    assert find_dataset("tiny-oog") == tmp_path / "shared" / "tiny-oog"


def test_folder_is_loaded_by_path(published: Path, tmp_path: Path) -> None:
    folder = download_dataset("tiny-oog", tmp_path / "copy", source=published)
    by_name = load_dataset(download_dataset("tiny-oog", source=published))
    assert load_dataset(folder).digest == load_dataset(str(folder)).digest == by_name.digest


def test_missing_dataset_error_names_the_download_command() -> None:
    with pytest.raises(InputError, match="icews14-oog is not on this machine; expected 'fitcarl data get icews14-oog'"):
        load_dataset("icews14-oog")


def test_unknown_name_error_suggests_similar_names() -> None:
    with pytest.raises(InputError, match="did you mean 'icews14-oog'"):
        load_dataset("icews14")
    with pytest.raises(InputError, match="did you mean 'icews18-oog'"):
        registry_entry("icews18_oog")
    with pytest.raises(InputError, match="expected a folder, or one of demo, icews14-oog"):
        load_dataset("./nowhere/at/all")


def test_cache_dir_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert cache_dir() == tmp_path / "home"
    monkeypatch.delenv("FITCARL_HOME")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cache_dir() == tmp_path / "caches" / "fitcarl"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == Path.home() / ".cache" / "fitcarl"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_dir() == Path.home() / "Library" / "Caches" / "fitcarl"


def test_every_published_entry_lists_all_raw_files() -> None:
    for entry in REGISTRY.values():
        if entry.files:
            assert {file.name for file in entry.files} == set(RAW_FILES)
            assert set(entry.rebuilt) <= set(RAW_FILES)
            assert all(len(bytes.fromhex(file.sha256)) == 32 and file.size > 0 for file in entry.files)


def test_demo_dataset_is_deterministic() -> None:
    demo = load_dataset("demo")
    assert demo.name == "demo"
    assert find_dataset("demo") is None
    assert demo.digest == load_dataset("demo").digest
    assert all(len(demo.meta(split).entities) for split in SPLITS)


@pytest.mark.data
@pytest.mark.parametrize("name", ["icews14-oog", "icews18-oog", "icews0515-oog"])
def test_published_datasets_are_rebuilt_byte_for_byte(benchmarks: Path, tmp_path: Path, name: str) -> None:
    folder = download_dataset(name, tmp_path / "out", source=benchmarks / "raw" / name.removesuffix("-oog"))
    for table in (*TABLES, "dropped_cross_facts"):
        assert (folder / f"{table}.tsv").read_bytes() == (benchmarks / name / f"{table}.tsv").read_bytes(), table
    dataset, counts = load_dataset(folder), REGISTRY[name].counts
    assert counts is not None
    vocabulary = dataset.vocabulary
    assert (len(vocabulary.entities), len(vocabulary.relations), len(dataset.calendar), len(dataset.background)) == (
        counts.entities,
        counts.relations,
        counts.times,
        counts.background,
    )
    assert tuple(len(dataset.meta(split).entities) for split in SPLITS) == counts.unseen
    assert tuple(len(dataset.meta(split)) for split in SPLITS) == counts.facts
    assert sorted(os.listdir(tmp_path)) == ["out"]
