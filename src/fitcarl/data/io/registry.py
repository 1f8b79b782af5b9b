"""Named datasets: their sources, and how to download and load them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from fitcarl.core.cache import cache_dir
from fitcarl.core.progress import OnProgress
from fitcarl.data.bounds import BENCHMARK_BOUNDS
from fitcarl.data.dataset import Dataset
from fitcarl.data.io.dataset_folder import read_dataset, write_dataset
from fitcarl.data.io.download import DownloadError, fetch, file_sha256
from fitcarl.data.io.icews import read_icews
from fitcarl.data.split import split_facts
from fitcarl.errors import InputError, did_you_mean

FILT = "https://raw.githubusercontent.com/Jasper-Wu/FILT/4ecd6b9c3340ec717133709186441b812586f7d5/dataset/"
"""Source of the raw facts: the repository of FILT (AKBC 2022) at the commit of the checksums."""

DEMO = "demo"
_GENERATORS = {DEMO: "fitcarl.synthetic:generate_world"}


@dataclass(frozen=True)
class RawFile:
    """One published file of raw facts or names."""

    path: str
    """Path within the entry's folder of the repository; a local copy may also be flat."""
    size: int
    """Bytes."""
    sha256: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class PublishedCounts:
    """Statistics of a dataset in the paper's table; triples are train, valid, test."""

    entities: int
    relations: int
    times: int
    unseen: tuple[int, int, int]
    background: int
    facts: tuple[int, int, int]


@dataclass(frozen=True)
class DatasetEntry:
    """A named dataset; an entry without files is generated instead of downloaded."""

    name: str
    title: str
    counts: PublishedCounts | None = None
    folder: str = ""
    """Folder of the raw files, relative to the base URL."""
    files: tuple[RawFile, ...] = ()
    swap: bool = False
    """Whether the meta-validation and meta-test groups of the split are exchanged."""
    rebuilt: tuple[str, ...] = ()
    """Raw files that were missing in the copy of the repository used for the checksums. They were rebuilt from another
    publication of the same facts and have the git blob ids recorded in the tree of the repository."""


def _files(*rows: tuple[str, int, str]) -> tuple[RawFile, ...]:
    return tuple(RawFile(*row) for row in rows)


