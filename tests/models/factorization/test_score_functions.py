"""Hand values, reductions and identities of the score functions, in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from fitcarl.models.factorization.bique import BiQUE, biquaternion_product
from fitcarl.models.factorization.complex import ComplEx
from fitcarl.models.factorization.distmult import DistMult
from fitcarl.models.factorization.loss import n3_penalty
from fitcarl.models.factorization.score_function import ScoreFunction, Tables
from fitcarl.models.factorization.telm import TeLM, geometric_product, vector_parts
from fitcarl.models.factorization.tntcomplex import TNTComplEx

SCORES: list[ScoreFunction] = [ComplEx(), DistMult(), BiQUE(), TNTComplEx(), TeLM()]
K = 3


def _row(*numbers: float) -> Tensor:
    return torch.tensor([numbers], dtype=torch.float64)


def _random(rows: int, width: int, seed: int = 0) -> Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, width)))


def _phi(score: ScoreFunction, s: Tensor, r: Tensor, o: Tensor, t: Tensor | None = None) -> Tensor:
    return (score.compose(s, r, t) * o).sum(dim=-1)


def _complex(rows: Tensor) -> Tensor:
    return torch.complex(*rows.chunk(2, dim=-1))


def _real(rows: Tensor) -> Tensor:
    return torch.cat((rows.real, rows.imag), dim=-1)


def _rows_of(score: ScoreFunction, count: int = 5) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Random rows of subjects, relations, objects and times."""
    dim = score.components * K
    time = _random(count, dim, 4) if score.temporal else None
    return _random(count, dim, 1), _random(count, score.relation_parts * dim, 2), _random(count, dim, 3), time


# ComplEx


def test_complex_hand_values() -> None:
    s, w, o = _row(1, 2), _row(3, -1), _row(2, 1)
    assert _phi(ComplEx(), s, w, o).item() == 15
    assert _phi(ComplEx(), o, w, s).item() == 9


def test_complex_is_symmetric_for_real_relations_and_inverts_with_the_conjugate() -> None:
    s, r, o, _ = _rows_of(ComplEx())
    real = torch.cat((r[:, :K], torch.zeros_like(r[:, K:])), dim=1)
    assert torch.allclose(_phi(ComplEx(), s, real, o), _phi(ComplEx(), o, real, s))
    conjugate = torch.cat((r[:, :K], -r[:, K:]), dim=1)
    assert torch.allclose(_phi(ComplEx(), s, r, o), _phi(ComplEx(), o, conjugate, s))
    assert not torch.allclose(_phi(ComplEx(), s, r, o), _phi(ComplEx(), o, r, s))


def test_complex_does_not_depend_on_a_common_phase() -> None:
    s, r, o, _ = _rows_of(ComplEx())
    phase = torch.polar(torch.tensor(1.0, dtype=torch.float64), torch.tensor(0.7, dtype=torch.float64))
    turned = (_real(_complex(rows) * phase) for rows in (s, o))
    assert torch.allclose(_phi(ComplEx(), next(turned), r, next(turned)), _phi(ComplEx(), s, r, o))


def test_distmult_is_complex_without_imaginary_parts() -> None:
    s, r, o, _ = _rows_of(DistMult())
    zero = torch.zeros_like(s)
    as_complex = (torch.cat((rows, zero), dim=1) for rows in (s, r, o))
    assert torch.allclose(_phi(DistMult(), s, r, o), _phi(ComplEx(), *as_complex))


# BiQUE


def _biquaternion(w: complex = 0, x: complex = 0, y: complex = 0, z: complex = 0) -> Tensor:
    return _row(*(part for number in (w, x, y, z) for part in (complex(number).real, complex(number).imag)))


def test_bique_hand_values() -> None:
    h, factor, shift = _biquaternion(w=1 + 1j), _biquaternion(x=2), _biquaternion()
    relation = torch.cat((factor, shift), dim=1)
    assert _phi(BiQUE(), h, relation, _biquaternion(x=1 + 1j)).item() == 4
    assert _phi(BiQUE(), h, relation, _biquaternion(w=1 + 1j)).item() == 0


