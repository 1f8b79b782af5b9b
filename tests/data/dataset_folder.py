"""The files of a small dataset folder."""

from __future__ import annotations

from pathlib import Path

# Entities 0 to 2 are in the background; 3 and 4 are meta-train, 5 meta-validation and 6 meta-test entities.
FILES = {
    "entities.tsv": '0\tAnn\n1\tBob\n2\tCyd\u00a0(Kenya)\n3\t"New" Party\n4\tDan\n5\tEve\n6\tFay\n',
    "relations.tsv": "0\tvisits\n1\tpraises\n",
    "times.tsv": "0\t0\t2014-01-01\n24\t1\t2014-01-02\n72\t3\t2014-01-04\n",
    "background.tsv": "0\t0\t1\t24\n1\t1\t2\t0\n2\t0\t2\t72\n",
    "meta_train.tsv": "3\t3\t0\t0\t0\n3\t1\t1\t3\t24\n4\t4\t0\t3\t72\n4\t0\t0\t4\t0\n",
    "meta_valid.tsv": "5\t5\t0\t2\t72\n5\t0\t1\t5\t24\n",
    "meta_test.tsv": "6\t1\t1\t6\t0\n",
    "concepts.tsv": "0\tElite\n2\tArmy\n2\tElite\n",
    "dropped_cross_facts.tsv": "5\t0\t6\t0\n",
}


def contents(place: Path) -> dict[str, str]:
    return {file.name: file.read_bytes().decode() for file in place.iterdir()}
