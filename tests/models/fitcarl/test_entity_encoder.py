from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fitcarl.models.fitcarl.entity_encoder import AttentionLayer, EntityEncoder, Neighbourhood
from fitcarl.models.fitcarl.time import TimeEncoding, TimeTable
from tests.models.fitcarl.paper.reference import transformer_layer


def neighbourhood(rows: Tensor, relations: Tensor, times: list[list[int]], counts: list[int]) -> Neighbourhood:
    known = torch.arange(rows.shape[1]) < torch.tensor(counts).unsqueeze(1)
    return Neighbourhood(rows, relations, torch.tensor(times), known)


def worked_by_hand(biased: bool) -> Tensor:
    """[CLS] = (1, 0, 0) at t_q = 5, one neighbour whose token is (0, 1, 0) at 3; identities everywhere else."""
    encoder = EntityEncoder(3, heads=1, layers=1, feedforward=2).double()
    layer = encoder.layers[0]
    assert isinstance(layer, AttentionLayer)
    time = TimeEncoding(3).double()
    with torch.no_grad():
        encoder.cls.copy_(torch.tensor([1.0, 0, 0]))
        encoder.meta.weight.copy_(torch.eye(3, 6))
        encoder.meta.bias.zero_()
        for linear in (layer.query, layer.key, layer.value, layer.output):
            linear.weight.copy_(torch.eye(3))
        for bias in (layer.output.bias, layer.narrow.weight, layer.narrow.bias):
            bias.zero_()
        layer.position.copy_(torch.tensor([1.0, 0, 0]))
        time.omega.copy_(torch.tensor([math.pi / 2, 0, 0], dtype=torch.float64))
    entity = torch.tensor([[[0.0, 1, 0]]], dtype=torch.float64)
    near = neighbourhood(entity, torch.full_like(entity, 7), [[3]], [1])
    return encoder(near, torch.tensor([0]), torch.tensor([5]), time.table(4), biased)[0]


def test_attention_scores_equal_equation_2() -> None:
    # h_Δt = sqrt(1/3) (cos(π Δt / 2), 1, 1), so the bias is +sqrt(1/3) at Δt = 0 and -sqrt(1/3) at Δt = 5 - 3.
    # α_cls,cls = 1/sqrt(3) + sqrt(1/3), α_cls,1 = 0 - sqrt(1/3); att = σ(sqrt(3)) = .849675, and .150325 for the other.
    # (1, 0, 0) + (.849675, .150325, 0) has mean 2/3 and standard deviation sqrt(2/9 + 2/3 · .849675²) = .838762.
    expected = [(1.849675 - 2 / 3) / 0.838762, (0.150325 - 2 / 3) / 0.838762, (0 - 2 / 3) / 0.838762]
    assert worked_by_hand(biased=True).tolist() == pytest.approx(expected, abs=5e-5)  # 1e-5 is added to variances


def test_unbiased_attention_equals_a_plain_transformer() -> None:
    # att = σ(1/sqrt(3)) = .640457; the standard deviation is sqrt(2/9 + 2/3 · .640457²) = .704045.
    expected = [(1.640457 - 2 / 3) / 0.704045, (0.359543 - 2 / 3) / 0.704045, (0 - 2 / 3) / 0.704045]
    assert worked_by_hand(biased=False).tolist() == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("heads", [1, 2, 3])
def test_layer_equals_the_reference_layer(heads: int) -> None:
    torch.manual_seed(heads)
    layer, time = AttentionLayer(6, heads, 5).double(), TimeEncoding(6).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    moments = torch.tensor([4, 0, 7])
    tokens = torch.randn(3, 6, dtype=torch.float64)
    table = time.table(7)
    bias = table.weigh(layer.position)[moments.unsqueeze(1) - moments + 7]
    actual = layer.finish(tokens[None], layer.scores(tokens[None], tokens[None]) + bias, layer.values(tokens[None]))[0]
    weights = {f"x.{name}": value for name, value in layer.named_parameters()}
    weights |= {f"time.{name}": value for name, value in time.named_parameters()}
    literal = torch.stack(transformer_layer(weights, "x", list(tokens), moments.tolist(), heads, True))
    assert torch.allclose(actual, literal, rtol=1e-10, atol=1e-12)


def random_encoder(heads: int = 2, layers: int = 2) -> tuple[EntityEncoder, TimeTable]:
    torch.manual_seed(0)
    encoder, time = EntityEncoder(8, heads, layers, 12).double(), TimeEncoding(8).double()
    with torch.no_grad():
        for parameter in (*encoder.parameters(), *time.parameters()):
            parameter.normal_(0, 0.5)
    return encoder, time.table(12)


