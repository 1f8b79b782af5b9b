"""Words, places and roles of entity names."""

from __future__ import annotations

from fitcarl.data.quadruples import Quadruples
from fitcarl.data.relations import RelationIds
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.names import Names


def small_names() -> tuple[Names, TemporalGraph]:
    texts = ["Police (Nigeria)", "Citizen (Nigeria)", "Police (Chad)", "Police (Peru)", "Ann", "Nigeria"]
    facts = Quadruples.from_rows([(4, 0, 0, 1), (4, 0, 1, 2), (4, 0, 3, 3), (2, 1, 3, 4)])
    graph = TemporalGraph.from_facts(facts, len(texts), RelationIds(2))
    return Names.from_texts(texts, graph), graph


def test_rare_words_have_higher_weights() -> None:
    names, _ = small_names()
    weight = {word: names.weight[number] for word, number in names.word_index.items()}
    assert weight["chad"] > weight["nigeria"] > 0
    assert weight["chad"] > weight["police"]


def test_place_comes_from_the_name_or_from_most_neighbours() -> None:
    names, _ = small_names()
    nigeria, chad, peru = (names.place_index[place] for place in ("nigeria", "chad", "peru"))
    assert names.place.tolist() == [nigeria, nigeria, chad, peru, nigeria, nigeria]
    police, citizen = names.role_index["police"], names.role_index["citizen"]
    assert names.role.tolist() == [police, citizen, police, police, -1, -1]
    assert names.affinity[nigeria, nigeria] > names.affinity[nigeria, peru] > names.affinity[nigeria, chad]


def test_unseen_entities_can_be_named() -> None:
    names, _ = small_names()
    extended = names.with_capacity(2).with_names({7: "Army (Chad)"})
    row = extended.words[extended.offsets[7] : extended.offsets[8]].tolist()
    assert row == [names.word_index["chad"]]
    assert (extended.place[6], extended.place[7], extended.role[7]) == (-1, names.place_index["chad"], -1)
    assert extended.words[: names.offsets[-1]].tolist() == names.words.tolist()


def test_entity_without_facts_has_no_place_by_neighbours() -> None:
    names, graph = small_names()
    reduced = TemporalGraph.from_facts(Quadruples.from_rows([(2, 1, 3, 4)]), graph.entities, graph.relations)
    assert names.refit(reduced).place[4] == -1
