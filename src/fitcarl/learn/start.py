"""The ways into learning: from a dataset, or from a run that was stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from fitcarl.config import Config, configure
from fitcarl.data.catalogue import load_dataset
from fitcarl.data.dataset import Dataset
from fitcarl.embed.cache import embeddings_for
from fitcarl.embed.embeddings import Embeddings
from fitcarl.errors import InputError
from fitcarl.learn.files import read_json
from fitcarl.learn.run import Run, RunFolder
from fitcarl.learn.trainer import Progress, train_run


def train(
    data: str | Path | Dataset,
    *,
    out: str | Path,
    shots: int = 3,
    preset: str = "plus",
    seed: int = 0,
    episodes: int | None = None,
    settings: Iterable[str] = (),
    embeddings: Callable[[Dataset, Config], Embeddings] | None = None,
    watch: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Trains on a dataset (a catalogue name, a folder, or one already loaded) and returns the run in folder ``out``.

    ``settings`` are assignments such as ``"learn.rate=0.0005"``. ``embeddings`` replaces the pre-training, which is
    otherwise done here and cached. ``watch`` is told of every episode; ``stop`` is asked after each.
    """
    config = configure(preset, [*settings, *_limit(episodes)], shots=shots, seed=seed)
    folder = Path(out)
    if folder.exists() and not (folder.is_dir() and _not_begun(folder)):
        raise InputError(
            "exists already", file=out, expected=f"a new folder, or `fitcarl train --resume {out}` to go on"
        )
    dataset = data if isinstance(data, Dataset) else load_dataset(str(data))
    source = dataset.name if isinstance(data, Dataset) else _lasting(data)
    return _learn(dataset, config, folder, source, embeddings, watch, stop)


def resume(
    run: str | Path,
    *,
    data: str | Path | None = None,
    episodes: int | None = None,
    embeddings: Callable[[Dataset, Config], Embeddings] | None = None,
    watch: Callable[[Progress], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Goes on with a run that was stopped or killed; the weights are those of a run that never was.

    ``data`` says where the dataset is now, if it moved; ``episodes`` sets a new end.
    """
    folder = RunFolder(Path(run))
    config = folder.read_config()
    if episodes is not None:
        config = config.model_copy(update={"learn": config.learn.model_copy(update={"episodes": episodes})})
    about = read_json(folder.data)
    dataset = load_dataset(str(data or about["source"]))
    if dataset.digest != about["digest"]:
        raise InputError(
            "is not the dataset this run was started on",
            file=str(data or about["source"]),
            found=dataset.digest[:12],
            expected=about["digest"][:12],
        )
    return _learn(dataset, config, folder.path, about["source"], embeddings, watch, stop)


def _learn(
    dataset: Dataset,
    config: Config,
    folder: Path,
    source: str,
    embeddings: Callable[[Dataset, Config], Embeddings] | None,
    watch: Callable[[Progress], None] | None,
    stop: Callable[[], bool] | None,
) -> Run:
    make = embeddings or pretrained
    return train_run(
        dataset,
        config,
        folder,
        source=source,
        embeddings=lambda: make(dataset, config),
        watch=watch,
        stop=stop,
    )


def pretrained(dataset: Dataset, config: Config) -> Embeddings:
    """ComplEx embeddings of the dataset's background, from the cache where they are there."""
    return embeddings_for(dataset, config.embedding, config.seed)


def _lasting(data: str | Path) -> str:
    """A dataset's name, or its folder as it can be found from anywhere."""
    return str(Path(data).resolve()) if Path(data).is_dir() else str(data)


def _not_begun(folder: Path) -> bool:
    """Whether a folder is empty, or a run that was killed before it knew its data, which cannot be resumed."""
    return {part.name for part in folder.iterdir() if not part.name.startswith(".")} <= {"config.json"}


def _limit(episodes: int | None) -> list[str]:
    return [] if episodes is None else [f"learn.episodes={episodes}"]