def test_bique_reduces_to_complex() -> None:
    s, r, o, _ = _rows_of(ComplEx())
    zeros = torch.zeros(len(s), 3 * 2 * K, dtype=torch.float64)
    wide = [torch.cat((rows, zeros), dim=1) for rows in (s, r, o)]
    relation = torch.cat((wide[1], torch.zeros_like(wide[1])), dim=1)
    assert torch.allclose(_phi(BiQUE(), wide[0], relation, wide[2]), _phi(ComplEx(), s, r, o))


def test_bique_with_unit_factor_adds() -> None:
    s, r, o, _ = _rows_of(BiQUE())
    unit = torch.zeros(len(s), 8 * K, dtype=torch.float64)
    unit[:, :K] = 1
    shift = r[:, 8 * K :]
    assert torch.allclose(_phi(BiQUE(), s, torch.cat((unit, shift), dim=1), o), ((s + shift) * o).sum(dim=1))


def _matrices(rows: Tensor, parts: int, basis: list[Tensor], number: Callable[[Tensor], Tensor]) -> Tensor:
    """Coordinates as 2 × 2 matrices: the sum of their parts times basis matrices, [n, k, 2, 2]."""
    return sum(
        (number(part)[..., None, None] * matrix for part, matrix in zip(rows.chunk(parts, dim=1), basis, strict=True)),
        start=torch.zeros((), dtype=basis[0].dtype),
    )


def test_biquaternions_multiply_as_complex_matrices() -> None:
    i = torch.tensor([[1j, 0], [0, -1j]], dtype=torch.complex128)
    j = torch.tensor([[0, 1], [-1, 0]], dtype=torch.complex128)
    basis = [torch.eye(2, dtype=torch.complex128), i, j, i @ j]
    left, right = _random(4, 8 * K, 1), _random(4, 8 * K, 2)
    product = biquaternion_product(left, right)
    matrices = [_matrices(rows, 4, basis, _complex) for rows in (left, right, product)]
    assert torch.allclose(matrices[0] @ matrices[1], matrices[2])


def test_bique_penalises_the_head_after_the_addition() -> None:
    s, r, o, _ = _rows_of(BiQUE())
    factor, shift = r.chunk(2, dim=1)
    norm3 = [rows.view(-1, 8, K).norm(dim=1).pow(3).sum(dim=1) for rows in (s + shift, factor, o)]
    assert torch.allclose(BiQUE().query_penalty(s, r), 2 * norm3[0] + 0.5 * norm3[1])
    assert torch.allclose(BiQUE().answer_penalty(o), 2 * norm3[2])


# TNTComplEx


def test_tntcomplex_hand_values() -> None:
    s, o, tau = _row(1, 2), _row(2, 1), _row(0, 1)
    w, w0 = _row(3, -1), _row(2, -4)
    relation = torch.tensor([[3.0, -1.0, 2.0, -4.0]], dtype=torch.float64)
    assert _phi(TNTComplEx(), s, relation, o, tau).item() == 15
    terms = [2 * n3_penalty(s), n3_penalty(_real(_complex(w) * _complex(tau))), n3_penalty(w0), 2 * n3_penalty(o)]
    assert [round(term.item(), 4) for term in terms] == [22.3607, 31.6228, 89.4427, 22.3607]
    assert TNTComplEx().query_penalty(s, relation, tau).item() == pytest.approx(22.3607 + 31.6228 + 89.4427, abs=2e-4)
    assert TNTComplEx().answer_penalty(o).item() == pytest.approx(22.3607, abs=1e-4)


