"""An ablation trains each variant once and says how far it is from the whole, pair by pair."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fitcarl.config.schema import PRESETS, configure, flat
from fitcarl.errors import InputError
from fitcarl.evaluation.bootstrap import paired_difference
from fitcarl.experiments.ablate import SWITCHES, WHOLE, Ablation, Study, ablate
from fitcarl.runs.evaluate import evaluate
from tests.experiments.test_reproduce import here, nobody
from tests.small import SMALL

SETTINGS = (*SMALL, "training.episodes=2")
CHOSEN = SWITCHES["plus"][-1:]


@pytest.fixture(scope="module")
def study(data: Path) -> Study:
    only = tuple(switch.name for switch in CHOSEN)
    return Study(str(data), shots=2, preset="plus", seeds=2, draws=1, settings=SETTINGS, only=only)


@pytest.fixture(scope="module")
def finished(study: Study, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ablation, list[str]]:
    out = tmp_path_factory.mktemp("ablation")
    said: list[str] = []
    return out, ablate(study, out, train=here, say=said.append), said


@pytest.mark.parametrize("preset", SWITCHES)
def test_every_switch_changes_what_it_says_and_nothing_else(preset: str) -> None:
    whole = flat(configure(preset).model_dump())
    for switch in SWITCHES[preset]:
        other = flat(configure(preset, switch.settings).model_dump())
        changed = {name for name in whole if whole[name] != other[name]}
        assert changed == {setting.partition("=")[0] for setting in switch.settings}


@pytest.mark.parametrize("name", ["copy support", "copy_support"])
def test_a_family_is_named_as_in_the_table_or_as_its_setting(name: str) -> None:
    assert [switch.name for switch in Study("demo", only=(name,)).switches] == ["whole", "copy support"]


def test_every_preset_has_switches_and_the_paper_has_its_own() -> None:
    assert set(SWITCHES) == set(PRESETS)
    assert [switch.name for switch in SWITCHES["paper"]] == ["A1", "A2", "B", "C", "D", "E"]


def test_every_family_of_evidence_can_be_taken_away() -> None:
    seen = {name for name, on in configure("plus").features.model_dump().items() if on}
    taken = {setting for switch in SWITCHES["plus"] for setting in switch.settings}
    assert taken >= {f"features.{name}=off" for name in seen}


def test_an_unknown_switch_is_told_the_nearest(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'similar entities'"):
        ablate(replace(study, only=("similar entitie",)), tmp_path / "out", train=nobody)


def test_the_whole_preset_comes_first_and_has_no_difference(finished: tuple[Path, Ablation, list[str]]) -> None:
    out, table, said = finished
    assert [variant.switch for variant in table.variants] == [WHOLE, *CHOSEN]
    assert [variant.gain is None for variant in table.variants] == [True, False]
    assert f"run 4 of 4: tiny, 2-shot, plus, {CHOSEN[-1].name}, seed 1: training" in said
    assert len([path for path in out.iterdir() if path.is_dir()]) == 4
    assert (out / "tiny-2shot-plus-0").is_dir()
    assert "|split:valid|shots:2|draws:1+1|seeds:2|" in table.signature


def test_a_difference_is_that_of_all_seeds_and_draws(study: Study, finished: tuple[Path, Ablation, list[str]]) -> None:
    import numpy as np

    out, table, _ = finished
    variant = table.variants[1]
    entity, ranks = [], {}
    for switch in (WHOLE, variant.switch):
        reports = [evaluate(case.folder, split="valid", draws=1) for case in study.cases(switch, out)]
        draws = [draw for report in reports for draw in report.draws]
        entity = [draw.queries.entity for draw in draws]
        ranks[switch.name] = np.concatenate([draw.ranks["time-aware"].of("realistic") for draw in draws])
    gain = paired_difference(np.concatenate(entity), ranks[variant.switch.name], ranks["whole"])
    assert variant.gain == gain
    assert variant.mrr.mean == pytest.approx(float((1 / ranks[variant.switch.name]).mean()))
    assert gain.mean == pytest.approx(variant.mrr.mean - table.variants[0].mrr.mean)
    assert len(variant.mrr_by_seed) == 2


def test_calling_again_trains_nothing_and_says_the_same(
    study: Study, finished: tuple[Path, Ablation, list[str]]
) -> None:
    out, table, _ = finished
    assert ablate(study, out, train=nobody) == table


def test_the_table_is_on_disk(finished: tuple[Path, Ablation, list[str]]) -> None:
    out, table, _ = finished
    assert json.loads((out / "ablation.json").read_text()) == table.to_json()
    page = (out / "ablation.md").read_text()
    for variant in table.variants:
        assert f"| {variant.switch.name} " in page
    assert table.signature in page


def test_a_run_with_other_settings_is_named_before_anything_is_trained(
    study: Study, finished: tuple[Path, Ablation, list[str]]
) -> None:
    longer = replace(study, settings=(*SMALL, "training.episodes=3"))
    with pytest.raises(InputError, match=r"tiny-2shot-plus-0.*learn\.episodes=2"):
        ablate(longer, finished[0], train=nobody)


def test_an_unknown_preset_is_told_the_nearest(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'plus'"):
        ablate(replace(study, preset="pluss"), tmp_path / "out", train=nobody)
    assert not (tmp_path / "out").exists()
