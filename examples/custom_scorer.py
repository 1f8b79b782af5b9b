"""Evaluate your own scorer on the demo dataset: python examples/custom_scorer.py"""

import numpy as np

import fitcarl


class MostFrequentObjects:
    """Scores every entity by how often it is the object of the query relation in the background."""

    name = "most frequent objects"

    def __init__(self, dataset: fitcarl.Dataset) -> None:
        relations, facts = dataset.vocabulary.relation_ids, dataset.background
        facts = facts.both_directions(relations)  # queries may have inverse relations
        self.counts = np.zeros((relations.directed, len(dataset.vocabulary.entities)))
        np.add.at(self.counts, (facts.relation, facts.object), 1)

    def score(self, task, queries) -> fitcarl.Scores:  # noqa: ARG002
        return fitcarl.Scores.from_dense(self.counts[queries.relation])


if __name__ == "__main__":
    dataset = fitcarl.load_dataset("demo")  # or the name of a benchmark, or a folder
    scorer = MostFrequentObjects(dataset)
    print(fitcarl.evaluate_scorer(scorer, dataset, split="test", shots=3))
    print(fitcarl.compare(dataset, scorers=[scorer]))  # beside the heuristic baselines
