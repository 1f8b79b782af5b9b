"""The OpenAPI document of the service: ``python -m fitcarl.serve.openapi [FILE]`` writes it to a file or stdout.

The explorer's TypeScript types are generated from ``web/openapi.json``; a test compares that file with the routes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fitcarl.core.files import write_atomically
from fitcarl.serve.app import create_api


def openapi_json() -> str:
    """The OpenAPI document as text; the same for the same version of fitcarl and its dependencies."""
    return json.dumps(create_api().openapi(), indent=2, ensure_ascii=False) + "\n"


def write_openapi(arguments: list[str]) -> None:
    """Writes the document to the given file, or to stdout."""
    if arguments:
        write_atomically(Path(arguments[0]), openapi_json().encode())
    else:
        sys.stdout.write(openapi_json())


if __name__ == "__main__":
    write_openapi(sys.argv[1:])
