"""TeRo: hand values, reductions, and scores of all entities."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.config.factorization import TeroConfig
from fitcarl.models.factorization.objective import FactBatch, QueryIds, SupportBatch
from fitcarl.models.factorization.score_function import Tables
from fitcarl.models.factorization.tero import TeroObjective, log_loss, rotated_distance

K, E, R, T = 3, 7, 2, 4


def _row(*numbers: float) -> Tensor:
    return torch.tensor([numbers], dtype=torch.float64)


def _tables(seed: int = 0) -> Tables:
    random = np.random.default_rng(seed)
    return Tables(*(torch.from_numpy(random.normal(size=size)) for size in ((E, 2 * K), (2 * R, 2 * K), (T, K))))


def test_hand_value() -> None:
    f = rotated_distance(_row(1, 0), _row(1, -1), _row(0, 1), _row(math.pi / 2))
    assert f.item() == pytest.approx(2, abs=1e-12)


def test_loss_of_a_hand_computed_example() -> None:
    loss = log_loss(torch.tensor([100.0]).double(), torch.tensor([[105.0, 120.0]]).double(), 110)
    assert loss.item() == pytest.approx(2.501996, abs=1e-6)


def test_distance_is_that_of_complex_numbers() -> None:
    tables = _tables()
    assert tables.time is not None
    s, r, o = (torch.complex(*rows.chunk(2, dim=1)) for rows in (tables.entity[:4], tables.relation, tables.entity[3:]))
    turn = torch.polar(torch.ones_like(tables.time), tables.time)
    z = s * turn + r - (o * turn).conj()
    found = rotated_distance(tables.entity[:4], tables.relation, tables.entity[3:], tables.time)
    assert torch.allclose(found, (z.real.abs() + z.imag.abs()).sum(dim=1))


def test_angles_have_a_period_of_two_pi_and_zero_means_no_time() -> None:
    tables = _tables()
    s, r, o = tables.entity[:4], tables.relation, tables.entity[3:]
    assert tables.time is not None
    shifted = rotated_distance(s, r, o, tables.time + 2 * math.pi)
    assert torch.allclose(shifted, rotated_distance(s, r, o, tables.time))
    conjugate = torch.cat((o[:, :K], -o[:, K:]), dim=1)
    assert torch.allclose(rotated_distance(s, r, o, torch.zeros(K).double()), (s + r - conjugate).abs().sum(dim=1))


def test_real_rows_without_rotation_are_transe() -> None:
    tables = _tables()
    rows = [table.clone() for table in (tables.entity[:4], tables.relation, tables.entity[3:])]
    for row in rows:
        row[:, K:] = 0
    s, r, o = rows
    assert torch.allclose(rotated_distance(s, r, o, torch.zeros(K).double()), (s + r - o)[:, :K].abs().sum(dim=1))


def test_scores_of_all_entities_sum_both_directions_of_each_fact() -> None:
    tables, objective = _tables(), TeroObjective(TeroConfig())
    assert tables.time is not None
    queries = QueryIds(*(torch.tensor(ids) for ids in ([0, 3, 3, 5], [0, 1, 2, 3], [0, 2, 2, 1])))
    scores = objective.scores(tables, queries)
    for row, (e, r, t) in enumerate(zip(*(ids.tolist() for ids in vars(queries).values()), strict=True)):
        for o in range(E):
            inverse = (r + R) % (2 * R)
            forward = rotated_distance(tables.entity[e], tables.relation[r], tables.entity[o], tables.time[t])
            backward = rotated_distance(tables.entity[o], tables.relation[inverse], tables.entity[e], tables.time[t])
            assert scores[row, o].item() == pytest.approx(-(forward + backward).item())
            # The same fact asked from the other side has the same score.
            other = QueryIds(torch.tensor([o]), torch.tensor([inverse]), torch.tensor([t]))
            assert objective.scores(tables, other)[0, e].item() == pytest.approx(scores[row, o].item())


def test_every_row_of_every_table_is_trained() -> None:
    """Row 0 is no padding."""
    config = TeroConfig.model_validate({"embedding": {"dim": 2 * K}})
    objective = TeroObjective(config)
    tables = objective.initial_tables(E, 2 * R, T, torch.Generator().manual_seed(0))
    leaves = [table.requires_grad_() for table in (tables.entity, tables.relation, tables.time) if table is not None]
    from fitcarl.models.factorization.objective import FactBatch

    ids = torch.arange(2 * R)
    batch = FactBatch(QueryIds(ids, ids, ids), ids, ids + 3, torch.ones(2 * R))
    loss, _ = objective.loss(tables, batch, torch.Generator().manual_seed(1))
    loss.backward()
    for leaf in leaves:
        assert leaf.grad is not None
        assert leaf.grad[0].abs().sum() > 0


def _batch() -> FactBatch:
    """Queries (0, 1, ?) and (2, 0, ?) at ticks 0 and 1; the first has two answers, one of them stated three times."""
    ids = QueryIds(torch.tensor([0, 2]), torch.tensor([1, 0]), torch.tensor([0, 1]))
    return FactBatch(ids, torch.tensor([0, 0, 1]), torch.tensor([3, 1, 4]), torch.tensor([1.0, 3.0, 2.0]))


def test_training_loss_equals_a_plain_loop_over_facts_and_corruptions() -> None:
    config = TeroConfig.model_validate({"embedding": {"dim": 6}, "training": {"negatives": 4, "margin": 5.0}})
    objective, entities = TeroObjective(config), 5
    tables = objective.initial_tables(entities, 4, 2, torch.Generator().manual_seed(1))
    batch = _batch()
    found, _ = objective.loss(tables, batch, torch.Generator().manual_seed(7))
    corrupted = torch.randint(entities, (3, 4), generator=torch.Generator().manual_seed(7)).tolist()
    total = 0.0
    for fact, row in enumerate(batch.row.tolist()):
        s, r, t = (int(column[row]) for column in (batch.queries.entity, batch.queries.relation, batch.queries.tick))
        o, weight = int(batch.answer[fact]), float(batch.weight[fact])

        def distance(subject: int, object: int, r: int = r, t: int = t) -> Tensor:
            rows = tables.entity[subject], tables.relation[r], tables.entity[object], tables.time[t]
            return rotated_distance(*rows)

        negative = [distance(x, o) for x in corrupted[fact][:2]] + [distance(s, x) for x in corrupted[fact][2:]]
        one = log_loss(distance(s, o)[None], torch.stack(negative)[None], 5.0)
        total += weight * float(one)
    assert float(found) == pytest.approx(total / 6, rel=1e-5)


def test_support_loss_has_both_directions_of_a_fact() -> None:
    config = TeroConfig.model_validate({"embedding": {"dim": 6}, "training": {"margin": 5.0}})
    objective = TeroObjective(config)
    tables = objective.initial_tables(5, 4, 2, torch.Generator().manual_seed(1))
    candidates = torch.tensor([0, 1, 3, 4])
    ids = (torch.tensor([0]), torch.tensor([1]), torch.tensor([2]), torch.tensor([1]))
    row = tables.entity[2:3]
    found = objective.support_loss(tables, SupportBatch(*ids, candidates))(row)
    neighbour, angle, others = tables.entity[3], tables.time[1], tables.entity[candidates]
    forward = log_loss(
        rotated_distance(row, tables.relation[1], neighbour, angle),
        rotated_distance(row, tables.relation[1], others, angle)[None],
        5.0,
    )
    backward = log_loss(
        rotated_distance(neighbour, tables.relation[3], row, angle),
        rotated_distance(others, tables.relation[3], row, angle)[None],
        5.0,
    )
    assert float(found) == pytest.approx(float(forward + backward) / 2, rel=1e-5)