def test_tntcomplex_reduces_to_complex() -> None:
    s, r, o, tau = _rows_of(TNTComplEx())
    assert tau is not None
    temporal, static = r.chunk(2, dim=1)
    one = torch.cat((torch.ones(len(s), K), torch.zeros(len(s), K)), dim=1).double()
    zero = torch.zeros_like(tau)
    without_static = torch.cat((temporal, torch.zeros_like(static)), dim=1)
    assert torch.allclose(_phi(TNTComplEx(), s, without_static, o, one), _phi(ComplEx(), s, temporal, o))
    assert torch.allclose(_phi(TNTComplEx(), s, r, o, zero), _phi(ComplEx(), s, static, o))
    scaled = torch.cat((temporal * 5, static), dim=1)
    assert torch.allclose(_phi(TNTComplEx(), s, scaled, o, tau / 5), _phi(TNTComplEx(), s, r, o, tau))


def test_smoothness_is_the_mean_of_cubed_differences() -> None:
    time = torch.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0]], dtype=torch.float64)  # |3 + 4i|³ = 125, |i|³ = 1
    tables = Tables(_random(2, 2), _random(2, 4), time)
    assert TNTComplEx().time_penalty(tables).item() == 63
    single = Tables(_random(2, 2), _random(2, 4), time[:1])
    assert TNTComplEx().time_penalty(single).item() == 0


# TeLM


def test_telm_hand_values() -> None:
    s, r, o = _row(1, 2, 0, 1), _row(0, 1, 1, 0), _row(1, 1, 1, 1)
    assert _phi(TeLM(), s, r, o, _row(1, 0, 0, 0)).item() == 2
    assert _phi(TeLM(), s, r, o, _row(0, 0, 0, 1)).item() == -2


def test_multivectors_multiply_as_real_matrices() -> None:
    e1 = torch.tensor([[1.0, 0], [0, -1]], dtype=torch.float64)
    e2 = torch.tensor([[0.0, 1], [1, 0]], dtype=torch.float64)
    basis = [torch.eye(2, dtype=torch.float64), e1, e2, e1 @ e2]
    left, right = _random(4, 4 * K, 1), _random(4, 4 * K, 2)
    matrices = [_matrices(rows, 4, basis, lambda part: part) for rows in (left, right, geometric_product(left, right))]
    assert torch.allclose(matrices[0] @ matrices[1], matrices[2])


def test_telm_is_the_scalar_part_with_the_conjugate_and_is_associative() -> None:
    s, r, o, tau = _rows_of(TeLM())
    assert tau is not None
    conjugate = torch.cat((o[:, :K], -o[:, K:]), dim=1)
    product = geometric_product(geometric_product(s, r), tau)
    scalar = geometric_product(product, conjugate)[:, :K].sum(dim=1)
    assert torch.allclose(_phi(TeLM(), s, r, o, tau), scalar)


def test_telm_reduces_to_tcomplex() -> None:
    s, r, o, _ = _rows_of(ComplEx())
    tau = _random(5, 2 * K, 9)

    def wide(rows: Tensor) -> Tensor:
        real, imaginary = rows.chunk(2, dim=1)
        zero = torch.zeros_like(real)
        return torch.cat((real, zero, zero, imaginary), dim=1)

    relation = torch.cat((r, torch.zeros_like(r)), dim=1)
    found = _phi(TeLM(), wide(s), wide(r), wide(o), wide(tau))
    assert torch.allclose(found, _phi(TNTComplEx(), s, relation, o, tau))


def test_telm_without_vector_parts_has_no_gradient_there() -> None:
    rows = [_random(4, 4 * K, seed) for seed in range(4)]
    for row in rows:
        vector_parts(row).zero_()
        row.requires_grad_()
    s, r, o, tau = rows
    (_phi(TeLM(), s, r, o, tau) + TeLM().query_penalty(s, r, tau) + TeLM().answer_penalty(o)).sum().backward()
    for row in rows:
        assert row.grad is not None
        assert not vector_parts(row.grad).any()
        assert row.grad.any()


