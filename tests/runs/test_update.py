"""An update adds facts to the background of a run: exactly, atomically, and without touching what was trained."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fitcarl.core.files
import fitcarl.core.storage
from fitcarl.core.lock import FolderInUseError, lock_folder
from fitcarl.data.facts import named_facts
from fitcarl.data.io.registry import load_dataset
from fitcarl.data.quadruples import Quadruples
from fitcarl.errors import InputError
from fitcarl.graph.temporal import TemporalGraph
from fitcarl.models.plus.statistics import compute_statistics
from fitcarl.models.registry import trainable_class
from fitcarl.predict import Predictor, Query
from fitcarl.runs.evaluate import evaluate
from fitcarl.runs.identity import run_identity
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.runs.update import update
from fitcarl.synthetic import generate_world
from fitcarl.training.api import resume, train
from tests.small import SMALL, SMALL_MODELS, small

Row = tuple[str, str, str, str]
NEW = "Harbour Guild"


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """The facts of the tiny world in order of time."""
    facts = generate_world("tiny", seed=7).facts
    return sorted(named_facts(facts.quadruples, facts.vocabulary, facts.calendar), key=lambda row: row[3])


@pytest.fixture(scope="module")
def old(rows: list[Row]) -> list[Row]:
    return rows[:2400]


@pytest.fixture(scope="module")
def new(rows: list[Row]) -> list[Row]:
    """The last facts of the world, and some of an entity that is new."""
    others = [rows[i] for i in (2500, 2600, 2700, 2800, 2900)]
    return [*rows[2400:], *((NEW, relation, object, time) for _, relation, object, time in others)]


@pytest.fixture(scope="module")
def trained(old: list[Row], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on the earlier facts, all of which are its background."""
    folder = tmp_path_factory.mktemp("runs")
    file = folder / "old.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in old), encoding="utf-8")
    settings = (*SMALL, "training.validate_every=1")
    train(file, out=folder / "run", shots=2, episodes=1, settings=settings)
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "run")


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def answers_of(run: Path, rows: list[Row]) -> list[Any]:
    queries = [Query(subject, None, relation, "2024-01-05", top=20, paths=1) for subject, relation, _, _ in rows]
    return [prediction.to_json() for prediction in Predictor.load(run).answer(queries, [])]


def test_background_is_the_union_of_facts(run: Path, old: list[Row], new: list[Row]) -> None:
    done = update(run, [*new, *new[:3], *old[:5]])
    assert (done.rows, done.added, done.duplicates, done.already_known) == (len(new) + 8, len(new), 3, 5)
    loaded = Run.load(run)
    found = named_facts(loaded.context.facts, loaded.vocabulary, loaded.calendar)
    assert sorted(found) == sorted({*old, *new})
    assert loaded.calendar.label(loaded.calendar.span - 1) == max(row[3] for row in new)
    assert done.facts == len({*old, *new})
    assert NEW in loaded.vocabulary.entities


def test_statistics_equal_a_fresh_count(run: Path, new: list[Row]) -> None:
    update(run, new)
    loaded = Run.load(run)
    facts = Quadruples.from_rows(np.random.default_rng(0).permutation(loaded.context.facts.rows()))
    graph = TemporalGraph.from_facts(facts, len(loaded.vocabulary.entities), loaded.vocabulary.relation_ids)
    fresh = compute_statistics(graph.background_facts(), graph, loaded.concepts, loaded.context.units_per_tick)
    saved = loaded.model.statistics.arrays()  # type: ignore[attr-defined]
    for name, array in fresh.arrays().items():
        np.testing.assert_array_equal(saved[name], array, err_msg=name)


