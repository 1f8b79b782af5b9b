"""The faults that ``make mutants`` plants, layer by layer."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_FITCARL = "models/fitcarl"
_PAPER = "models/fitcarl/paper"

MUTANTS: tuple[Mutant, ...] = (
    # core
    Mutant(
        "checksums of tensor files are not compared",
        "core/storage.py",
        "if sha256 != _digest(tensors, about):",
        "if False:",
        ("core", "training/test_loop.py", "runs"),
    ),
    Mutant(
        "a second process can lock a folder",
        "core/lock.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB",
        "fcntl.LOCK_SH | fcntl.LOCK_NB",
        ("core/test_lock.py",),
    ),
    # config
    Mutant(
        "settings of other models are accepted",
        "config/settings.py",
        "    if name not in known:\n        raise _unknown(config, name)\n",
        "    if name not in known:\n        return\n",
        ("config",),
    ),
    Mutant(
        "preset plus+names does not use names",
        "config/presets.py",
        '{"features.names": True}',
        '{"features.names": False}',
        ("config",),
    ),
    # data
    Mutant(
        "a relation is its own inverse",
        "data/relations.py",
        "return (relation + self.count) % (2 * self.count)",
        "return relation % (2 * self.count)",
        ("data/test_quadruples.py", "graph"),
    ),
    Mutant(
        "facts between two groups of unseen entities stay in the dataset",
        "data/split.py",
        "(group == number) & ~across",
        "(group == number)",
        ("data/test_split.py",),
    ),
    Mutant(
        "P(c | r) counts facts instead of entities",
        "data/concepts.py",
        "pair = np.unique(both.relation.astype(np.int64) * entities + both.object)",
        "pair = np.sort(both.relation.astype(np.int64) * entities + both.object)",
        ("data/test_concepts.py",),
    ),
    Mutant(
        "a pseudo-unseen entity stays in the background",
        "data/pseudo_unseen.py",
        "involved = unseen[facts.subject] | unseen[facts.object]",
        "involved = unseen[facts.subject]",
        ("data/test_pseudo_unseen.py", "tasks"),
    ),
    Mutant(
        "ticks ignore the step of the calendar",
        "data/calendar.py",
        "return (granule - self.origin) // self.step",
        "return granule - self.origin",
        ("data/test_calendar.py",),
    ),
    # synthetic
    Mutant(
        "replies have the direction of the event they answer",
        "synthetic/rules.py",
        "events.object[rows], reply, events.subject[rows], events.time[rows] + delay",
        "events.subject[rows], reply, events.object[rows], events.time[rows] + delay",
        ("synthetic",),
    ),
    # graph
    Mutant(
        "nearest sampling ignores the current time",
        "graph/kernels.py",
        "rank = np.int64(abs(times[i] - current_time))",
        "rank = np.int64(abs(times[i] - query_time))",
        ("graph/test_actions.py",),
    ),
    Mutant(
        "adaptive sampling ranks by the reversed time difference",
        "graph/kernels.py",
        "rank = np.int64(rule.rank[shift - times[i]])",
        "rank = np.int64(rule.rank[rule.max_delta + times[i] - query_time])",
        ("graph/test_actions.py",),
    ),
    Mutant(
        "added facts replace earlier added facts",
        "graph/temporal.py",
        "rows = np.unique(np.concatenate([self.overlay.edges().rows(), new.rows()]), axis=0)",
        "rows = np.unique(new.rows(), axis=0)",
        ("graph/test_temporal.py",),
    ),
    # tasks
    Mutant(
        "support facts are used as queries",
        "tasks/task.py",
        "is_query = has_queries & (position >= shots)",
        "is_query = has_queries & (position >= shots - 1)",
        ("tasks",),
    ),
    Mutant(
        "every episode has the same task",
        "tasks/sampler.py",
        "np.random.default_rng([seed, episode]), self._config",
        "np.random.default_rng([seed, 1]), self._config",
        ("tasks", "training/test_loop.py"),
    ),
    Mutant(
        "training uses meta-validation entities",
        "tasks/sampler.py",
        "meta = self._dataset.train if fold is None",
        "meta = self._dataset.valid if fold is None",
        ("tasks",),
    ),
    Mutant(
        "the encoder may see pseudo-unseen entities",
        "tasks/sampler.py",
        "return facts.take(~(held_out[facts.subject] | held_out[facts.object]))",
        "return facts",
        ("tasks",),
    ),
    # scoring
    Mutant(
        "repeated pairs of query and entity are accepted",
        "scoring/scores.py",
        "if np.any(pair[1:] == pair[:-1]):",
        "if False:",
        ("scoring",),
    ),
    # evaluation
    Mutant(
        "ties count in favour of the answer",
        "evaluation/ranks.py",
        "(optimistic + pessimistic) / 2",
        "optimistic",
        ("evaluation/test_ranks.py",),
    ),
    Mutant(
        "unlisted answers rank right after the listed entities",
        "evaluation/ranks.py",
        "np.where(covered, equal, candidates - listed)",
        "np.where(covered, equal, 1)",
        ("evaluation/test_ranks.py",),
    ),
    Mutant(
        "unlisted answers are not last under the protocol of the paper",
        "evaluation/ranks.py",
        "float(entities))",
        "1.0)",
        ("evaluation/test_ranks.py", "evaluation/test_report.py"),
    ),
    Mutant(
        "the scorer sees the answers",
        "evaluation/protocol.py",
        "masked = Task(task.support, hide_answers(task.queries))",
        "masked = Task(task.support, task.queries)",
        ("evaluation/test_protocol.py",),
    ),
    Mutant(
        "all draws have the same supports",
        "evaluation/protocol.py",
        "np.random.default_rng([seed, number])",
        "np.random.default_rng([seed, 1])",
        ("evaluation/test_protocol.py", "evaluation/test_report.py"),
    ),
    Mutant(
        "the time-aware filter ignores time",
        "evaluation/filtering.py",
        'if filter == "time-aware":\n        key = key',
        'if filter == "never":\n        key = key',
        ("evaluation/test_filtering.py",),
    ),
    Mutant(
        "the filter removes the answer itself",
        "evaluation/filtering.py",
        "other = entity != queries.answer[query]",
        "other = entity >= 0",
        ("evaluation/test_filtering.py", "evaluation/test_ranks.py"),
    ),
    Mutant(
        "the bootstrap resamples queries of one entity apart",
        "evaluation/bootstrap.py",
        "_, number = np.unique(entity, return_inverse=True)",
        "number = np.arange(len(entity))",
        ("evaluation/test_metrics.py",),
    ),
    # models: the paper
    Mutant(
        "attention scores are not scaled",
        f"{_FITCARL}/entity_encoder.py",
        " * self.scale",
        "",
        (f"{_FITCARL}/test_entity_encoder.py", f"{_PAPER}/test_agreement.py"),
    ),
    Mutant(
        "the discount of a step has one power too many",
        f"{_FITCARL}/loss.py",
        "torch.arange(len(per_step), dtype=per_step.dtype)",
        "torch.arange(1, len(per_step) + 1, dtype=per_step.dtype)",
        (f"{_PAPER}/test_loss.py",),
    ),
    Mutant(
        "the concept regulariser has the wrong sign",
        f"{_FITCARL}/loss.py",
        "per_step = per_step + config.kl_weight",
        "per_step = per_step - config.kl_weight",
        (f"{_PAPER}/test_loss.py",),
    ),
    Mutant(
        "the reward uses the squared distance",
        f"{_FITCARL}/rewards.py",
        "torch.linalg.vector_norm(answer - chosen, dim=-1)",
        "torch.linalg.vector_norm(answer - chosen, dim=-1).square()",
        (f"{_FITCARL}/test_rewards.py",),
    ),
    Mutant(
        "padding gets confidence",
        f"{_FITCARL}/policy.py",
        "log_confidence = masked_log_softmax(psi, mask)",
        "log_confidence = psi.log_softmax(-1)",
        (f"{_FITCARL}/test_policy.py", f"{_PAPER}/test_agreement.py"),
    ),
    Mutant(
        "the divergence is reversed",
        f"{_FITCARL}/concepts.py",
        "return (log_policy.exp() * gap).sum(-1)",
        "return -(log_concept.exp() * gap).masked_fill(~mask, 0).sum(-1)",
        (f"{_FITCARL}/test_concepts.py",),
    ),
    Mutant(
        "the concept regulariser is never used",
        f"{_FITCARL}/trainable.py",
        "concept_prior(context) if config.network.concepts else None",
        "None",
        (f"{_FITCARL}", "training", "config"),
    ),
    Mutant(
        "search.aggregate is ignored",
        f"{_FITCARL}/scorer.py",
        "entity_scores(paths, self._config.search.aggregate)",
        'entity_scores(paths, "max")',
        (f"{_FITCARL}", "config"),
    ),
    Mutant(
        "random sampling ignores the seed of the run",
        f"{_FITCARL}/scorer.py",
        "support, self._max_delta, self._config.seed",
        "support, self._max_delta, 0",
        (f"{_FITCARL}", "config"),
    ),
    # models: factorization
    Mutant(
        "embeddings are pre-trained on meta-test facts",
        "models/factorization/cache.py",
        "pretrain(\n        dataset.background",
        "pretrain(\n        dataset.test.facts",
        ("models/factorization/test_cache.py",),
    ),
    # models: plus
    Mutant(
        "the path loss of plus is dropped",
        "models/plus/trainable.py",
        "self._config.path_loss_weight * ",
        "0.0 * ",
        ("config", "models/plus"),
    ),
    Mutant(
        "plus does not refit its statistics without the held-out entities",
        "models/plus/trainable.py",
        "statistics = compute_statistics(graph.background_facts(), graph,",
        "statistics = now or compute_statistics(graph.background_facts(), graph,",
        ("tasks", "training", "models/plus"),
    ),
    # models: heuristics
    Mutant(
        "copied support entities belong to the wrong query",
        "models/heuristics/copy_support.py",
        ".members(queries.entity.astype(np.int64))",
        ".members(queries.entity[::-1].astype(np.int64))",
        ("models/heuristics",),
    ),
    # runs
    Mutant(
        "calibration uses meta-test entities",
        "runs/evaluate.py",
        "draw_tasks(dataset.valid, shots,",
        "draw_tasks(dataset.test, shots,",
        ("runs",),
    ),
    # training
    Mutant(
        "gradient ascent",
        "training/loop.py",
        "result.loss.backward()",
        "(-result.loss).backward()",
        ("training",),
    ),
    Mutant("no optimizer step", "training/loop.py", "    optimizer.step()\n", "    pass\n", ("training",)),
    Mutant(
        "no gradient clipping",
        "training/loop.py",
        'torch.nn.utils.clip_grad_norm_(group["params"], clip)',
        "_ = clip",
        ("training", "config"),
    ),
    Mutant(
        "the learning rate of the schedule is ignored",
        "training/loop.py",
        'group["lr"] = rate',
        "_ = rate",
        ("training", "config"),
    ),
    Mutant(
        "the last weights are kept instead of the best",
        "training/loop.py",
        "if state.best_episode == episode:",
        "if state.best_episode:",
        ("training",),
    ),
    Mutant(
        "all episodes use one random stream",
        "training/loop.py",
        'zlib.crc32(f"{seed}/{episode}".encode())',
        'zlib.crc32(f"{seed}/1".encode())',
        ("training",),
    ),
    Mutant(
        "a better validation is not noticed",
        "training/state.py",
        "if mrr > self.best_mrr:",
        "if mrr < self.best_mrr or not self.best_episode:",
        ("training",),
    ),
    Mutant(
        "optimizer moments are lost on resume",
        "training/state.py",
        "if saved[name]:",
        "if False:",
        ("training",),
    ),
    Mutant(
        "the model is selected on meta-test",
        "training/validation.py",
        "official_task(dataset.valid,",
        "official_task(dataset.test,",
        ("training",),
    ),
    # predict
    Mutant(
        "facts that state the answer are used",
        "predict/planner.py",
        " | frozenset(self._facts_with_answer(ids))",
        "",
        ("predict",),
    ),
    Mutant(
        "the query entity is an answer to itself",
        "predict/planner.py",
        "others = entity != self.task.queries.entity[row]",
        "others = entity >= 0",
        ("predict",),
    ),
    Mutant(
        "the object of a query is asked like a subject",
        "predict/planner.py",
        "directed = relation if query.object is None else",
        "directed = relation if True else",
        ("predict",),
    ),
    # experiments
    Mutant(
        "differences refer to the wrong entry",
        "experiments/compare.py",
        "return entry.report.versus(self.reference.report)",
        "return self.reference.report.versus(entry.report)",
        ("experiments", "cli/test_compare.py"),
    ),
    Mutant(
        "older rows replace newer ones",
        "experiments/results.py",
        "{row.key: row for row in earlier} | {row.key: row for row in newer}",
        "{row.key: row for row in newer} | {row.key: row for row in earlier}",
        ("experiments/test_results.py",),
    ),
    # serve
    Mutant(
        "any token is accepted",
        "serve/access.py",
        'if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode(), self.token.encode()):',
        'if scheme.lower() != "bearer":',
        ("serve/test_access.py",),
    ),
    Mutant(
        "there is no limit on waiting queries",
        "serve/batching.py",
        "if self.waiting >= self._max_waiting:",
        "if False:",
        ("serve/test_batching.py",),
    ),
    Mutant(
        "stored facts are added twice",
        "serve/store.py",
        "new = [item for item in distinct if item.id not in existing]",
        "new = distinct",
        ("serve/test_store.py",),
    ),
    # cli
    Mutant(
        "unusable input has the exit code of success",
        "cli/console.py",
        "OK, INTERNAL_ERROR, USAGE_ERROR, INTERRUPTED, BROKEN_PIPE = 0, 1, 2, 130, 141",
        "OK, INTERNAL_ERROR, USAGE_ERROR, INTERRUPTED, BROKEN_PIPE = 0, 1, 0, 130, 141",
        ("cli/test_console.py",),
    ),
)
