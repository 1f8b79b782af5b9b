"""Ablations: every variant is trained once and compared with the full preset by paired differences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fitcarl.config.presets import PRESETS
from fitcarl.config.settings import configure, flatten
from fitcarl.errors import InputError
from fitcarl.evaluation.bootstrap import paired_difference
from fitcarl.experiments.ablate import ABLATIONS, FULL, AblationPlan, AblationTable, ablate
from fitcarl.runs.evaluate import evaluate
from tests.experiments.test_reproduce import logged_messages, never_train, train_in_process
from tests.small import SMALL

SETTINGS = (*SMALL, "training.episodes=2")
CHOSEN = ABLATIONS["plus"][-1:]


@pytest.fixture(scope="module")
def plan(data: Path) -> AblationPlan:
    only = tuple(ablation.name for ablation in CHOSEN)
    return AblationPlan(str(data), shots=2, preset="plus", seeds=2, draws=1, settings=SETTINGS, only=only)


WITH_ABLATIONS = [name for name, preset in PRESETS.items() if preset.model in ABLATIONS]


@pytest.fixture(scope="module")
def finished(plan: AblationPlan, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, AblationTable, list[str]]:
    out = tmp_path_factory.mktemp("ablation")
    with logged_messages() as messages:
        table = ablate(plan, out, train=train_in_process)
    return out, table, messages


@pytest.mark.parametrize("preset", WITH_ABLATIONS)
def test_ablation_changes_only_its_settings(preset: str) -> None:
    full = flatten(configure(preset).model_dump())
    for ablation in AblationPlan("demo", preset=preset).ablations[1:]:
        other = flatten(configure(preset, ablation.settings).model_dump())
        changed = {name for name in full if full[name] != other[name]}
        assert changed == {setting.partition("=")[0] for setting in ablation.settings}


@pytest.mark.parametrize("name", ["copy support", "copy_support"])
def test_family_is_selected_by_label_or_setting_name(name: str) -> None:
    assert [ablation.name for ablation in AblationPlan("demo", only=(name,)).ablations] == ["full", "copy support"]


def test_every_preset_has_ablations_of_the_parts_that_it_has() -> None:
    names = {preset: [one.name for one in AblationPlan("demo", preset=preset).ablations] for preset in WITH_ABLATIONS}
    assert names["paper"] == ["full", "A1", "A2", "B", "C", "D", "E"]
    assert set(names["plus+names"]) - set(names["plus"]) == {"names"}
    assert len(names["plus"]) > len(names["paper"])


def test_every_feature_family_has_an_ablation() -> None:
    seen = {name for name, on in configure("plus").features.model_dump().items() if on}
    taken = {setting for ablation in ABLATIONS["plus"] for setting in ablation.settings}
    assert taken >= {f"features.{name}=off" for name in seen}


def test_unknown_ablation_suggests_nearest_name(plan: AblationPlan, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'similar entities'"):
        ablate(replace(plan, only=("similar entitie",)), tmp_path / "out", train=never_train)


def test_full_preset_is_first_and_has_no_difference(finished: tuple[Path, AblationTable, list[str]]) -> None:
    out, table, messages = finished
    assert [variant.ablation for variant in table.variants] == [FULL, *CHOSEN]
    assert [variant.gain is None for variant in table.variants] == [True, False]
    assert f"run 4 of 4: tiny, 2-shot, plus, {CHOSEN[-1].name}, seed 1: training" in messages
    assert len([path for path in out.iterdir() if (path / "config.json").exists()]) == 4
    assert (out / "tiny-2shot-plus-0").is_dir()
    assert "|split:valid|setting:completion|shots:2|draws:1+1|seeds:2|" in table.signature


def test_difference_is_paired_over_all_seeds_and_draws(
    plan: AblationPlan, finished: tuple[Path, AblationTable, list[str]]
) -> None:
    import numpy as np

    out, table, _ = finished
    variant = table.variants[1]
    entity, ranks = [], {}
    for ablation in (FULL, variant.ablation):
        reports = [evaluate(job.folder, split="valid", draws=1) for job in plan.jobs(ablation, out)]
        draws = [draw for report in reports for draw in report.draws]
        entity = [draw.queries.entity for draw in draws]
        ranks[ablation.name] = np.concatenate([draw.ranks["time-aware"].of("realistic") for draw in draws])
    gain = paired_difference(np.concatenate(entity), ranks[variant.ablation.name], ranks["full"])
    assert variant.gain == gain
    assert variant.mrr.mean == pytest.approx(float((1 / ranks[variant.ablation.name]).mean()))
    assert gain.mean == pytest.approx(variant.mrr.mean - table.variants[0].mrr.mean)
    assert len(variant.mrr_by_seed) == 2


def test_second_call_reuses_all_runs(plan: AblationPlan, finished: tuple[Path, AblationTable, list[str]]) -> None:
    out, table, _ = finished
    assert ablate(plan, out, train=never_train) == table


def test_table_is_written_to_disk(finished: tuple[Path, AblationTable, list[str]]) -> None:
    out, table, _ = finished
    assert json.loads((out / "ablation.json").read_text()) == table.to_json()
    page = (out / "ablation.md").read_text()
    for variant in table.variants:
        assert f"| {variant.ablation.name} " in page
    assert table.signature in page


def test_run_with_other_settings_is_rejected_before_training(
    plan: AblationPlan, finished: tuple[Path, AblationTable, list[str]]
) -> None:
    longer = replace(plan, settings=(*SMALL, "training.episodes=3"))
    with pytest.raises(InputError, match=r"tiny-2shot-plus-0.*training\.episodes=2"):
        ablate(longer, finished[0], train=never_train)


def test_unknown_preset_suggests_nearest_name(plan: AblationPlan, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'plus'"):
        ablate(replace(plan, preset="pluss"), tmp_path / "out", train=never_train)
    assert not (tmp_path / "out").exists()
