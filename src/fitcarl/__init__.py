"""Whom will a new actor deal with, how, when, and why?

The names below are the public interface; each is imported when it is first used, so ``import fitcarl`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from fitcarl._version import __version__

if TYPE_CHECKING:
    from fitcarl.data.dataset import Dataset
    from fitcarl.data.describe import describe
    from fitcarl.data.facts import Facts
    from fitcarl.data.io.dataset_folder import write_dataset
    from fitcarl.data.io.reader import read_facts
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.data.quadruples import Quadruples
    from fitcarl.data.split import split_facts as split
    from fitcarl.errors import InputError
    from fitcarl.experiments.compare import compare
    from fitcarl.graph.actions import Adaptive, Nearest, action_space
    from fitcarl.graph.storage import open_graph, save_graph
    from fitcarl.graph.temporal import TemporalGraph
    from fitcarl.predict.predictor import Predictor
    from fitcarl.predict.query import Query
    from fitcarl.runs.evaluate import evaluate
    from fitcarl.runs.run import Run
    from fitcarl.synthetic import generate_world
    from fitcarl.training.api import resume, train

_HOMES = {
    "Adaptive": "fitcarl.graph.actions",
    "Dataset": "fitcarl.data.dataset",
    "Facts": "fitcarl.data.facts",
    "InputError": "fitcarl.errors",
    "Nearest": "fitcarl.graph.actions",
    "Predictor": "fitcarl.predict.predictor",
    "Quadruples": "fitcarl.data.quadruples",
    "Query": "fitcarl.predict.query",
    "Run": "fitcarl.runs.run",
    "TemporalGraph": "fitcarl.graph.temporal",
    "action_space": "fitcarl.graph.actions",
    "compare": "fitcarl.experiments.compare",
    "describe": "fitcarl.data.describe",
    "evaluate": "fitcarl.runs.evaluate",
    "generate_world": "fitcarl.synthetic",
    "load_dataset": "fitcarl.data.io.registry",
    "open_graph": "fitcarl.graph.storage",
    "read_facts": "fitcarl.data.io.reader",
    "resume": "fitcarl.training.api",
    "save_graph": "fitcarl.graph.storage",
    "split": "fitcarl.data.split:split_facts",
    "train": "fitcarl.training.api",
    "write_dataset": "fitcarl.data.io.dataset_folder",
}
"""Public name → the module that defines it (``module:name`` where it is called differently there)."""

__all__ = [
    "Adaptive",
    "Dataset",
    "Facts",
    "InputError",
    "Nearest",
    "Predictor",
    "Quadruples",
    "Query",
    "Run",
    "TemporalGraph",
    "__version__",
    "action_space",
    "compare",
    "describe",
    "evaluate",
    "generate_world",
    "load_dataset",
    "open_graph",
    "read_facts",
    "resume",
    "save_graph",
    "split",
    "train",
    "write_dataset",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'fitcarl' has no attribute {name!r}")
    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
