"""From facts about a new actor, by name, to explained answers."""

from fitcarl.predict.example import Example
from fitcarl.predict.fact import Fact
from fitcarl.predict.prediction import Answer, Prediction
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.query import Query
from fitcarl.scoring.path import ExplanationPath

__all__ = ["Answer", "Example", "ExplanationPath", "Fact", "Prediction", "Predictor", "Query"]
