"""Import time, public names and the order of the layers."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fitcarl

PACKAGE = Path(fitcarl.__file__).parent
LAYERS = (
    *("errors", "core", "config", "data", "synthetic", "graph", "tasks", "scoring", "evaluation", "testing", "models"),
    *("runs", "training", "predict", "reporting", "experiments", "serve", "bench", "cli"),
)
HEAVY = {"torch", "polars", "numba", "matplotlib", "numpy", "rich", "pydantic"}


def _modules_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nsys.stderr.write(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.split())


def _cpu_seconds(*arguments: str) -> float:
    """Processor time, the minimum of three tries."""
    tries = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, *arguments], capture_output=True, timeout=60, check=True)
        after = os.times()
        tries.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(tries)


def test_import_loads_no_heavy_module() -> None:
    assert not _modules_after("import fitcarl") & HEAVY


def test_help_loads_no_heavy_module() -> None:
    assert not _modules_after("from fitcarl.cli import run\nassert run(['--help']) == 0") & HEAVY


def test_describing_data_does_not_load_torch() -> None:
    loaded = _modules_after(
        "import fitcarl, fitcarl.data.describe\nfitcarl.load_dataset, fitcarl.read_facts, fitcarl.split"
    )
    assert "numpy" in loaded
    assert "torch" not in loaded


@pytest.fixture(scope="module")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a run on plain facts that its names and facts are read from."""
    from fitcarl.graph.storage import save_graph
    from fitcarl.graph.temporal import TemporalGraph
    from fitcarl.runs.names import write_names
    from fitcarl.synthetic import generate_world
    from tests.small import write_tiny

    folder = tmp_path_factory.mktemp("run")
    facts = generate_world("tiny").facts
    names = facts.vocabulary
    (folder / "config.json").write_text("{}")
    write_names(folder / "vocabulary.json", names, facts.calendar, facts.concepts)
    save_graph(TemporalGraph.from_facts(facts.quadruples, len(names.entities), names.relation_ids), folder / "graph")
    write_tiny(folder / "dataset")
    return folder


@pytest.mark.parametrize("command", [["names"], ["data", "describe"]])
def test_small_commands_load_neither_torch_nor_numba(small_run: Path, command: list[str]) -> None:
    line = [*command, str(small_run)]
    loaded = _modules_after(f"from fitcarl.cli import run\nassert run({line!r}) == 0")
    assert "numpy" in loaded
    assert not loaded & {"torch", "numba", "matplotlib"}


def test_describing_a_file_loads_neither_torch_nor_numba(tmp_path: Path) -> None:
    file = tmp_path / "facts.csv"
    file.write_text("subject,relation,object,time\na,r,b,2024-01-01\n")
    loaded = _modules_after(f"from fitcarl.cli import run\nassert run(['data', 'describe', {str(file)!r}]) == 0")
    assert not loaded & {"torch", "numba", "matplotlib"}


def test_version_loads_no_heavy_module() -> None:
    assert not _modules_after("from fitcarl.cli import run\nassert run(['--version']) == 0") & HEAVY


def test_import_takes_less_than_0_3_seconds() -> None:
    assert _cpu_seconds("-c", "import fitcarl") < 0.3


def test_help_takes_less_than_0_5_seconds() -> None:
    assert _cpu_seconds("-m", "fitcarl", "--help") < 0.5


@pytest.mark.parametrize("name", fitcarl.__all__)
def test_every_public_name_is_importable(name: str) -> None:
    assert getattr(fitcarl, name) is not None
    assert name in dir(fitcarl)


def test_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = fitcarl.nonsense


def test_names_for_type_checkers_match_runtime_names() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    typed = {
        (alias.asname or alias.name, statement.module, alias.name)
        for statement in guarded.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    modules = {(name, *module.partition(":")[::2]) for name, module in fitcarl._MODULES.items()}
    assert {(name, module, there or name) for name, module, there in modules} == typed
    assert {*fitcarl._MODULES, "__version__"} == set(fitcarl.__all__)


def _layer(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def _imported_layers(path: Path) -> set[str]:
    layers = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module == "fitcarl":
                layers |= {alias.name for alias in node.names if alias.name in LAYERS}
            elif node.module.startswith("fitcarl."):
                layers.add(_layer(node.module))
        elif isinstance(node, ast.Import):
            layers |= {_layer(alias.name) for alias in node.names if alias.name.startswith("fitcarl.")}
    return layers


def test_layer_imports_only_from_earlier_layers() -> None:
    for path in PACKAGE.rglob("*.py"):
        layer = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if layer in ("__init__", "__main__", "_version"):
            continue
        assert layer in LAYERS, f"{layer} is not in LAYERS"
        later = {other for other in _imported_layers(path) if LAYERS.index(other) > LAYERS.index(layer)}
        assert not later, f"{path.relative_to(PACKAGE)} imports from {later}"
