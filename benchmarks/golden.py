"""Check that a refactoring changes no number: record on one commit, check on another, on the same machine.

    python benchmarks/golden.py record FILE      train, evaluate and predict; write what came out
    python benchmarks/golden.py check FILE       do the same again and compare, bit for bit

Weights are compared by the sha256 of each tensor whatever its name, reports by their numbers whatever their keys, so
that renaming a parameter or a JSON field is no difference. With ``--quick`` only the demo world is used; otherwise
ICEWS14-OOG too, where `fitcarl data list` knows it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from safetensors.numpy import load_file

# Name of a case -> data, shots, episodes, further arguments of `fitcarl train`.
CASES: dict[str, tuple[str, int, int, list[str]]] = {
    "demo-paper": ("demo", 3, 3, ["--preset", "paper"]),
    "demo-plus": ("demo", 3, 6, ["--preset", "plus"]),
    "demo-plus-names": ("demo", 1, 4, ["--preset", "plus+names"]),
    "facts-plus": ("facts.csv", 2, 4, ["--preset", "plus"]),
    "icews14-paper": ("icews14-oog", 3, 2, ["--preset", "paper"]),
    "icews14-plus": ("icews14-oog", 3, 4, ["--preset", "plus", "--set", "encoder.max_updates=60"]),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["record", "check"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--quick", action="store_true", help="the demo world only")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this case; may be repeated")
    options = parser.parse_args()
    wanted = options.case or [name for name in CASES if not (options.quick and name.startswith("icews14"))]
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["FITCARL_HOME"] = str(Path(scratch) / "home")
        for name in wanted:
            found[name] = observe(name, Path(scratch))
            print(f"{name}: done", file=sys.stderr)
    if options.action == "record":
        options.file.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    recorded = json.loads(options.file.read_text())
    differences = [
        f"{name}: {part}" for name in wanted for part in found[name] if found[name][part] != recorded[name][part]
    ]
    print("\n".join(differences) if differences else f"{len(wanted)} cases: no difference")
    if differences:
        options.file.with_suffix(".now.json").write_text(json.dumps(found, indent=1) + "\n")
    return bool(differences)


def observe(name: str, scratch: Path) -> dict[str, Any]:
    """The tensors, the report and a few predictions of one short training."""
    data, shots, episodes, arguments = CASES[name]
    if data == "facts.csv":
        data = str(write_facts(scratch / data))
    run = scratch / name
    fitcarl("train", data, "--shots", str(shots), "--episodes", str(episodes), "--out", str(run), *arguments)
    report = json.loads(fitcarl("evaluate", str(run), "--split", "valid", "--json"))
    return {
        "tensors": sorted(digest for file in tensor_files(run) for digest in digests(file)),
        "report": sorted(numbers(report)),
        "predictions": [prediction(run, scratch, backwards) for backwards in (False, True)],
    }


def write_facts(file: Path) -> Path:
    """The demo world's facts as a plain CSV file."""
    folder = file.with_name("demo-world")
    fitcarl("demo", "--episodes", "1", "--out", str(folder), "--json")
    entity, relation, time = (
        [line.split("\t")[-1] for line in (folder / "data" / f"{kind}.tsv").read_text().splitlines()]
        for kind in ("entities", "relations", "times")
    )
    rows = [line.split("\t") for line in (folder / "data" / "background.tsv").read_text().splitlines()]
    lines = [
        ",".join([f'"{entity[int(s)]}"', f'"{relation[int(r)]}"', f'"{entity[int(o)]}"', time[int(t)]])
        for s, r, o, t in rows
    ]
    file.write_text("\n".join(["subject,relation,object,time", *lines]) + "\n")
    return file


def prediction(run: Path, scratch: Path, backwards: bool) -> list[Any]:
    """What a run answers to its example question, asked with the entity as subject or as object."""
    example = json.loads((run / "example.json").read_text())
    facts = scratch / "new.csv"
    columns = ("subject", "relation", "object", "time")
    rows = [",".join(f'"{fact[column]}"' for column in columns) for fact in example["facts"]]
    facts.write_text("\n".join([",".join(columns), *rows]) + "\n")
    side = "--object" if backwards else "--subject"
    asked = [side, example["subject"], "--relation", example["relation"], "--at", example["at"]]
    said = json.loads(fitcarl("predict", str(run), "--facts", str(facts), *asked, "--top", "20", "--json"))
    return [
        [answer[key] for key in ("rank", "entity", "score", "share")] + [sorted(numbers(answer["paths"]))]
        for answer in said["answers"]
    ]


def fitcarl(*arguments: str) -> str:
    command = [sys.executable, "-m", "fitcarl", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def tensor_files(run: Path) -> list[Path]:
    return [
        run / name
        for name in ("weights.safetensors", "encoder.safetensors", "embeddings.safetensors")
        if (run / name).exists()
    ]


def digests(file: Path) -> list[str]:
    return [f"{tensor.shape} {hashlib.sha256(tensor.tobytes()).hexdigest()}" for tensor in load_file(file).values()]


TIMED = ("seconds", "minutes", "peak_mb", "memory")


def numbers(tree: Any, key: str = "") -> list[float]:
    """Every number of a tree of JSON, except times and memory."""
    if isinstance(tree, dict):
        return [number for name, part in tree.items() for number in numbers(part, name)]
    if isinstance(tree, list):
        return [number for part in tree for number in numbers(part, key)]
    timed = any(word in key for word in TIMED)
    return [float(tree)] if isinstance(tree, int | float) and not isinstance(tree, bool) and not timed else []


if __name__ == "__main__":
    raise SystemExit(main())
