"""Damaged run folders: for every file of a run, and every tensor and field in it, many kinds of damage.

Each case runs in a forked process with a limit of memory and time, so that crashes are detected. The module prints the
outcomes of all cases: ``python -m tests.runs.damage RUN OTHER_RUN``.
"""

from __future__ import annotations

import io
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from fitcarl.core.storage import read_tensors, write_tensors
from fitcarl.data.facts import named_facts
from fitcarl.errors import InputError
from fitcarl.predict import Fact, Predictor, Query
from fitcarl.runs.history import read_history
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.manifest import answer_files
from fitcarl.runs.run import Run

MEMORY = 2 << 30
"""Bytes that a case may allocate beyond what the process has already."""
SECONDS = 60
NEW = "Harbour Guild"
"""An entity that the run does not know."""
_DEEP = "[" * 100_000 + "]" * 100_000
_JSON_VALUES: tuple[tuple[str, Any], ...] = (
    *(("null", None), ("minus one", -1), ("zero", 0), ("2^31", 2**31), ("10^19", 10**19), ("10^400", 10**400)),
    *(("NaN", float("nan")), ("infinity", float("inf")), ("text", "x"), ("list", []), ("object", {}), ("true", True)),
    *(("1e-300", 1e-300), ("nested", [[[[0]]]])),
)

Damage = Callable[[Path], None]
Outcome = Literal["refused", "same", "other", "internal error", "crash", "timeout"]


@dataclass(frozen=True)
class Case:
    """One kind of damage."""

    name: str
    apply: Damage
    """Changes a copy of the run."""
    structural: bool = False
    """Whether no valid run has such a file, so that it must be refused even with a forged manifest."""


@dataclass(frozen=True)
class Result:
    """What became of a case."""

    case: str
    forged: bool
    structural: bool
    outcome: Outcome
    message: str

    @property
    def wrong(self) -> bool:
        """Whether the case ended as no case may end."""
        if self.outcome in ("internal error", "crash", "timeout"):
            return True
        if self.outcome == "refused":
            return "\n" in self.message.strip()
        return self.outcome == "other" and (not self.forged or self.structural)


def cases(run: Path, other: Path) -> Iterator[Case]:
    """All cases of a run; files of another run on the same data take the place of its own.

    Args:
        run: A finished run.
        other: A run with the same names and other weights.
    """
    update = read_history(run).current
    for path in answer_files(run, update):
        yield from _file_cases(path, other)
        if path.endswith(".json"):
            yield from _json_cases(run, path)
        elif path.endswith(".safetensors"):
            yield from _tensor_cases(run, path)
        elif path.endswith(".npy"):
            yield from _column_cases(run, path)
    yield from _name_cases(run, update)
    yield from _manifest_cases(run)
    yield Case("added reach network", lambda folder: _copy(other / "reach.safetensors", folder / "reach.safetensors"))
    yield Case("added junk tensors", lambda folder: _write(folder / "junk.safetensors", b"junk"), structural=True)


def run_case(case: Case, run: Path, scratch: Path, forged: bool, expected: str) -> Result:
    """The outcome of one case.

    Args:
        case: The case.
        run: The undamaged run.
        scratch: A folder for the copy.
        forged: Whether the manifest is written again after the damage.
        expected: The answers of the undamaged run.
    """
    folder = scratch / "run"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(run, folder, copy_function=os.link)
    case.apply(folder)
    if forged:
        try:
            _break_link(folder / "manifest.json")
            RunFolder(folder).write_manifest()
        except (InputError, OSError):  # what is not a file has no checksum
            forged = False
    outcome, message = _in_child(folder, expected)
    return Result(case.name, forged, case.structural, outcome, message)


