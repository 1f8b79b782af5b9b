"""``fitcarl doctor``: environment report and problems."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer

from fitcarl import __version__
from fitcarl.cli import console
from fitcarl.core.parallel import is_number, usable_cores

PACKAGES = ("torch", "numpy", "polars", "numba", "pydantic", "safetensors", "typer", "rich")
EXTRAS = {"plot": ("matplotlib",), "serve": ("fastapi", "sqlalchemy", "uvicorn"), "postgres": ("psycopg",)}
"""Extra → packages that it installs."""


def doctor(json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """Show versions, processor, memory, caches, datasets, and problems with suggested fixes."""
    found = examine()
    if json:
        console.show_json(found)
    else:
        console.show(*_report_lines(found))
    if found["problems"]:
        raise typer.Exit(console.INTERNAL_ERROR)


def examine() -> dict[str, Any]:
    """The report as JSON values."""
    problems: list[str] = []
    versions = {package: _package_version(package) for package in PACKAGES}
    missing = [package for package, version in versions.items() if version is None]
    if missing:
        problems.append(f"not installed: {', '.join(missing)}; reinstall with pip install fitcarl")
    cache = None if "numba" in missing else _compiled_loops()
    if cache is not None and cache["problem"] is not None:
        problems.append(
            f"compiled loops are not cached ({cache['problem']}), so that every start compiles them again; set "
            "NUMBA_CACHE_DIR to a private folder (mode 700): its files are pickles, which can run any code when loaded"
        )
    data = _data()
    if not data["writable"]:
        problems.append(f"{data['cache_dir']} is not writable: nothing can be cached or downloaded; set FITCARL_HOME")
    threads = os.environ.get("FITCARL_THREADS", "")
    if threads and not is_number(threads):
        problems.append(f"FITCARL_THREADS is {threads!r}, which is not a number and is ignored")
    return {
        "fitcarl": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": versions,
        "extras": {extra: all(map(_package_version, packages)) for extra, packages in EXTRAS.items()},
        "torch": None if "torch" in missing else _torch(),
        "cores": _cores(),
        "memory_mb": _memory(),
        "compiled_loops": cache,
        "data": data,
        "problems": problems,
    }


def _package_version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _torch() -> dict[str, Any]:
    import torch

    from fitcarl.core.device import resolve_device

    return {
        "build": "cuda " + torch.version.cuda if torch.version.cuda else "cpu",
        "gpus": torch.cuda.device_count(),
        "auto_device": resolve_device("auto").type,
        "threads": torch.get_num_threads(),
    }


def _cores() -> dict[str, int]:
    """Cores of the machine, and cores that this process may use."""
    return {"machine": os.cpu_count() or 1, "usable": usable_cores()}


def _memory() -> dict[str, int | None]:
    """Total and available memory in megabytes; None if unknown."""
    table = Path("/proc/meminfo")
    if not table.exists():
        known = hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 if known else None
        return {"total": total, "available": None}
    kilobytes = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in table.open())}
    return {"total": kilobytes["MemTotal"] // 1024, "available": kilobytes.get("MemAvailable", 0) // 1024}


def _compiled_loops() -> dict[str, Any]:
    """The numba cache of the graph kernels; without it they are compiled at every start."""
    from fitcarl.core.compiled import cache_folder, why_not_cached
    from fitcarl.graph import kernels

    folder = cache_folder(kernels.select_actions)
    return {
        "folder": None if folder is None else str(folder),
        "files": 0 if folder is None else len(list(folder.glob("*.nbc"))),
        "problem": why_not_cached(kernels.select_actions),
    }


def _data() -> dict[str, Any]:
    """Folders searched for datasets, and the folder of each dataset found."""
    from fitcarl.cli.data import registry_entries
    from fitcarl.core.cache import cache_dir

    found = {entry["name"]: entry["folder"] for entry in registry_entries() if not entry["generated"]}
    above = (cache_dir(), *cache_dir().absolute().parents)
    # os.path, because it does not raise for folders without permission.
    existing = next((path for path in above if os.path.exists(path)), above[-1])
    writable = os.path.isdir(existing) and os.access(existing, os.W_OK)
    return {
        "FITCARL_DATA": os.environ.get("FITCARL_DATA"),
        "cache_dir": str(cache_dir()),
        "writable": writable,
        "datasets": found,
    }


def _report_lines(found: dict[str, Any]) -> list[str]:
    torch, cores, memory, cache = found["torch"], found["cores"], found["memory_mb"], found["compiled_loops"]
    local = [name for name, folder in found["data"]["datasets"].items() if folder]
    rows = [
        ("fitcarl", f"{found['fitcarl']}, Python {found['python']} ({sys.executable})"),
        ("system", found["platform"]),
        ("packages", ", ".join(f"{package} {version or 'MISSING'}" for package, version in found["packages"].items())),
        ("extras", ", ".join(f"{extra} {'yes' if present else 'no'}" for extra, present in found["extras"].items())),
        ("torch", f"{torch['build']} build, {torch['gpus']} GPUs, {torch['threads']} threads" if torch else "MISSING"),
        ("device", f"--device auto is {torch['auto_device']}" if torch else "MISSING"),
        ("cores", f"{cores['usable']} of {cores['machine']}"),
        ("memory", f"{_gigabytes(memory['available'])} available of {_gigabytes(memory['total'])}"),
        ("compiled loops", _cache_text(cache)),
        (
            "datasets",
            f"{', '.join(local) or 'none'} (FITCARL_DATA is {found['data']['FITCARL_DATA'] or 'not set'}, "
            f"downloads go to {found['data']['cache_dir']})",
        ),
    ]
    verdict = [f"problem: {problem}" for problem in found["problems"]] or ["no problems found"]
    return [*(f"{label:<15} {value}" for label, value in rows), "", *verdict]


def _cache_text(cache: dict[str, Any] | None) -> str:
    if cache is None:
        return "MISSING"
    return "not cached" if cache["folder"] is None else f"{cache['files']} files in {cache['folder']}"


def _gigabytes(megabytes: int | None) -> str:
    return "unknown" if megabytes is None else f"{megabytes / 1024:.1f} GB"