REGISTRY: dict[str, DatasetEntry] = {
    entry.name: entry
    for entry in (
        DatasetEntry(DEMO, "a small generated world of events that follow known rules; nothing to download"),
        DatasetEntry(
            "icews14-oog",
            "ICEWS14-OOG: political events of 2014, by day",
            PublishedCounts(7128, 230, 365, (385, 48, 49), 83448, (5772, 718, 705)),
            folder="ICEWS14/",
            files=_files(
                ("train.txt", 1328337, "4ab3f26b8791b6f6c88ea27aa38a95385b3e46e20da468a246ef401e7eb96f10"),
                ("valid.txt", 163119, "9c1b1f5f67166a4b76506d796c66387ffd50e734f3e8b4ab7a653e14b26b9725"),
                ("test.txt", 163572, "b2219f844c3ba2ad8109edaa62d02ac09e01f82706589c9a48206bd902db9956"),
                ("entity2id.txt", 198043, "4329ede9234a9c1973c44f7fa942c248bcd26e964663cc67c902c0e02f2b924e"),
                ("relation2id.txt", 7626, "b9285f753ee980c29706c20cfa5b59a9a9b9e90db3f49bbf1d41e28a9e3da7d4"),
                ("time2id.txt", 5792, "83e1154fa8de8d8f5f1d9f387952fc6ac643a393b09a1d8d9e9ab9c3e3d40679"),
                ("auxiliary/ent2sec.json", 886478, "66c84c0f695dd8d1064fe888308ee0578938f2005757684d811fd6d4e81a581f"),
            ),
        ),
        DatasetEntry(
            "icews18-oog",
            "ICEWS18-OOG: political events of January to October 2018, by day",
            PublishedCounts(23033, 256, 304, (1268, 160, 158), 444269, (19291, 2425, 2373)),
            folder="ICEWS18/",
            files=_files(
                ("train.txt", 8673522, "019cfba096e15abae04e8d8d6f4dbeda2add15f53826681702f25298a9fbc7bf"),
                ("valid.txt", 1077693, "aa9966e928768ad3a9fd28c7fe2c078458ec1caa523fc0ddf9d0a38ece349c50"),
                ("test.txt", 1162970, "a00d46f993557cf78a8823b0c3a7b3b135f40ffa74150ee8f795794e2b536e33"),
                ("entity2id.txt", 674797, "7d247def04f9e0a70b986da665fce498ef2057779842dd83af1df3df5c5e6d74"),
                ("relation2id.txt", 8772, "6099be14a4bb517019146818704858af040843df4caa77b816552223330dcb49"),
                ("time2id.txt", 4816, "1c2871d763563888efc61f0bd453f6597e1a4efde0b191e22d3abf0b9ddd17e5"),
                ("auxiliary/ent2sec.json", 2010618, "5ee2c36e2e15d289d7c6c192290f53013a43825bcf2f2a7f5aae402f22655cab"),
            ),
            swap=True,
            rebuilt=("train.txt",),
        ),
        DatasetEntry(
            "icews0515-oog",
            "ICEWS0515-OOG: political events of 2005 to 2015, by day",
            PublishedCounts(10488, 251, 4017, (647, 80, 82), 448695, (10115, 1217, 1228)),
            folder="ICEWS05-15/",
            files=_files(
                ("train.txt", 5948791, "50330c8827dfac6c7a8d1fce2b91711f4f661f6c653b39a403d769d26238e613"),
                ("valid.txt", 763927, "d3b2366f97c6cd6eb968a18e90606c8e9841f1929978bda9205a11d51db53c1b"),
                ("test.txt", 763689, "4c23a53dcf6e1b8eeddb01fb988067e2a37ffa57158ccacd8b023177086bb65d"),
                ("entity2id.txt", 300129, "c06e54ee28e4ad01c5a4c3fba5f666b5d3c5d1f7916f554c277b98a2c38f5f34"),
                ("relation2id.txt", 8521, "e7ebc1128166c080d4d7e1b01f4cf87f65f2d0afa47043b3ad8a4acfa36b04c1"),
                ("time2id.txt", 67824, "ed61077db724cc941b8f518cac42ed59dfe2191c19f4b4f851d631ce672304fc"),
                ("auxiliary/ent2sec.json", 942658, "1c2bb8a4ebc99e73bd0575bfdaad2c4385718e64570f30e5d9d71b42b6ddf96d"),
            ),
            rebuilt=("train.txt",),
        ),
    )
}


def registry_entry(name: str) -> DatasetEntry:
    """The entry of a name; an unknown name raises an InputError that suggests similar names."""
    if name in REGISTRY:
        return REGISTRY[name]
    hint = did_you_mean(name, REGISTRY)
    raise InputError("unknown dataset", found=name, expected="one of " + ", ".join(REGISTRY), hint=hint)


def find_dataset(name: str) -> Path | None:
    """The local folder of a named dataset: in ``$FITCARL_DATA``, in ``cache_dir()``, or in the current directory.

    None if it is not there, and for generated datasets.
    """
    if not registry_entry(name).files:
        return None
    data_folder = os.environ.get("FITCARL_DATA")
    places = ([Path(data_folder).expanduser()] if data_folder else []) + [cache_dir() / "datasets", Path()]
    # os.path, because it does not raise for folders without permission.
    return next((place / name for place in places if os.path.isfile(place / name / "background.tsv")), None)


def load_dataset(name_or_folder: str | Path) -> Dataset:
    """Loads a dataset.

    Args:
        name_or_folder: A dataset folder, or the name of a downloaded or generated dataset (``fitcarl data list``).

    Returns:
        The dataset.

    Raises:
        InputError: There is no such dataset, or it is invalid.
    """
    name = str(name_or_folder)
    if name in REGISTRY:
        if not REGISTRY[name].files:
            return _generate_dataset(name)
        folder = find_dataset(name)
        if folder is None:
            expected = f"'fitcarl data get {name}' first, or FITCARL_DATA set to the folder that contains it"
            raise InputError(f"{name} is not on this machine", expected=expected)
        return read_dataset(folder)
    folder = Path(name_or_folder).expanduser()
    if folder.is_dir():
        return read_dataset(folder)
    if folder.is_file():
        hint = f"`fitcarl data split --facts {name} --out DIR` makes a dataset from a file of facts"
        raise InputError("is a file", file=name, expected="a dataset folder", hint=hint)
    hint = did_you_mean(name, REGISTRY)
    raise InputError("no such dataset", found=name, expected="a folder, or one of " + ", ".join(REGISTRY), hint=hint)


