"""The second seed, as it was given: its example, its hints, and its own classes as the peer."""

from __future__ import annotations

import copy
import math
import pickle
import random

import pytest

from graphattn.scalar import (
    Linear,
    Module,
    SelfAttention,
    Value,
    apply_attention,
    attention_scores,
    causal_mask,
    softmax,
)


def close(a, b, tolerance=1e-12):
    return abs(a - b) <= tolerance * max(1.0, abs(b))


def test_the_example():
    attn = SelfAttention(embed_dim=4)
    x = [[Value(0.1) for _ in range(4)] for _ in range(3)]
    out = attn(x, causal=True)
    assert len(out) == 3 and len(out[0]) == 4
    assert all(type(row) is not tuple and all(isinstance(v, Value) for v in row) for row in out)
    assert isinstance(out, list) and isinstance(out[0], list)


def test_hint_sum_of_products():
    p, q = [Value(1.0), Value(-2.0), 3.0], [0.5, Value(4.0), Value(0.25)]
    y = sum(w * v for w, v in zip(p, q))
    y.backward()
    assert y.data == 0.5 - 8.0 + 0.75
    assert (p[0].grad, p[1].grad, q[1].grad, q[2].grad) == (0.5, 4.0, -2.0, 3.0)


def test_hint_mask_added_as_floats():
    scores = [[Value(1.0) for _ in range(3)] for _ in range(3)]
    masked = [[s + m for s, m in zip(row, hides)] for row, hides in zip(scores, causal_mask(3))]
    weights = [softmax(row) for row in masked]
    assert [[w.data for w in row] for row in weights] == [
        [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3],
    ]  # fmt: skip
    sum(w * (i + 1) for row in weights for i, w in enumerate(row)).backward()
    assert [scores[i][j].grad for i in range(3) for j in range(i + 1, 3)] == [0.0, 0.0, 0.0]
    assert scores[2][0].grad == pytest.approx(-1 / 3) and scores[2][2].grad == pytest.approx(1 / 3)


def test_causal_mask():
    assert causal_mask(3) == [[0.0, -1e9, -1e9], [0.0, 0.0, -1e9], [0.0, 0.0, 0.0]]
    assert {type(cell) for row in causal_mask(3) for cell in row} == {float}
    assert causal_mask(0) == [] and causal_mask(1) == [[0.0]]


def test_softmax():
    assert [w.data for w in softmax([Value(1000.0), Value(1001.0), 1002])] == [
        w.data for w in softmax([0.0, 1.0, Value(2.0)])
    ]
    assert sum(w.data for w in softmax([Value(0.1), 5, -3.0])) == pytest.approx(1.0, abs=1e-15)
    assert [w.data for w in softmax([0.0, -math.inf, Value(0.0)])] == [0.5, 0.0, 0.5]
    assert [w.data for w in softmax([-math.inf, -math.inf])] == [0.0, 0.0]


def test_scores_and_mixing():
    q, k = [[Value(1.0), 2.0]], [[3.0, Value(4.0)], [5, 6]]
    scores = attention_scores(q, k, 2)
    assert [v.data for v in scores[0]] == [11 / math.sqrt(2), 17 / math.sqrt(2)]
    mixed = apply_attention([[Value(0.25), 0.75]], [[1.0, Value(2.0), 3.0], [5.0, 6.0, 7.0]])
    assert [v.data for v in mixed[0]] == [4.0, 5.0, 6.0]


# ---------------------------------------------------------------- against the seed's own code


class Theirs:
    """The seed's Value, cut to what its attention needs."""

    def __init__(self, data, _children=(), _op=""):
        self.data, self.grad = float(data), 0.0
        self._backward, self._prev, self._op = lambda: None, set(_children), _op

    def __add__(self, other):
        other = other if isinstance(other, Theirs) else Theirs(other)
        out = Theirs(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Theirs) else Theirs(other)
        out = Theirs(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, n):
        out = Theirs(self.data**n, (self,), f"**{n}")

        def _backward():
            self.grad += n * (self.data ** (n - 1)) * out.grad

        out._backward = _backward
        return out

    def exp(self):
        out = Theirs(math.exp(self.data), (self,), "exp")

        def _backward():
            self.grad += out.data * out.grad

        out._backward = _backward
        return out

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other):
        return self * other**-1

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = 1.0
        for node in reversed(topo):
            node._backward()


def by_hand(x, w, b, n, d, causal):
    """The seed's self-attention, written with its Value."""

    def linear(name, rows):
        return [[sum(p * q for p, q in zip(w[name][i], row)) + b[name][i] for i in range(d)] for row in rows]

    q, k, v = linear("q", x), linear("k", x), linear("v", x)
    mixed = []
    for i in range(n):
        scores = [sum(a * c for a, c in zip(q[i], k[j])) / Theirs(math.sqrt(d)) for j in range(n)]
        scores = [s + (-1e9 if causal and j > i else 0.0) for j, s in enumerate(scores)]
        peak = max(s.data for s in scores)
        raised = [(s + -peak).exp() for s in scores]
        total = sum(raised)
        weights = [e / total for e in raised]
        mixed.append([sum(p * v[j][c] for j, p in enumerate(weights)) for c in range(d)])
    return linear("o", mixed)


