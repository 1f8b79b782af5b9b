"""Lock files: every package pinned with hashes, in the versions that the tests run with."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("build", "ci", "service")


@pytest.fixture(scope="module")
def lock_file() -> ModuleType:
    spec = importlib.util.spec_from_file_location("lock_file", ROOT / "tools" / "lock_file.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["lock_file"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_package_has_hashes_and_the_version_of_the_constraints(name: str, lock_file: ModuleType) -> None:
    packages = lock_file.read_lock(ROOT / "requirements" / f"{name}.lock")
    constraints = lock_file.read_constraints(ROOT / "constraints.txt")
    assert len(packages) > 4
    assert [package.name for package in packages if not package.sha256] == []
    # "+cpu" names a build of the same version.
    other = [package for package in packages if package.version.partition("+")[0] != constraints.get(package.name)]
    assert other == []


def test_locks_cover_what_the_project_requires(lock_file: ModuleType) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]

    def names(requirements: list[str]) -> set[str]:
        found = {lock_file.normalised(re.split(r"[<>=;\[]", requirement)[0]) for requirement in requirements}
        return found - {"fitcarl"}

    locked = {name: {p.name for p in lock_file.read_lock(ROOT / "requirements" / f"{name}.lock")} for name in LOCKS}
    needed = names([*project["dependencies"], *extras["serve"], *extras["postgres"]])
    assert needed - locked["service"] == set()
    everything = names([one for extra in extras if extra != "ray" for one in extras[extra]])  # Ray is in no other extra
    assert (needed | everything) - locked["ci"] == set()
    assert {"build", "hatchling"} <= locked["build"]
    assert locked["build"] <= locked["ci"]
    assert "pytest" not in locked["service"]


def test_no_locked_package_brings_cuda(lock_file: ModuleType) -> None:
    """The CPU build of PyTorch: others depend on gigabytes."""
    for name in ("ci", "service"):
        packages = {p.name: p.version for p in lock_file.read_lock(ROOT / "requirements" / f"{name}.lock")}
        assert packages["torch"].endswith("+cpu")
        assert [package for package in packages if package.startswith(("nvidia", "triton"))] == []


def test_unpinned_lines_are_noticed(lock_file: ModuleType, tmp_path: Path) -> None:
    file = tmp_path / "x.lock"
    file.write_text("one==1.0 \\\n    --hash=sha256:" + "0" * 64 + "\nTwo_x==2\n")
    assert [(p.name, p.version, len(p.sha256)) for p in lock_file.read_lock(file)] == [
        ("one", "1.0", 1),
        ("two-x", "2", 0),
    ]
    file.write_text("one>=1.0\n")
    with pytest.raises(ValueError, match="not a pinned package"):
        lock_file.read_lock(file)


def test_bill_of_materials_lists_locked_and_bundled_packages(lock_file: ModuleType, tmp_path: Path) -> None:
    for name in ("one.json", "two.json"):
        command = [sys.executable, str(ROOT / "tools" / "sbom.py"), str(tmp_path / name)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    document = json.loads((tmp_path / "one.json").read_text())
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    listed = {component["purl"]: component for component in document["components"]}
    assert len(listed) == len(document["components"])
    for package in lock_file.read_lock(ROOT / "requirements" / "service.lock"):
        assert f"pkg:pypi/{package.name}@{package.version.replace('+', '%2B')}" in listed
    bundled = json.loads((ROOT / "web" / "package.json").read_text())["dependencies"]
    for name, version in bundled.items():
        component = listed[f"pkg:npm/{name}@{version}"]
        assert len(component["hashes"][0]["content"]) == 128
        assert component["licenses"][0]["license"]["id"]
