"""Predictions with explanations, by name, from a trained run and facts about new entities."""

from fitcarl.predict.event_scores import EventScore, EventScores
from fitcarl.predict.example import Example
from fitcarl.predict.explanation import Evidence, Explanation, FactEffect
from fitcarl.predict.fact import Fact
from fitcarl.predict.prediction import Answer, Prediction, RelationShare, TimeInterval, TimePrediction
from fitcarl.predict.predictions import Predictions
from fitcarl.predict.predictor import Predictor
from fitcarl.predict.query import Query
from fitcarl.scoring.path import ExplanationPath

__all__ = [
    "Answer",
    "EventScore",
    "EventScores",
    "Evidence",
    "Example",
    "Explanation",
    "ExplanationPath",
    "Fact",
    "FactEffect",
    "Prediction",
    "Predictions",
    "Predictor",
    "Query",
    "RelationShare",
    "TimeInterval",
    "TimePrediction",
]
