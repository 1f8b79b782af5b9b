"""Few-shot link prediction for entities that are new to a temporal knowledge graph, with explanations.

The names below are the public interface. Each is imported at its first use, so ``import fitcarl`` is fast. Everything
else can be imported from its module and may change.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from fitcarl._version import __version__

if TYPE_CHECKING:
    from fitcarl.config.schema import Config
    from fitcarl.core.progress_bar import ProgressBar
    from fitcarl.data.dataset import Dataset
    from fitcarl.data.io.reader import read_facts
    from fitcarl.data.io.registry import load_dataset
    from fitcarl.data.split import split_facts as split
    from fitcarl.errors import InputError
    from fitcarl.evaluation.protocol import evaluate_scorer
    from fitcarl.evaluation.report import Report
    from fitcarl.experiments.compare import compare
    from fitcarl.predict.predictor import Predictor
    from fitcarl.predict.query import Query
    from fitcarl.runs.evaluate import evaluate
    from fitcarl.runs.run import Run
    from fitcarl.runs.update import update
    from fitcarl.scoring.scorer import Scorer
    from fitcarl.scoring.scores import Scores
    from fitcarl.training.api import resume, train

# Read when torch is loaded: its threads sleep while they wait instead of spinning. The tensors here are small, and
# spinning threads make training many times slower as soon as another process uses a core. Some microseconds of spinning
# bridge the gaps between small operations; without them a second thread is woken too late to help.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")

_MODULES = {
    "Config": "fitcarl.config.schema",
    "Dataset": "fitcarl.data.dataset",
    "InputError": "fitcarl.errors",
    "Predictor": "fitcarl.predict.predictor",
    "ProgressBar": "fitcarl.core.progress_bar",
    "Query": "fitcarl.predict.query",
    "Report": "fitcarl.evaluation.report",
    "Run": "fitcarl.runs.run",
    "Scorer": "fitcarl.scoring.scorer",
    "Scores": "fitcarl.scoring.scores",
    "compare": "fitcarl.experiments.compare",
    "evaluate": "fitcarl.runs.evaluate",
    "evaluate_scorer": "fitcarl.evaluation.protocol",
    "load_dataset": "fitcarl.data.io.registry",
    "read_facts": "fitcarl.data.io.reader",
    "resume": "fitcarl.training.api",
    "split": "fitcarl.data.split:split_facts",
    "train": "fitcarl.training.api",
    "update": "fitcarl.runs.update",
}
"""Public name → its module (``module:name`` if it has another name there)."""

__all__ = [
    "Config",
    "Dataset",
    "InputError",
    "Predictor",
    "ProgressBar",
    "Query",
    "Report",
    "Run",
    "Scorer",
    "Scores",
    "__version__",
    "compare",
    "evaluate",
    "evaluate_scorer",
    "load_dataset",
    "read_facts",
    "resume",
    "split",
    "train",
    "update",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'fitcarl' has no attribute {name!r}")
    module, _, attribute = _MODULES[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
