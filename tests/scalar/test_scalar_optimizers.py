"""SGD and Adam against steps worked out by hand, and a module that learns."""

from __future__ import annotations

import math
import random

import pytest

from graphattn.scalar import SGD, Adam, SelfAttention, Value
from graphattn.scalar.value import total


def parameter(data, grad):
    value = Value(data)
    value.grad = grad
    return value


def test_sgd_by_hand():
    a, b = parameter(1.0, 0.5), parameter(-2.0, -4.0)
    optimizer = SGD([a, b], lr=0.25)
    optimizer.step()
    assert (a.data, b.data) == (1.0 - 0.25 * 0.5, -2.0 + 0.25 * 4.0)
    optimizer.zero_grad()
    assert (a.grad, b.grad) == (0.0, 0.0)
    optimizer.step()
    assert (a.data, b.data) == (0.875, -1.0)


def test_momentum_by_hand():
    a = parameter(1.0, 1.0)
    optimizer = SGD([a], lr=0.5, momentum=0.5)
    optimizer.step()  # v = 1
    assert a.data == 0.5
    a.grad = 2.0
    optimizer.step()  # v = 0.5 + 2 = 2.5
    assert a.data == 0.5 - 1.25


def test_adam_by_hand():
    a = parameter(1.0, 0.5)
    optimizer = Adam([a], lr=0.1, betas=(0.5, 0.75), eps=0.25)
    optimizer.step()  # m = 0.25, v = 0.0625; m̂ = 0.5, v̂ = 0.25
    assert a.data == pytest.approx(1.0 - 0.1 * 0.5 / (0.5 + 0.25), rel=1e-15)
    after = a.data
    a.grad = -1.0
    optimizer.step()  # m = 0.125 − 0.5, v = 0.046875 + 0.25; m̂ = m / 0.75, v̂ = v / 0.4375
    m, v = -0.375 / 0.75, 0.296875 / 0.4375
    assert a.data == pytest.approx(after - 0.1 * m / (math.sqrt(v) + 0.25), rel=1e-15)


def test_the_first_step_of_adam_is_lr():
    for gradient in (1e-3, -5.0, 1e6):
        a = parameter(2.0, gradient)
        Adam([a]).step()
        assert a.data == pytest.approx(2.0 - math.copysign(0.001, gradient), rel=1e-6)
    a = parameter(2.0, 0.0)
    Adam([a], eps=0.0).step()
    assert a.data == 2.0


def test_a_shared_parameter_moves_once():
    a = parameter(1.0, 1.0)
    for optimizer in (SGD([a, a], lr=0.5), SGD(iter([a, a]), lr=0.5)):
        before = a.data
        optimizer.step()
        assert a.data == before - 0.5


@pytest.mark.parametrize("make", [lambda p: SGD(p, lr=0.1, momentum=0.5), lambda p: Adam(p, lr=0.2)])
def test_self_attention_learns(make):
    attn = SelfAttention(2, rng=random.Random(0))
    optimizer = make(attn.parameters())
    x = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    goal = [[0.5, -0.5], [0.0, 1.0], [-0.5, 0.25]]
    losses = []
    for _ in range(60):
        out = attn(x)
        loss = total((v - g) ** 2 for row, goals in zip(out, goal) for v, g in zip(row, goals))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.data)
    assert losses[-1] < losses[0] / 10
