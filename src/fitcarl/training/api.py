"""The ways into learning: from a dataset, or from a run that was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from fitcarl.config.schema import Config, configure
from fitcarl.core.lock import alone
from fitcarl.data.dataset import Dataset
from fitcarl.data.facts import Facts
from fitcarl.data.holdout import dataset_from_facts
from fitcarl.data.io.formats import ENDINGS
from fitcarl.data.io.reader import read_facts
from fitcarl.data.io.registry import REGISTRY, load_dataset
from fitcarl.data.io.validation import validate
from fitcarl.errors import InputError
from fitcarl.models.base import TrainableModel
from fitcarl.models.factorization.cache import embeddings_for
from fitcarl.models.factorization.embeddings import Embeddings
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.tasks.sampler import TaskSampler
from fitcarl.training.loop import Progress, make_task_sampler, train_run


def train(
    data: str | Path | Dataset | Facts,
    *,
    out: str | Path,
    shots: int = 3,
    preset: str = "plus",
    seed: int = 0,
    episodes: int | None = None,
    settings: Iterable[str] = (),
    read: Callable[[Path], Facts] = read_facts,
    embeddings: Callable[[Dataset, Config], Embeddings] | None = None,
    watch: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    note: Callable[[str], None] | None = None,
) -> Run:
    """Trains on a dataset (a catalogue name, a folder, or one already loaded) and returns the run in folder ``out``.

    Plain facts, loaded or in a file, do as well: some actors are held out for validation while it learns, others play
    newcomers in turn, and the trained run knows all facts; ``note`` is told of it line by line. ``read`` reads a file
    whose columns or times need more words than its header has.

    ``settings`` are assignments such as ``"training.learning_rate=0.0005"``. ``embeddings`` replaces the
    pre-training, which is otherwise done here and cached.
    """
    config = configure(preset, [*settings, *_limit(episodes)], shots=shots, seed=seed)
    folder = Path(out)
    _check_new(folder)
    given = data if isinstance(data, Dataset | Facts) else _open(data, read)
    if given is data and isinstance(given, Dataset):
        validate(given, given.name)  # one that is read from a folder was
    source = given.name if given is data else _lasting(str(data))
    plain = isinstance(given, Facts)
    if isinstance(given, Facts) or not len(given.train):
        config = _without_meta_train(config)
    dataset = _made_of(given, config, note) if isinstance(given, Facts) else given
    lessons = make_task_sampler(dataset, config)
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        _check_new(folder)  # another may have trained here in the meantime
        return _learn(dataset, config, lessons, folder, source, embeddings, watch, stop, note, whole=plain)


def resume(
    run: str | Path,
    *,
    data: str | Path | None = None,
    episodes: int | None = None,
    embeddings: Callable[[Dataset, Config], Embeddings] | None = None,
    watch: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
    note: Callable[[str], None] | None = None,
) -> Run:
    """Goes on with a run that was stopped or killed; the weights are those of a run that never was.

    ``data`` says where the dataset is now, if it moved (a run on plain facts has its own); ``episodes`` sets a new end.
    """
    folder = RunFolder(Path(run))
    folder.check()
    with alone(folder.path):
        config, about = folder.read_config(), folder.read_data()
        if episodes is not None:
            config = config.model_copy(update={"training": config.training.model_copy(update={"episodes": episodes})})
        if about.whole and data is not None:
            expected = "--resume RUN alone"
            raise InputError("is not needed: a run on plain facts has its own", field="DATA", expected=expected)
        place = str(folder.dataset if about.whole else data or about.source)
        dataset = load_dataset(place)
        if dataset.digest != about.digest:
            raise InputError(
                "is not the dataset this run was started on",
                file=place,
                found=dataset.digest[:12],
                expected=about.digest[:12],
            )
        lessons = make_task_sampler(dataset, config)
        return _learn(
            dataset, config, lessons, folder.path, about.source, embeddings, watch, stop, note, whole=about.whole
        )


def _learn(
    dataset: Dataset,
    config: Config,
    lessons: TaskSampler[TrainableModel],
    folder: Path,
    source: str,
    embeddings: Callable[[Dataset, Config], Embeddings] | None,
    watch: Callable[[Progress], None] | None,
    stop: Callable[[], bool] | None,
    note: Callable[[str], None] | None = None,
    *,
    whole: bool,
) -> Run:
    make = embeddings or pretrained
    return train_run(
        dataset,
        config,
        lessons,
        folder,
        source=source,
        embeddings=lambda: make(dataset, config),
        watch=watch,
        stop=stop,
        note=note,
        whole=whole,
    )


def pretrained(dataset: Dataset, config: Config) -> Embeddings:
    """ComplEx embeddings of the dataset's background, from the cache where they are there."""
    return embeddings_for(dataset, config.embedding, config.seed)


def _open(data: str | Path, read: Callable[[Path], Facts]) -> Dataset | Facts:
    """What is called this: facts where it is a file, or is named like one, and a dataset otherwise."""
    return read(Path(data).expanduser()) if is_facts(data) else load_dataset(str(data))


def is_facts(data: str | Path) -> bool:
    """Whether this is a file of facts, or named like one, rather than a dataset."""
    path = Path(data).expanduser()
    file = path.is_file() or (path.suffix.lower() in ENDINGS and not path.is_dir())
    return file and str(data) not in REGISTRY


def _without_meta_train(config: Config) -> Config:
    """The settings where there is no meta-train split: unless it was said otherwise, known actors play newcomers."""
    if config.model == "fitcarl" or "tasks" in config.training.model_fields_set:
        return config
    return config.model_copy(update={"training": config.training.model_copy(update={"tasks": "pseudo"})})


def _made_of(facts: Facts, config: Config, note: Callable[[str], None] | None) -> Dataset:
    """Plain facts as a dataset; says what was done."""
    dataset, held_out = dataset_from_facts(
        facts, config.shots, config.seed, meta_train=config.training.tasks != "pseudo"
    )
    if note is not None:
        names, times = facts.vocabulary, facts.calendar
        note(
            f"{facts.name}: {len(facts.quadruples):,} facts of {len(names.entities):,} actors, "
            f"{len(names.relations):,} relations, {times.labels[0]} to {times.labels[-1]}"
        )
        if len(facts.quadruples) < facts.rows or facts.times_truncated or facts.concept_rows:
            note(f"{facts.name}: {facts.summary}")
        note(f"held out for validation: {held_out}; the trained run knows their {len(dataset.valid):,} facts again")
        if len(dataset.train):
            note(f"hidden to learn from: {len(dataset.train.entities):,} actors with {len(dataset.train):,} facts")
    return dataset


def _lasting(data: str) -> str:
    """A dataset's name, or its folder or file as it can be found from anywhere."""
    return str(Path(data).resolve()) if Path(data).exists() and data not in REGISTRY else data


def _check_new(folder: Path) -> None:
    """Raises where a folder holds something that a new run would be trained over."""
    if folder.exists() and not (folder.is_dir() and _not_begun(folder)):
        resumed = f", or `fitcarl train --resume {folder}` to go on" if RunFolder(folder).config.exists() else ""
        raise InputError("exists already", file=folder, expected=f"a new folder{resumed}")


def _not_begun(folder: Path) -> bool:
    """Whether a folder is empty, or a run that was killed before it knew its data, which cannot be resumed."""
    there = {part.name for part in folder.iterdir() if not part.name.startswith(".")}
    return there <= {"config.json", "dataset"} and (not there or "config.json" in there)


def _limit(episodes: int | None) -> list[str]:
    return [] if episodes is None else [f"training.episodes={episodes}"]