def test_later_facts_do_not_change_questions_about_the_past(
    run: Path, old: list[Row], new: list[Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored snapshots of the statistics stay valid, and are read instead of computed."""

    def past_answers() -> list[Any]:
        asked = [row for row in old if row[3] < "2023-05-01"][:3]
        queries = [Query(row[0], None, row[1], "2023-06-15", top=20, paths=1) for row in asked]
        return [prediction.to_json()["answers"] for prediction in Predictor.load(run).answer(queries, [])]

    before = past_answers()
    assert all(before)
    update(run, [row for row in new if row[3] > old[-1][3]])
    monkeypatch.setattr("fitcarl.models.plus.trainable.compute_statistics", None)
    assert past_answers() == before


def test_predictions_are_those_of_the_weights_on_all_facts(run: Path, new: list[Row]) -> None:
    before = Run.load(run)
    update(run, new)
    after = Run.load(run)
    extended = before.context.with_capacity(after.context.graph.entities - before.context.graph.entities)
    model = before.model.with_capacity(extended).refit_statistics(after.context.graph)
    query = Query(new[0][0], None, new[0][1], "2024-01-05", top=50)
    expected = Predictor(Run(**{**vars(after), "model": model})).answer([query], [])
    assert [one.to_json() for one in Predictor(after).answer([query], [])] == [one.to_json() for one in expected]


def test_two_updates_equal_one(run: Path, trained: Path, new: list[Row], tmp_path: Path) -> None:
    once = shutil.copytree(trained, tmp_path / "once")
    update(once, new, judged=0)
    update(run, new[:250], judged=0)
    update(run, new[250:], judged=0)
    two, one = files_of(run / "update-2"), files_of(once / "update-1")
    assert two.pop("manifest.json") != one.pop("manifest.json")  # the paths of the files
    assert two == one
    assert run_identity(RunFolder(run).updated()) == run_identity(RunFolder(once).updated())
    assert [record.facts for record in Run.load(run).updates] == [250, len(new) - 250]
    assert Run.load(run).updates[-1].background_digest == Run.load(once).updates[-1].background_digest


def test_new_entity_is_asked_about_and_answered_with(run: Path, new: list[Row]) -> None:
    update(run, new, judged=0)
    predictor = Predictor.load(run)
    assert len(predictor.ask(NEW, new[0][1], "2024-01-05"))
    partner = new[-1]
    answers = predictor.ask(None, partner[1], "2024-01-05", top=200, object=partner[2])
    assert NEW in [answer.entity for answer in answers]


def test_copy_leaves_the_run_alone(run: Path, new: list[Row], tmp_path: Path) -> None:
    before = files_of(run)
    (run / "observed.sqlite").write_bytes(b"facts that were observed elsewhere")
    update(run, new, out=tmp_path / "copy", judged=0)
    assert files_of(run) == {**before, "observed.sqlite": b"facts that were observed elsewhere"}
    assert not (tmp_path / "copy" / "observed.sqlite").exists()
    update(run, new, judged=0)
    assert files_of(tmp_path / "copy" / "update-1") == files_of(run / "update-1")
    with pytest.raises(InputError, match="exists already"):
        update(run, new, out=tmp_path / "copy")


def test_dry_run_writes_nothing(run: Path, new: list[Row]) -> None:
    before = files_of(run)
    done = update(run, new, dry_run=True)
    assert files_of(run) == before
    assert done.drift.mrr is not None
    assert update(run, new).drift == done.drift


def test_update_without_new_facts_changes_nothing(run: Path, old: list[Row]) -> None:
    before = files_of(run)
    done = update(run, old[:10])
    assert (done.added, done.already_known, done.updates) == (0, 10, 0)
    assert files_of(run) == before


class Killed(BaseException):
    """The process is killed: nothing after it runs, cleanup included."""


@contextmanager
def failing_at(step: int, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Raises an error at one of the calls that change files; the list has the calls before it."""
    calls: list[str] = []

    def wrapped(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            calls.append(name)
            if len(calls) - 1 == step:
                raise error
            return function(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for module in (fitcarl.core.files, fitcarl.core.storage):
            patch.setattr(module, "write_atomically", wrapped("write", module.write_atomically))
        patch.setattr(np, "save", wrapped("save", np.save))
        patch.setattr(Path, "write_text", wrapped("write_text", Path.write_text))
        patch.setattr(Path, "mkdir", wrapped("mkdir", Path.mkdir))
        patch.setattr(Path, "replace", wrapped("replace", Path.replace))
        if isinstance(error, Killed):
            remove = shutil.rmtree
            patch.setattr(shutil, "rmtree", lambda *path, **how: None if len(calls) > step else remove(*path, **how))
        yield calls


def test_killed_update_leaves_the_run_before_or_after_it(
    run: Path, new: list[Row], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    update(run, new[:10], judged=0)
    before = answers_of(run, new[:3])
    after_run = shutil.copytree(run, tmp_path / "after")
    update(after_run, new, judged=0)
    after = answers_of(after_run, new[:3])
    assert before != after
    step, results = 0, []
    while True:
        with failing_at(step, Killed(), monkeypatch) as calls:
            try:
                update(run, new, judged=0)
            except Killed:
                pass
            else:
                break
        results.append(answers_of(run, new[:3]))
        step += 1
        if results[-1] == after:  # killed after it took effect, before the manifest of the trained run was written
            break
    assert len(calls) == step >= 10  # every write, of names, graph, artifacts, weights and history, was interrupted
    assert all(result == before for result in results[:-1])
    assert results[-1] == after
    update(run, [("A", new[0][1], "B", new[0][3])], judged=0)
    assert not list(run.rglob("*.unfinished"))


def test_full_disk_is_one_line_and_leaves_the_run(
    run: Path, new: list[Row], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = files_of(run)
    for step in (2, 5, 8):
        for out in (None, tmp_path / "copy"):
            full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            with failing_at(step, full, monkeypatch), pytest.raises(InputError, match="No space left on device"):
                update(run, new, judged=0, out=out)
            assert files_of(run) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_run_in_use_is_refused(run: Path, new: list[Row]) -> None:
    with lock_folder(run), pytest.raises(FolderInUseError, match="in use"):
        update(run, new)


def test_evaluation_is_that_of_the_trained_run(run: Path, new: list[Row]) -> None:
    before = evaluate(run)
    update(run, new, judged=0)
    for report in (evaluate(run), evaluate(Run.load(run))):
        assert "|updates:left-out|" in str(report.signature)
        for filter, ranks in report.official.ranks.items():
            np.testing.assert_array_equal(ranks.of("realistic"), before.official.ranks[filter].of("realistic"))
    assert "updates" not in str(before.signature)


def test_updated_run_is_not_trained_further(run: Path, new: list[Row]) -> None:
    update(run, new, judged=0)
    with pytest.raises(InputError, match="was updated and cannot be trained further; found '1 updates'"):
        resume(run, episodes=5)


def test_damaged_history_is_an_error(run: Path, new: list[Row]) -> None:
    update(run, new, judged=0)
    (run / "updates.json").write_text('{"format": 1, "current": "../other", "updates": [{}]}')
    with pytest.raises(InputError, match=r"updates\.json: is damaged"):
        Run.load(run)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (("A", "Unheard of", "B", "2024-01-01"), "row 2, field relation: unknown relation; found 'Unheard of'"),
        (("A", "Consult", "B", "2024-13-01"), "row 2, field time: no such date"),
        (
            ("A", "Consult", "B", "2022-12-31"),
            "row 2, field time: before the first time of the run",
        ),
        (("A", "Consult", "B", "2024-01"), "row 2, field time: a time without day; found '2024-01'"),
        (("A", "Consult", "B", "9024-01-01"), "row 2, field time: a time out of range"),
        (("", "Consult", "B", "2024-01-01"), "row 2, field subject: "),
    ],
)
def test_unusable_fact_is_one_line_with_its_row(run: Path, old: list[Row], row: Row, problem: str) -> None:
    before = files_of(run)
    with pytest.raises(InputError) as caught:
        update(run, [old[0], row])
    assert str(caught.value).startswith(problem)
    assert files_of(run) == before


def test_unknown_relations_are_skipped_on_request(run: Path, new: list[Row]) -> None:
    done = update(run, [*new, ("Only here", "Unheard of", "Only there", "2024-01-01")], skip_unknown_relations=True)
    assert (done.added, done.unknown_relations) == (len(new), 1)
    assert "Only here" not in Run.load(run).vocabulary.entities


def test_finer_times_are_truncated_and_counted(run: Path, new: list[Row]) -> None:
    finer = [(s, r, o, f"{t}T09:30:00Z") for s, r, o, t in new[:4]]
    done = update(run, [*finer, *new[:4]], judged=0)
    assert (done.added, done.duplicates, done.times_truncated) == (4, 4, 4)


def test_drift_of_one_fact_is_its_reciprocal_rank(run: Path, new: list[Row]) -> None:
    """The same question to the predictor, which reads names and finds the support on its own."""
    predictor = Predictor.load(run)
    known = {predictor.entities[i] for i in np.flatnonzero(np.diff(predictor.run.context.graph.base.offsets))}
    judged = 0
    for fact in [row for row in new[40:] if row[0] in known and row[2] in known][:5]:
        answers = [answer.entity for answer in predictor.ask(fact[0], fact[1], fact[3], top=1000, paths=0)]
        drift = update(run, [fact], dry_run=True).drift
        assert (drift.eligible, drift.judged, drift.new_entities) == (1, 1, 0)
        if fact[2] in answers and drift.mrr is not None:
            assert drift.mrr == pytest.approx(1 / (answers.index(fact[2]) + 1))
            judged += 1
    assert judged


def test_drift_uses_the_earliest_facts_of_a_new_entity_as_support(run: Path, new: list[Row]) -> None:
    own = [row for row in new if row[0] == NEW]
    drift = update(run, own, dry_run=True).drift
    assert (drift.facts, drift.eligible, drift.new_entities) == (5, 3, 3)  # two shots
    times = sorted(row[3] for row in own)
    support = [row for row in own if row[3] in times[:2]]
    predictor = Predictor.load(run)
    ranks = []
    for _, relation, object, time in sorted(own, key=lambda row: row[3])[2:]:
        query = Query(NEW, None, relation, time, top=1000, paths=0)
        answers = [answer.entity for answer in predictor.answer([query], support)[0]]
        ranks.append(answers.index(object) + 1)
    assert drift.mrr == pytest.approx(np.mean([1 / rank for rank in ranks]), abs=0.02)


def test_drift_of_facts_within_the_background_is_judged_only_if_there_are_no_later_ones(
    run: Path, old: list[Row], new: list[Row]
) -> None:
    subject, relation, object, _ = old[1500]
    earlier = (subject, relation, object, "2023-06-01")
    drift = update(run, [earlier], dry_run=True).drift
    assert drift.within_background
    assert drift.judged == 1
    both = update(run, [earlier, *new[-50:-40]], dry_run=True).drift
    assert not both.within_background
    assert both.eligible <= 10


def test_drift_is_measured_on_a_sample_of_many_facts(run: Path, new: list[Row]) -> None:
    drift = update(run, new, judged=20, dry_run=True).drift
    assert drift.judged == 20 < drift.eligible <= drift.facts
    assert update(run, new, judged=20, dry_run=True).drift == drift
    assert update(run, new, judged=20, seed=1, dry_run=True).drift != drift


TAKES_NEW_ENTITIES = {"fitcarl": True, "complex": False, "gen": False, "filt": False, "titer": True, "mean": True}


@pytest.mark.parametrize("model", TAKES_NEW_ENTITIES)
def test_every_model_takes_new_facts_or_says_why_not(model: str, data: Path, tmp_path: Path) -> None:
    dataset = load_dataset(str(data))
    run = tmp_path / "run"
    preset = "paper" if model == "fitcarl" else None
    settings = small("paper") if preset else small_model(model)
    train(data, out=run, shots=2, preset=preset, model=None if preset else model, episodes=2, settings=settings)
    last = dataset.calendar.label(dataset.calendar.span - 1)
    facts = named_facts(dataset.background, dataset.vocabulary, dataset.calendar)
    known = [(s, r, o, last) for s, r, o, _ in facts[:20]]
    assert update(run, known).added
    later = "2024-01-05"
    query = Query(known[0][0], None, known[0][1], later)
    assert len(Predictor.load(run).answer([query], [])[0])
    fresh = [(NEW, r, o, last) for _, r, o, _ in facts[:5]]
    before = files_of(run)
    if TAKES_NEW_ENTITIES[model]:
        assert update(run, fresh).new_entities == 1
        assert len(Predictor.load(run).ask(NEW, fresh[0][1], later))
    else:
        with pytest.raises(InputError, match=f"the model {model} ranks answers by a trained row per entity"):
            update(run, fresh)
        assert files_of(run) == before
    assert set(trainable_class(model).artifacts) <= {path.stem for path in run.glob("*.safetensors")}


def small_model(model: str) -> tuple[str, ...]:
    return (*SMALL_MODELS[model], "sees=fold-in") if model == "complex" else SMALL_MODELS[model]


def test_words_of_new_names_have_rows(data: Path, tmp_path: Path) -> None:
    dataset = load_dataset(str(data))
    run = tmp_path / "run"
    settings = (*SMALL, "features.names=true")
    train(data, out=run, shots=2, episodes=2, settings=settings)
    last = dataset.calendar.label(dataset.calendar.span - 1)
    s, r, o, _ = named_facts(dataset.background, dataset.vocabulary, dataset.calendar)[0]
    update(run, [("Xyzzy Plugh (Nowhere)", r, o, last)])
    assert len(Predictor.load(run).ask("Xyzzy Plugh (Nowhere)", r, "2024-01-05"))
    assert len(Predictor.load(run).ask(s, r, "2024-01-05"))


def test_update_of_a_run_for_forecasts_extends_its_reach_network(
    old: list[Row], new: list[Row], tmp_path: Path
) -> None:
    file = tmp_path / "old.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in old), encoding="utf-8")
    settings = (*SMALL, "training.validate_every=1")
    before = train(file, out=tmp_path / "run", shots=2, episodes=1, setting="forecast", settings=settings)
    update(tmp_path / "run", new)
    after = Run.load(tmp_path / "run")
    extra = len(after.vocabulary.entities) - len(before.vocabulary.entities)
    assert extra > 0
    one, other = before.model.reach.bias, after.model.reach.bias  # type: ignore[attr-defined]
    assert len(other) == len(one) + extra
    assert np.array_equal(other[: len(one)], one)
    assert np.allclose(other[len(one) :], one.mean())