def answers(folder: Path) -> str:
    """Answers that read every part of a run: both settings, paths, hidden facts, earlier dates, open queries."""
    predictor = Predictor.load(folder)
    run = predictor.run
    known = named_facts(run.context.facts, run.vocabulary, run.calendar)
    first, middle = known[0], known[len(known) // 2]
    new = [(NEW, middle[1], middle[2], middle[3]), (NEW, first[1], first[2], middle[3])]
    hidden = tuple(Fact(*fact) for fact in known if fact[0] == middle[0])[:3]
    *dates, end = (run.calendar.label((run.calendar.span - 1) * part // 16) for part in (8, 11, 14, 16))
    new.append((NEW, first[1], first[2], run.calendar.label(0)))
    queries = [
        Query(NEW, None, middle[1], end, top=20, paths=2),
        *(Query(NEW, None, first[1], date, top=20, hindsight=False) for date in dates),
        Query(middle[0], None, middle[1], middle[3], top=20, without=hidden),
        Query(NEW, None, None, end, top=5),
    ]
    found = [prediction.to_json() for query in queries for prediction in _answer(predictor, query, new)]
    return json.dumps([found, run.config.model_dump(), str(run.reading)], default=str)


def _answer(predictor: Predictor, query: Query, new: list[tuple[str, str, str, str]]) -> list[Any]:
    try:
        return list(predictor.answer([query], new))
    except InputError as error:
        if error.file is not None:
            raise
        return []  # a question that the model cannot answer


def _in_child(folder: Path, expected: str) -> tuple[Outcome, str]:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code, text = 1, ""
        try:
            os.close(reader)
            _limit()
            found = answers(folder)
            code, text = (0 if found == expected else 3), found[:0]
        except InputError as error:
            code, text = 2, str(error)
        except BaseException:
            text = traceback.format_exc()[-600:]
        finally:
            os.write(writer, text.encode(errors="replace")[:60_000])
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        message = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return ("timeout" if number == signal.SIGALRM else "crash"), signal.Signals(number).name
    outcomes: dict[int, Outcome] = {0: "same", 1: "internal error", 2: "refused", 3: "other"}
    return outcomes[os.WEXITSTATUS(status)], message


def _limit() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# Files


def _file_cases(path: str, other: Path) -> Iterator[Case]:
    def changed(change: Callable[[bytes], bytes]) -> Damage:
        return lambda folder: _write(folder / path, change((folder / path).read_bytes()))

    def replaced(make: Callable[[Path], None]) -> Damage:
        def apply(folder: Path) -> None:
            (folder / path).unlink()
            make(folder / path)

        return apply

    yield Case(f"{path} missing", lambda folder: (folder / path).unlink())
    yield Case(f"{path} empty", changed(lambda _: b""), structural=True)
    yield Case(f"{path} half", changed(lambda content: content[: len(content) // 2]), structural=True)
    yield Case(f"{path} extended", changed(lambda content: content + b"\0" * 8))
    for part in (0.02, 0.3, 0.6, 0.98):
        yield Case(f"{path} flipped at {part}", changed(lambda content, part=part: _flipped(content, part)))
    yield Case(f"{path} pickle", changed(lambda _: b"\x80\x04\x95\x1a\x00\x00\x00\x00\x00\x00\x00."), structural=True)
    yield Case(f"{path} folder", replaced(lambda file: file.mkdir()), structural=True)
    yield Case(f"{path} pipe", replaced(os.mkfifo), structural=True)
    yield Case(f"{path} device", replaced(lambda file: file.symlink_to("/dev/zero")), structural=True)
    yield Case(f"{path} dangling", replaced(lambda file: file.symlink_to("nowhere")), structural=True)
    if (other / path).exists():
        yield Case(f"{path} of another run", lambda folder: _copy(other / path, folder / path))


def _flipped(content: bytes, part: float) -> bytes:
    changed = bytearray(content)
    if changed:
        changed[min(int(part * len(changed)), len(changed) - 1)] ^= 4
    return bytes(changed)


# JSON


def _json_cases(run: Path, path: str) -> Iterator[Case]:
    def of_text(text: str) -> Damage:
        return lambda folder: _write(folder / path, text.encode())

    for name, text in (("nested", _DEEP), ("a list", "[]"), ("null", "null"), ("a number", "1"), ("NaN", "NaN")):
        yield Case(f"{path} {name}", of_text(text), structural=True)
    content = json.loads((run / path).read_text())
    for place in _places(content):
        yield Case(f"{path} without {place}", of_text(json.dumps(_changed(content, place, delete=True))))
        for name, value in _JSON_VALUES:
            text = json.dumps(_changed(content, place, value), allow_nan=True) if value != 10**400 else None
            raw = text or json.dumps(_changed(content, place, "@")).replace('"@"', "1" + "0" * 400)
            yield Case(f"{path} {place} = {name}", of_text(raw))


def _places(content: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The fields of a value; of long lists only the ends and the middle."""
    if place:
        yield place
    if len(place) > 3:
        return
    if isinstance(content, dict):
        for key in [*content][:30]:
            yield from _places(content[key], (*place, key))
    elif isinstance(content, list) and content:
        for position in sorted({0, len(content) // 2, len(content) - 1}):
            yield from _places(content[position], (*place, position))


def _changed(content: Any, place: Sequence[Any], value: Any = None, delete: bool = False) -> Any:
    copy = json.loads(json.dumps(content))
    part = copy
    for key in place[:-1]:
        part = part[key]
    if delete:
        del part[place[-1]]
    else:
        part[place[-1]] = value
    return copy


def _name_cases(run: Path, update: str) -> Iterator[Case]:
    path = f"{update}/vocabulary.json" if update else "vocabulary.json"
    names = json.loads((run / path).read_text())

    def with_(**parts: Any) -> Damage:
        return lambda folder: _write(folder / path, json.dumps(names | parts).encode())

    entities, relations = names["entities"], names["relations"]
    yield Case("entities rotated", with_(entities=[*entities[1:], entities[0]]))
    yield Case("relations reversed", with_(relations=relations[::-1]))
    yield Case("all entities x", with_(entities=["x"] * len(entities)), structural=True)
    yield Case("one entity less", with_(entities=entities[:-1]), structural=True)
    yield Case("one entity more", with_(entities=[*entities, "more"]), structural=True)
    yield Case("a million relations", with_(relations=[str(n) for n in range(1_000_000)]), structural=True)
    for key, values in {
        "step": (-1, 0, 5, 10**18),
        "origin": (10**8, 10**19, -(10**12), "x", None),
        "granularity": ("second", "year", 5, [], {}),
        "ticks": ([], [[0]], [2**40], [0, 0], [0, 2**31 - 1], ["0"]),
        "codes": ([], [0.5], [10**30]),
    }.items():
        for value in values:
            calendar = names["calendar"] | {key: value}
            yield Case(f"calendar {key} = {str(value)[:20]}", with_(calendar=calendar))
    concepts = names["concepts"]
    for key, values in {
        "ids": ([2**31], [-1], [10**6]),
        "offsets": ([0], [1], [0, 2**40]),
        "names": ([1], ["a"]),
    }.items():
        for value in values:
            yield Case(f"concepts {key} = {value}", with_(concepts=concepts | {key: value}), structural=True)


def _manifest_cases(run: Path) -> Iterator[Case]:
    content = json.loads((run / "manifest.json").read_text())
    file = next(iter(content["files"]))
    for place in (("format",), ("run",), ("files",), ("others",), ("updates",), ("version",), ("files", file)):
        yield Case(
            f"manifest without {place}",
            lambda folder, place=place: _write(
                folder / "manifest.json", json.dumps(_changed(content, place, delete=True)).encode()
            ),
        )
        for name, value in _JSON_VALUES[:5] + _JSON_VALUES[6:]:
            yield Case(
                f"manifest {place} = {name}",
                lambda folder, place=place, value=value: _write(
                    folder / "manifest.json", json.dumps(_changed(content, place, value)).encode()
                ),
            )
    yield Case("manifest missing", lambda folder: (folder / "manifest.json").unlink())
    outside = _changed(content, ("files", file), content["files"][file])
    outside["files"]["../../../../etc/passwd"] = outside["files"].pop(file)
    yield Case("manifest outside", lambda folder: _write(folder / "manifest.json", json.dumps(outside).encode()))


# Tensors


def _tensor_cases(run: Path, path: str) -> Iterator[Case]:
    tensors, about = read_tensors(run / path)

    def of(changed: dict[str, Any], about: dict[str, Any] = about) -> Damage:
        def apply(folder: Path) -> None:
            (folder / path).unlink()
            write_tensors(folder / path, changed, about)

        return apply

    chosen = sorted(tensors) if len(tensors) <= 40 else sorted(tensors)[::4]
    for name in chosen:
        tensor = tensors[name]
        for kind, changed, structural in _tensor_changes(tensor):
            yield Case(f"{path} {name} {kind}", of({**tensors, name: changed}), structural)
        yield Case(f"{path} without {name}", of({key: part for key, part in tensors.items() if key != name}))
    yield Case(f"{path} further tensor", of({**tensors, "further": torch.zeros(3)}))
    yield Case(f"{path} no tensors", of({}), structural=True)
    for name, value in _JSON_VALUES[:5] + _JSON_VALUES[8:11]:
        for key in about:
            yield Case(f"{path} about {key} = {name}", of(tensors, {**about, key: value}))
    if "entity" in tensors and tensors["entity"].ndim == 2:
        for width in (2000, 8000, 20_000):
            yield Case(f"{path} {width} columns", of({**tensors, "entity": torch.zeros(1, width)}), structural=True)
    if isinstance(about.get("arrays"), dict):
        for key, value in (("dtype", "<f8"), ("dtype", "O"), ("shape", [2**40]), ("shape", [-1]), ("shape", ["x"])):
            for name in list(about["arrays"])[:4]:
                kind, shape = about["arrays"][name]
                entry = [value, shape] if key == "dtype" else [kind, value]
                arrays = about["arrays"] | {name: entry}
                yield Case(f"{path} {name} {key} {value}", of(tensors, {**about, "arrays": arrays}), structural=True)


def _tensor_changes(tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor, bool]]:
    numbers = tensor.numel() > 0
    compressed = tensor.dtype == torch.uint8
    yield "one axis more", tensor[None].clone(), not compressed
    yield "longer", torch.cat([tensor.reshape(-1), tensor.new_zeros(7)]), False
    if numbers:
        yield "shorter", tensor.reshape(-1)[:-1].clone(), False
        yield "reversed", tensor.flip(0).clone() if tensor.ndim else tensor.clone(), False
        yield "rolled", tensor.roll(1), False
        yield "zero", torch.zeros_like(tensor), False
    other = torch.float64 if tensor.dtype != torch.float64 else torch.float32
    yield "another type", tensor.to(other), True
    yield "half precision", tensor.to(torch.float16), True
    if not numbers or compressed:
        return
    middle = tensor.clone().reshape(-1)
    if tensor.is_floating_point():
        for name, value in (("NaN", float("nan")), ("infinite", float("inf"))):
            middle[len(middle) // 2] = value
            yield name, middle.reshape(tensor.shape).clone(), True
        yield "large", torch.full_like(tensor, 1e30), False
    elif tensor.dtype in (torch.int32, torch.int64):
        values = (2**30, -500_000_000, -1) if tensor.dtype == torch.int32 else (2**60, -(2**40), -1)
        for value in values:
            yield f"all {value}", torch.full_like(tensor, value), True
            middle = tensor.clone().reshape(-1)
            middle[len(middle) // 2] = value
            yield f"middle {value}", middle.reshape(tensor.shape), True
        shifted = tensor.clone().reshape(-1)
        shifted[len(shifted) // 2] += 1
        yield "middle + 1", shifted.reshape(tensor.shape), False
        yield "all + 1", tensor + 1, False


# Columns of the graph


def _column_cases(run: Path, path: str) -> Iterator[Case]:
    column = np.load(run / path)

    def of(array: Any, **options: Any) -> Damage:
        def apply(folder: Path) -> None:
            content = io.BytesIO()
            np.save(content, array, **options)
            _write(folder / path, content.getvalue())
            _fix_sums(folder / path, array)

        return apply

    def raw(content: bytes) -> Damage:
        return lambda folder: _write(folder / path, content)

    for value in (2**30, -1, -500_000_000, 2**31 - 1):
        changed = column.copy()
        changed[len(changed) // 2] = value
        yield Case(f"{path} middle {value}", of(changed), structural=True)
        yield Case(f"{path} all {value}", of(np.full_like(column, value)), structural=True)
    yield Case(f"{path} reversed", of(column[::-1].copy()), structural=True)
    yield Case(f"{path} rolled", of(np.roll(column, 1)))
    yield Case(f"{path} middle + 1", of(column + (np.arange(len(column)) == len(column) // 2).astype(column.dtype)))
    yield Case(f"{path} shorter", of(column[:-1]), structural=True)
    yield Case(f"{path} two axes", of(column[None]), structural=True)
    yield Case(f"{path} float", of(column.astype(np.float64)), structural=True)
    yield Case(f"{path} big-endian", of(column.astype(column.dtype.newbyteorder(">"))), structural=True)
    yield Case(f"{path} objects", of(np.array([1, "x"], dtype=object), allow_pickle=True), structural=True)
    archive = io.BytesIO()
    np.savez(archive, column=column)
    yield Case(f"{path} archive", raw(archive.getvalue()), structural=True)
    magic = b"\x93NUMPY\x01\x00"
    for name, header in (
        ("nested header", b"(" * 5000),
        ("open header", b"{'descr': '<i4', 'fortran_order': False, 'shape': ("),
        ("huge shape", b"{'descr': '<i4', 'fortran_order': False, 'shape': (4611686018427387904,)}"),
        ("negative shape", b"{'descr': '<i4', 'fortran_order': False, 'shape': (-5,)}"),
        ("code in header", b"{'descr': __import__('os').getcwd(), 'fortran_order': False, 'shape': (3,)}"),
    ):
        length = len(header).to_bytes(2, "little")
        yield Case(f"{path} {name}", raw(magic + length + header + b"\0" * 64), structural=True)


def _fix_sums(file: Path, array: Any) -> None:
    """Writes the checksum of a changed column to the description of its graph."""
    from fitcarl.core.arrays import sha256_of_arrays

    about = json.loads((file.parent / "graph.json").read_text())
    if array.dtype != object and isinstance(about.get("sha256"), dict):
        about["sha256"][file.stem] = sha256_of_arrays(array)
        _write(file.parent / "graph.json", json.dumps(about).encode())


def _write(file: Path, content: bytes) -> None:
    _break_link(file)
    file.write_bytes(content)


def _copy(source: Path, file: Path) -> None:
    if source.exists():
        _write(file, source.read_bytes())


def _break_link(file: Path) -> None:
    """Copies share their files with the original, which must stay as it is."""
    if file.exists() or file.is_symlink():
        file.unlink()


def run_cases(
    run: Path, other: Path, scratch: Path, every: int = 1, report: Callable[[Result], None] = lambda _: None
) -> list[Result]:
    """The outcomes of every n-th case, each with the manifest as it was and with a forged one.

    Args:
        run: A finished run.
        other: A run with the same names and other weights.
        scratch: A folder for copies.
        every: n.
        report: Called after each case.
    """
    expected = answers(run)
    assert answers(run) == expected
    found = []
    for case in list(cases(run, other))[::every]:
        for forged in (False, True):
            found.append(run_case(case, run, scratch, forged, expected))
            report(found[-1])
    return found


def summary(results: Sequence[Result]) -> dict[str, dict[str, int]]:
    """Outcomes by whether the manifest was forged."""
    return {
        name: dict(Counter(result.outcome for result in results if result.forged == forged))
        for name, forged in (("manifest as it was", False), ("manifest forged", True))
    }


def main() -> int:
    """Prints the outcomes of all cases; exit code 1 if one is wrong."""
    run, other = Path(sys.argv[1]), Path(sys.argv[2])
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    began, write = time.monotonic(), sys.stdout.write

    def report(result: Result) -> None:
        if result.wrong:
            write(f"WRONG {result.outcome} (forged {result.forged}): {result.case}: {result.message}\n")
            sys.stdout.flush()

    assert Run.load(run).config
    scratch = Path(os.environ.get("SCRATCH", "/tmp")) / f"damage-{os.getpid()}"
    scratch.mkdir()
    results = run_cases(run, other, scratch, every, report)
    shutil.rmtree(scratch)
    wrong = [result for result in results if result.wrong]
    write(f"{json.dumps(summary(results), indent=1)}\n")
    write(f"{len(results)} cases, {len(wrong)} wrong, {time.monotonic() - began:.0f} s\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