def random_neighbourhood(counts: list[int], seed: int = 1) -> Neighbourhood:
    generator = torch.Generator().manual_seed(seed)
    shape = (len(counts), max(counts))
    rows = torch.randn(2, *shape, 8, dtype=torch.float64, generator=generator)
    times = torch.randint(0, 9, shape, generator=generator)
    return neighbourhood(rows[0], rows[1], times.tolist(), counts)


def test_values_depend_on_their_token_only() -> None:
    # A reshape in place of a transpose would mix tokens and heads.
    layer = AttentionLayer(8, 2, 5)
    tokens = torch.randn(2, 4, 8)
    other = tokens.clone()
    other[:, 2] += 1
    changed = (layer.values(tokens) != layer.values(other)).any(-1)
    assert changed.tolist() == [[[False, False, True, False]] * 2] * 2


def test_one_shot_embedding_depends_on_its_support_fact() -> None:
    encoder, time = random_encoder()
    ask = torch.tensor([0]), torch.tensor([5])
    one, other = (encoder(random_neighbourhood([1], seed), *ask, time) for seed in (1, 2))
    assert (one - other).abs().max() > 1e-2


@pytest.mark.parametrize("field", ["entity", "relation", "time"])
@pytest.mark.parametrize("fact", [0, 1, 2])
def test_embedding_depends_on_every_support_fact(field: str, fact: int) -> None:
    encoder, time = random_encoder()
    near = random_neighbourhood([3])
    columns = {"entity": near.entity.clone(), "relation": near.relation.clone(), "time": near.time.clone()}
    columns[field][0, fact] += 1
    changed = Neighbourhood(columns["entity"], columns["relation"], columns["time"], near.known)
    ask = torch.tensor([0]), torch.tensor([5])
    assert (encoder(near, *ask, time) - encoder(changed, *ask, time)).abs().max() > 1e-3


def test_order_of_support_facts_does_not_matter() -> None:
    encoder, time = random_encoder()
    near, order = random_neighbourhood([3]), [2, 0, 1]
    shuffled = Neighbourhood(near.entity[:, order], near.relation[:, order], near.time[:, order], near.known)
    ask = torch.tensor([0]), torch.tensor([5])
    assert torch.allclose(encoder(near, *ask, time), encoder(shuffled, *ask, time), rtol=1e-10)


def test_query_time_only_affects_its_own_query() -> None:
    encoder, time = random_encoder()
    near, owner = random_neighbourhood([3, 3]), torch.tensor([0, 1, 0, 1])
    before = encoder(near, owner, torch.tensor([1, 2, 3, 4]), time)
    after = encoder(near, owner, torch.tensor([1, 2, 8, 4]), time)
    assert torch.equal(before[[0, 1, 3]], after[[0, 1, 3]])
    assert (before[2] - after[2]).abs().max() > 1e-3


@pytest.mark.parametrize("padding", [0.0, 5.0, -40.0])
def test_attention_ignores_padding(padding: float) -> None:
    encoder, time = random_encoder()
    near = random_neighbourhood([1, 3])
    filled = near.entity.clone()
    filled[0, 1:] = padding
    moved = near.time.clone()
    moved[0, 1:] = int(padding) * 1000
    ask = torch.tensor([0, 1]), torch.tensor([5, 6])
    expected = encoder(near, *ask, time)
    assert torch.equal(encoder(Neighbourhood(filled, near.relation, moved, near.known), *ask, time), expected)
    alone = Neighbourhood(near.entity[:1, :1], near.relation[:1, :1], near.time[:1, :1], near.known[:1, :1])
    assert torch.allclose(encoder(alone, ask[0][:1], ask[1][:1], time), expected[:1], rtol=1e-12)


def test_padding_gets_no_gradient() -> None:
    encoder, time = random_encoder()
    near = random_neighbourhood([1, 3])
    entity = near.entity.clone().requires_grad_()
    encoder(
        Neighbourhood(entity, near.relation, near.time, near.known), torch.tensor([0, 1]), torch.tensor([5, 6]), time
    ).pow(2).sum().backward()
    assert entity.grad is not None
    assert ((entity.grad != 0).any(-1) == near.known).all()


def test_last_time_ignores_padding() -> None:
    near = neighbourhood(torch.zeros(3, 3, 2), torch.zeros(3, 3, 2), [[-5, 0, 0], [-7, -3, -9], [4, 8, 99]], [1, 3, 2])
    assert near.last_time.tolist() == [-5, -3, 8]


def test_heads_must_divide_the_dimension() -> None:
    with pytest.raises(ValueError, match="not divisible by 3 heads"):
        AttentionLayer(8, 3, 4)