def resolve_source(data: str) -> str:
    """A registered name unchanged, or the absolute path of a folder or file."""
    return str(Path(data).resolve()) if data not in REGISTRY and Path(data).exists() else data


def download_dataset(
    name: str,
    out: Path | None = None,
    *,
    source: Path | None = None,
    base_url: str | None = None,
    overwrite: bool = False,
    on_progress: OnProgress | None = None,
) -> Path:
    """Downloads the raw files of a named dataset, verifies them, and writes the dataset.

    Downloads are kept in ``cache_dir()``. The target folder is written only when all files are verified.

    Args:
        name: Name of the dataset.
        out: Target folder; by default a folder where ``load_dataset`` finds the dataset by name.
        source: Folder with local copies of raw files; files that are missing there are downloaded.
        base_url: Address of the raw files; by default the repository of FILT.
        overwrite: Replace an existing dataset.
        on_progress: Called with the number of downloaded bytes.

    Returns:
        The target folder.

    Raises:
        InputError: The target cannot be written, or a file is missing or has another checksum.
    """
    entry = registry_entry(name)
    folder = cache_dir() / "datasets" / name if out is None else Path(out)
    if folder.exists() and not overwrite and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError("already exists", file=folder, expected="a new or empty folder, or --overwrite")
    if entry.files:
        raw = _raw_files(entry, source, FILT if base_url is None else base_url, on_progress)
        dataset = split_facts(read_icews(raw, name), bounds=BENCHMARK_BOUNDS, swap=entry.swap)
    else:
        dataset = _generate_dataset(name)
    write_dataset(dataset, folder, overwrite=overwrite)
    return folder


def _generate_dataset(name: str) -> Dataset:
    """A generated dataset. The generator is in a later layer, so it is imported by name on demand."""
    module, _, function = _GENERATORS[name].partition(":")
    return split_facts(getattr(import_module(module), function)().facts, name=name, bounds=BENCHMARK_BOUNDS)


def _raw_files(
    entry: DatasetEntry, source: Path | None, base_url: str, on_progress: OnProgress | None
) -> dict[str, Path]:
    """Verified raw files by name."""
    local = {} if source is None else _local_files(entry, Path(source))
    files = {}
    for file in entry.files:
        if file.name in local:
            files[file.name] = _checked(local[file.name], file)
    for file in entry.files:
        if file.name not in local:
            files[file.name] = _downloaded(entry, file, source, base_url, on_progress)
    return files


def _local_files(entry: DatasetEntry, source: Path) -> dict[str, Path]:
    """The raw files of an entry in a local folder, flat or laid out as published."""
    if not source.is_dir():
        raise InputError("no such folder", file=source, expected=f"a folder with the raw files of {entry.name}")
    places = [(file.name, source / place) for file in entry.files for place in (file.path, file.name)]
    found = {name: path for name, path in places if path.is_file()}
    if not found:
        expected = "some of " + ", ".join(file.name for file in entry.files)
        raise InputError(f"no raw file of {entry.name} in this folder", file=source, expected=expected)
    return found


def _checked(path: Path, file: RawFile) -> Path:
    try:
        found, size = file_sha256(path), path.stat().st_size
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
    if found != file.sha256:
        expected = f"{file.sha256} ({file.size} bytes)"
        raise InputError(
            "not the published file", file=path, field="sha256", found=f"{found} ({size} bytes)", expected=expected
        )
    return path


def _downloaded(
    entry: DatasetEntry, file: RawFile, source: Path | None, base_url: str, on_progress: OnProgress | None
) -> Path:
    url = f"{base_url.rstrip('/')}/{entry.folder}{file.path}"
    target = cache_dir() / "downloads" / entry.name / file.name
    try:
        return fetch(url, target, file.sha256, file.size, on_progress=on_progress)
    except DownloadError as error:
        problem, missing = error.problem, error.status is not None
        if source is not None:
            problem += f"; {source} contains no {file.name}"
        if missing and file.name in entry.rebuilt:
            problem += "; it may not be published there and must then be supplied"
        needed = f"{file.name} of sha256 {file.sha256}" if missing else f"the raw files of {entry.name}"
        right = f"{error.expected}, or " if error.expected else ""
        raise DownloadError(
            problem,
            file=error.file,
            field=error.field,
            found=error.found,
            expected=f"{right}--from FOLDER with {needed}",
        ) from None
