"""Writes the bill of materials of the service as CycloneDX JSON: ``python tools/sbom.py FILE``.

It lists the Python packages of ``requirements/service.lock`` and the npm packages that are bundled into the explorer.
The same inputs give the same bytes.
"""

from __future__ import annotations

import base64
import json
import re
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lock_file import Locked, read_lock

ROOT = Path(__file__).parents[1]


def python_component(package: Locked) -> dict[str, Any]:
    """A package from PyPI. CycloneDX has one set of hashes per component, so those of all its files are properties."""
    purl = f"pkg:pypi/{package.name}@{package.version.replace('+', '%2B')}"
    files = [{"name": "fitcarl:file:sha256", "value": digest} for digest in package.sha256]
    found = {"type": "library", "bom-ref": purl, "name": package.name, "version": package.version, "purl": purl}
    return {**found, "properties": files}


def bundled_packages(lock: dict[str, Any]) -> list[dict[str, Any]]:
    """The npm packages that the explorer contains, with all that they depend on.

    Args:
        lock: Content of ``package-lock.json``.
    """
    found = []
    for place, about in sorted(lock["packages"].items()):
        if not place or about.get("dev"):
            continue
        name = place.rpartition("node_modules/")[2]
        algorithm, _, digest = about["integrity"].partition("-")
        purl = f"pkg:npm/{name.replace('@', '%40')}@{about['version']}"
        hashes = [{"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(digest).hex()}]
        licences = [{"license": {"id": about["license"]}}]
        component = {"type": "library", "bom-ref": purl, "name": name, "version": about["version"], "purl": purl}
        found.append({**component, "hashes": hashes, "licenses": licences, "scope": "required"})
    return found


def bill_of_materials(root: Path) -> dict[str, Any]:
    """The document.

    Args:
        root: The repository.
    """
    version_line = (root / "src" / "fitcarl" / "_version.py").read_text(encoding="utf-8")
    version = re.findall(r'"([^"]+)"', version_line)[-1]
    packages = [python_component(package) for package in read_lock(root / "requirements" / "service.lock")]
    packages += bundled_packages(json.loads((root / "web" / "package-lock.json").read_text(encoding="utf-8")))
    own = {"type": "application", "bom-ref": "fitcarl", "name": "fitcarl", "version": version}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(packages))}",
        "version": 1,
        "metadata": {"component": {**own, "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": packages,
        "dependencies": [{"ref": "fitcarl", "dependsOn": [package["bom-ref"] for package in packages]}],
    }


def main(arguments: Sequence[str]) -> None:
    [file] = map(Path, arguments)
    document = bill_of_materials(ROOT)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    print(f"{file}: {len(document['components'])} packages")


if __name__ == "__main__":
    main(sys.argv[1:])
