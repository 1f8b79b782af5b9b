"""From facts about a new actor, by name, to explained answers."""

from fitcarl.predict.answer import Answer, Prediction
from fitcarl.predict.example import Example
from fitcarl.predict.fact import Fact
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.question import Question
from fitcarl.search.explanation import Path

__all__ = ["Answer", "Example", "Fact", "Path", "Prediction", "Predictor", "Question"]
