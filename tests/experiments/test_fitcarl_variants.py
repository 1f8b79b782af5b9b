"""Variants of the paper's model in Table 3."""

from __future__ import annotations

from fitcarl.config.presets import PRESETS
from fitcarl.config.settings import configure, flatten
from fitcarl.experiments.fitcarl_variants import CHOICES, variant_systems


def test_choices_of_the_authors_code_make_up_their_preset() -> None:
    beyond_the_text = [choice for choice in CHOICES if choice.name not in ("scale", "queries")]
    together = configure("paper", [text for choice in beyond_the_text for text in choice.settings])
    exclude = {"preset"}
    assert flatten(together.model_dump(exclude=exclude)) == flatten(configure("authors").model_dump(exclude=exclude))


def test_every_choice_changes_the_preset_and_nothing_else() -> None:
    paper = flatten(configure("paper").model_dump())
    for system in variant_systems(["paper:choices"], []):
        changed = flatten(configure("paper", system.settings).model_dump())
        assert {name for name in paper if changed[name] != paper[name]} == {
            text.partition("=")[0] for text in system.settings
        }


def test_choices_have_names_and_folders_of_their_own_and_no_published_figures() -> None:
    systems = variant_systems(["paper:full", "paper:choices", "paper:returns", "authors"], [])
    names = ["paper", *(f"paper + {choice.name}" for choice in CHOICES), "authors"]
    assert [system.name for system in systems] == names
    assert len({system.stem for system in systems}) == len(names)
    assert [system.name for system in systems if system.published] == ["paper", "authors"]
    assert set(PRESETS) & {system.name for system in systems} == {"paper", "authors"}
