"""The end of a training: best weights, calibration, result, and the run."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fitcarl.core.device import CPU, device_of
from fitcarl.core.files import write_json
from fitcarl.core.memory import release_memory
from fitcarl.core.stages import stage
from fitcarl.errors import FitcarlError
from fitcarl.graph.storage import open_graph
from fitcarl.models.base import DropsBackground, GraphContext, TrainableModel
from fitcarl.models.open_queries.event_index import EventIndex
from fitcarl.models.open_queries.fitting import OpenModels, calibrate_open_models, fit_open_models
from fitcarl.runs.evaluate import calibrate_settings
from fitcarl.runs.layout import RunFolder
from fitcarl.runs.run import Run
from fitcarl.scoring.scores import NotFiniteError
from fitcarl.training import trace
from fitcarl.training.setup import TrainingSetup
from fitcarl.training.state import TrainingState


@dataclass
class Trained:
    """A trained model and the data that it was trained on. ``finish`` replaces both, so that their memory is free."""

    model: TrainableModel
    context: GraphContext


def finish(setup: TrainingSetup, trained: Trained, folder: RunFolder, state: TrainingState) -> Run:
    """Writes what is left and returns the run with the best weights, on the CPU."""
    dataset, config = setup.dataset, setup.config
    trace.plot_curve(trace.read(folder.trace), folder.curve)
    folder.load_weights(trained.model.module)
    release_memory()
    with stage("calibration"):
        try:
            calibrations = calibrate_settings(trained.model.scorer(), dataset, config)
        except NotFiniteError:
            problem = f"{folder.path}: the scores after episode {state.best_episode} are not finite"
            raise FitcarlError(f"{problem}; try a smaller training.learning_rate") from None
        folder.save_calibrations(calibrations)
    if setup.keep_all_facts and isinstance(trained.model, DropsBackground):
        trained.model.drop_background()  # its statistics are counted again below
    release_memory()
    with stage("open queries"):
        write_json(folder.open_queries, _open_models(setup, trained.context).to_json())
    release_memory()
    if setup.keep_all_facts:
        trained.context = replace(trained.context, graph=open_graph(folder.graph))
        with stage("statistics"):
            trained.model = trained.model.refit_statistics(trained.context.graph)
        release_memory()
    model, context = trained.model, trained.context
    with stage("saving"):
        model.save_artifacts(folder.artifacts)
        folder.write_manifest()
    write_json(
        folder.result,
        {
            "episodes": state.episode,
            "best_episode": state.best_episode,
            "best_valid_mrr": state.best_mrr,
            "seconds": state.seconds,
            "cpu_seconds": state.cpu_seconds or None,
            "peak_mb": state.peak_mb,
            "device": device_of(model.module).type,
            "ended_by": "patience"
            if config.training.ran_out(state.validations_since_best, state.episode)
            else "episodes",
        },
    )
    names = dataset.vocabulary, dataset.calendar, dataset.concepts
    return Run(folder, config, folder.read_data(), *names, context, model.to(CPU), calibrations)


def _open_models(setup: TrainingSetup, context: GraphContext) -> OpenModels:
    """The models of open queries, fitted on the background and calibrated on meta-validation."""
    dataset, config = setup.dataset, setup.config
    # No weight is fitted to facts of the time of meta-validation, if it has one.
    known = context.graph if dataset.cuts is None else context.graph.before(dataset.cuts.valid)
    fitted = fit_open_models(known, config.shots, dataset.calendar.half_life, config.seed)
    index, end = EventIndex.from_graph(context.graph), dataset.end_of("valid")
    return calibrate_open_models(fitted, index, dataset.valid, config.shots, config.seed, end)