def test_telm_penalty_is_zero_for_a_linear_course() -> None:
    drift = _random(1, 4 * K, 5)[0]
    time = torch.arange(6, dtype=torch.float64)[:, None] * drift
    tables = Tables(_random(2, 4 * K), _random(2, 4 * K), time, drift)
    assert TeLM().time_penalty(tables).item() == pytest.approx(0, abs=1e-20)
    still = Tables(tables.entity, tables.relation, time, torch.zeros_like(drift))
    assert TeLM().time_penalty(still).item() == pytest.approx(n3_penalty(drift[None], 4).item())


# All of them


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_scores_are_linear_in_every_row_of_an_object(score: ScoreFunction) -> None:
    s, r, o, tau = _rows_of(score)
    other = _random(len(o), o.shape[1], 11)
    assert torch.allclose(
        _phi(score, s, r, 2 * o + other, tau), 2 * _phi(score, s, r, o, tau) + _phi(score, s, r, other, tau)
    )


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
def test_static_models_ignore_time(score: ScoreFunction) -> None:
    s, r, o, _ = _rows_of(score)
    one, other = (_phi(score, s, r, o, _random(len(s), s.shape[1], seed)) for seed in (20, 21))
    assert torch.equal(one, other) == (not score.temporal)


@pytest.mark.parametrize("components", [1, 2, 4, 8])
def test_n3_is_the_cubed_norm_of_each_coordinate(components: int) -> None:
    rows = _random(6, components * K)
    expected = rows.view(-1, components, K).norm(dim=1).pow(3).sum(dim=1)
    assert torch.allclose(n3_penalty(rows, components), expected)


# Regularisers, from the publications: sums over coordinates of cubed norms


def test_complex_penalties_of_a_hand_computed_fact() -> None:
    s, r, o = _row(3, 4), _row(6, 8), _row(0, 2)  # moduli 5, 10 and 2
    assert ComplEx().query_penalty(s, r).item() == pytest.approx(5**3 + 10**3)
    assert ComplEx().answer_penalty(o).item() == pytest.approx(2**3)


def test_telm_penalties_use_the_product_of_relation_and_timestamp() -> None:
    s, r, t = _row(1, 2, 2, 0), _row(2, 0, 0, 0), _row(0, 0, 3, 0)  # r τ = 6 e2
    assert TeLM().query_penalty(s, r, t).item() == pytest.approx(3**3 + 6**3)
    assert TeLM().answer_penalty(_row(0, 2, 1, 2)).item() == pytest.approx(3**3)


def test_telm_with_unit_timestamps_is_static() -> None:
    s, r, o, _ = _rows_of(TeLM())
    unit = torch.zeros_like(s)
    unit[:, :K] = 1
    plain = geometric_product(s, r)
    conjugate = torch.cat([sign * part for sign, part in zip((1, -1, -1, 1), o.chunk(4, dim=1), strict=True)], dim=1)
    assert torch.allclose(_phi(TeLM(), s, r, o, unit), (plain * conjugate).sum(dim=1))


def test_bique_without_imaginary_parts_and_shift_is_the_hamilton_product_of_quate() -> None:
    def quaternion(rows: Tensor) -> Tensor:
        """Real parts of the four blocks, with zero imaginary parts."""
        return torch.cat([half for part in rows.chunk(4, dim=1) for half in (part, torch.zeros_like(part))], dim=1)

    s, r, o = (_random(5, 4 * K, seed) for seed in (1, 2, 3))
    (a, b, c, d), (w, x, y, z) = s.chunk(4, dim=1), r.chunk(4, dim=1)
    product = torch.cat(
        (
            a * w - b * x - c * y - d * z,
            a * x + b * w + c * z - d * y,
            a * y - b * z + c * w + d * x,
            a * z + b * y - c * x + d * w,
        ),
        dim=1,
    )
    relation = torch.cat((quaternion(r), torch.zeros(5, 8 * K, dtype=torch.float64)), dim=1)
    assert torch.allclose(_phi(BiQUE(), quaternion(s), relation, quaternion(o)), (product * o).sum(dim=1))