@pytest.mark.parametrize("causal", [True, False])
def test_same_numbers_and_gradients_as_the_seed(causal):
    n, d = 3, 4
    random.seed(7)
    attn = SelfAttention(d)
    dice = random.Random(1)
    for part in "qkvo":
        for bias in getattr(attn, f"W_{part}").bias:
            bias.data = dice.gauss(0.0, 1.0)
    x = [[Value(dice.gauss(0.0, 1.0)) for _ in range(d)] for _ in range(n)]
    factors = [[dice.gauss(0.0, 1.0) for _ in range(d)] for _ in range(n)]

    w = {p: [[Theirs(c.data) for c in row] for row in getattr(attn, f"W_{p}").weight] for p in "qkvo"}
    b = {p: [Theirs(c.data) for c in getattr(attn, f"W_{p}").bias] for p in "qkvo"}
    xs = [[Theirs(c.data) for c in row] for row in x]
    theirs = by_hand(xs, w, b, n, d, causal)
    sum(f * c for fs, row in zip(factors, theirs) for f, c in zip(fs, row)).backward()
    ours = attn(x, causal=causal)
    sum(f * c for fs, row in zip(factors, ours) for f, c in zip(fs, row)).backward()

    assert all(close(a.data, c.data) for r, s in zip(ours, theirs) for a, c in zip(r, s))
    assert all(close(a.grad, c.grad) for r, s in zip(x, xs) for a, c in zip(r, s))
    for part in "qkvo":
        linear = getattr(attn, f"W_{part}")
        assert all(close(a.grad, c.grad) for r, s in zip(linear.weight, w[part]) for a, c in zip(r, s))
        assert all(close(a.grad, c.grad) for a, c in zip(linear.bias, b[part]))
        assert any(a.grad for row in linear.weight for a in row)


def test_weights_are_drawn_as_the_seed_draws_them():
    random.seed(3)
    attn = SelfAttention(2)
    random.seed(3)
    k = 1.0 / 2**0.5
    drawn = [random.uniform(-k, k) for _ in range(16)]
    parts = (attn.W_q, attn.W_k, attn.W_v, attn.W_o)
    assert [w.data for part in parts for row in part.weight for w in row] == drawn
    before = random.getstate()
    mine = SelfAttention(2, rng=random.Random(3))
    assert random.getstate() == before
    assert [p.data for p in mine.parameters()] == [p.data for p in attn.parameters()]


# ---------------------------------------------------------------- modules


def test_parameters():
    attn = SelfAttention(3)
    parts = (attn.W_q, attn.W_k, attn.W_v, attn.W_o)
    expected = [p for part in parts for p in [*(w for row in part.weight for w in row), *part.bias]]
    assert [id(p) for p in attn.parameters()] == [id(p) for p in expected]
    assert len(attn.parameters()) == 4 * (9 + 3)
    assert len(Linear(3, 2).parameters()) == 8 and len(Linear(3, 2, bias=False).parameters()) == 6
    attn(x := [[Value(1.0)] * 3], causal=False)
    assert len(attn.parameters()) == 48 and x  # a trace is no parameter


def test_parameters_of_ones_own_modules():
    class Mine(Module):
        def __init__(self):
            super().__init__()
            self.scale = Value(2.0)
            self.layers = [Linear(2, 1), (Linear(1, 1, bias=False), Value(3.0))]
            self.tied = self.scale
            self.notes = ["text", 3, None]
            self.above = self

        def forward(self, x):
            return self.layers[0](x)[0] * self.scale

    mine = Mine()
    assert [p.data for p in mine.parameters()][:2] == [2.0, 3.0]
    assert len(mine.parameters()) == 2 + 3 + 1
    assert list(mine._parameters) == ["scale", "layers.1.1", "tied"]
    assert list(mine._modules) == ["layers.0", "layers.1.0", "above"]
    mine([1.0, Value(2.0)]).backward()
    assert mine.scale.grad != 0.0
    mine.layers[0].weight[0][0] = replaced = Value(9.0)
    assert any(p is replaced for p in mine.parameters())
    mine.zero_grad()
    assert {p.grad for p in mine.parameters()} == {0.0}
    assert mine.training


def test_linear():
    layer = Linear(3, 2)
    x = [Value(1.0), 2, 0.5]
    y = layer(x)
    assert [v.data for v in y] == [
        pytest.approx(sum(w.data * float(c.data if isinstance(c, Value) else c) for w, c in zip(row, x)))
        for row in layer.weight
    ]
    sum(y).backward()
    assert x[0].grad == pytest.approx(layer.weight[0][0].data + layer.weight[1][0].data)
    assert [b.grad for b in layer.bias] == [1.0, 1.0]
    assert Linear(1, 1, bias=False).bias is None
    assert repr(Linear(2, 3)) == "Linear(2, 3)" and repr(Linear(2, 3, bias=False)) == "Linear(2, 3, bias=False)"


def test_a_module_can_be_copied_and_pickled():
    attn = SelfAttention(2)
    out = attn([[1.0, 2.0], [0.5, -1.0]])
    sum(v for row in out for v in row).backward()
    for other in (copy.deepcopy(attn), pickle.loads(pickle.dumps(attn))):
        assert [p.data for p in other.parameters()] == [p.data for p in attn.parameters()]
        assert other.parameters()[0] is not attn.parameters()[0] and other.trace is None
        assert [[v.data for v in row] for row in other([[1.0, 2.0], [0.5, -1.0]])] == [
            [v.data for v in row] for row in out
        ]
    assert attn.trace is not None
