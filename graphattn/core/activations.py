"""Activations that no op is, which people take for one that is: each built of ops."""

from __future__ import annotations

from .op import Declared


def leaky(g, x, *, number, **attributes):
    return g.where(g.is_positive(x), x, g.multiply(x, number))


def softplus(g, x, **attributes):
    """ln(1 + eˣ), as max(x, 0) + ln(1 + e^−|x|)."""
    far = g.negate(g.add(g.relu(x), g.relu(g.negate(x))))
    return g.add(g.relu(x), g.log(g.add(g.exp(far), g.constant(1))))


def elu(g, x, **attributes):
    below = g.negate(g.relu(g.negate(x)))
    return g.add(g.relu(x), g.subtract(g.exp(below), g.constant(1)))


def squared(g, x, **attributes):
    above = g.relu(x)
    return g.multiply(above, above)


def mish(g, x, **attributes):
    return g.multiply(x, g.tanh(softplus(g, x)))


ACTIVATIONS = (
    Declared("leaky", "with {number} x for x below 0, a leaky ReLU,", leaky, number=0.01),
    Declared("softplus", "with ln(1 + exp x), a softplus,", softplus),
    Declared("elu", "with exp x − 1 for x below 0, an ELU,", elu),
    Declared("squared relu", "with max(x, 0)², a squared ReLU,", squared),
    Declared("mish", "with x · tanh(ln(1 + exp x)), a Mish,", mish),
)
