"""`Value`: every operation against 50 digits, accumulation, operations of one's own, long chains."""

from __future__ import annotations

import copy
import gc
import math
import pickle
import random
import sys
from fractions import Fraction

import mpmath
import pytest

from graphattn.scalar import Value, rules
from graphattn.scalar.value import dot, maximum, total

XS = (0.3, 1.0, 2.75, -0.4, -3.0)
POSITIVE = tuple(abs(x) for x in XS)

FUNCTIONS = {
    "exp": (Value.exp, mpmath.exp, XS),
    "log": (Value.log, mpmath.log, POSITIVE),
    "sqrt": (Value.sqrt, mpmath.sqrt, POSITIVE),
    "tanh": (Value.tanh, mpmath.tanh, XS),
    "relu": (Value.relu, lambda x: max(x, mpmath.mpf(0)), XS),
    "erf": (Value.erf, mpmath.erf, XS),
    "sin": (Value.sin, mpmath.sin, XS),
    "cos": (Value.cos, mpmath.cos, XS),
    "abs": (abs, abs, XS),
    "neg": (lambda x: -x, lambda x: -x, XS),
    "pos": (lambda x: +x, lambda x: +x, XS),
    "1 - v": (lambda x: 1 - x, lambda x: 1 - x, XS),
    "v - 1": (lambda x: x - 1.5, lambda x: x - 1.5, XS),
    "1 / v": (lambda x: 1 / x, lambda x: 1 / x, XS),
    "v / 3": (lambda x: x / 3, lambda x: x / 3, XS),
    "2 + v": (lambda x: 2 + x, lambda x: 2 + x, XS),
    "2.5 * v": (lambda x: 2.5 * x, lambda x: 2.5 * x, XS),
    "v ** 3": (lambda x: x**3, lambda x: x**3, XS),
    "v ** -2": (lambda x: x**-2, lambda x: x**-2, XS),
    "v ** 0.5": (lambda x: x**0.5, lambda x: x ** mpmath.mpf("0.5"), POSITIVE),
    "v ** 0": (lambda x: x**0, lambda x: x**0, XS),
    "2 ** v": (lambda x: 2**x, lambda x: mpmath.mpf(2) ** x, XS),
    "v ** v": (lambda x: x**x, lambda x: x**x, POSITIVE),
    "v * v + v": (lambda x: x * x + x, lambda x: x * x + x, XS),
    "v / v": (lambda x: x / x, lambda x: x / x, XS),
    "dot": (lambda x: dot([x, x, x], [x, Value(2.0), x * x]), lambda x: x * x + 2 * x + x**3, XS),
    "total": (lambda x: total([x, x * x, Value(1.0)]), lambda x: x + x * x + 1, XS),
    "maximum": (lambda x: maximum([x, Value(0.1), x * 2]), lambda x: max(x, mpmath.mpf("0.1"), x * 2), XS),
}


def check(name):
    ours, theirs, points = FUNCTIONS[name]
    with mpmath.workdps(50):
        for point in points:
            x = Value(point)
            y = ours(x)
            y.backward()
            exact = theirs(mpmath.mpf(point))
            slope = mpmath.diff(theirs, mpmath.mpf(point), h=mpmath.mpf("1e-18"))
            assert abs(y.data - exact) <= 1e-15 * max(1, abs(exact)), point
            assert abs(x.grad - slope) <= 1e-13 * max(1, abs(slope)), point


@pytest.mark.parametrize("name", FUNCTIONS)
def test_against_fifty_digits(name):
    check(name)


RULES = [name for name, thing in vars(rules).items() if isinstance(thing, rules.Rule)]


@pytest.mark.parametrize("name", [*RULES, "constant power"])
def test_a_planted_wrong_gradient_is_seen(name, monkeypatch):
    """2.001 for 2, in each rule by turns."""
    if name == "constant power":
        right = rules.slope
        monkeypatch.setattr(rules, "slope", lambda x, n: right(x, n) * 1.0005)
    else:
        rule = getattr(rules, name)
        push = rule.push
        monkeypatch.setattr(rule, "push", lambda y, g: push(y, g * 1.0005))
    wrong = 0
    for expression in FUNCTIONS:
        try:
            check(expression)
        except AssertionError:
            wrong += 1
    assert wrong


def test_random_expressions_against_central_differences():
    unary = [Value.tanh, Value.sin, Value.cos, Value.erf, lambda v: v * 0.5, lambda v: (v * v + 1).log(),
             lambda v: (v * v + 1).sqrt(), lambda v: 1 / (v * v + 2), lambda v: (v * 0.1).exp()]  # fmt: skip
    binary = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / (b * b + 1),
              lambda a, b: dot([a, b, a], [b, b, a]), lambda a, b: total([a, b, a])]  # fmt: skip

    def built(numbers, seed):
        dice = random.Random(seed)
        pool = list(numbers)
        for _ in range(25):
            if dice.random() < 0.5:
                pool.append(dice.choice(unary)(dice.choice(pool)))
            else:
                pool.append(dice.choice(binary)(dice.choice(pool), dice.choice(pool)))
        return total(v.tanh() for v in pool)

    for seed in range(40):
        points = [random.Random(seed + 1000).uniform(-1, 1) for _ in range(3)]
        leaves = list(map(Value, points))
        built(leaves, seed).backward()
        for k, leaf in enumerate(leaves):
            step = 1e-5
            ends = [
                built([Value(p + sign * step * (i == k)) for i, p in enumerate(points)], seed).data
                for sign in (1, -1)
            ]
            assert leaf.grad == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=2e-6, abs=2e-6), (seed, k)


def test_reuse_accumulates():
    a = Value(3.0)
    b = a + a
    (b * a + b).backward()  # 2a² + 2a
    assert a.grad == 4 * 3.0 + 2


def test_leaves_accumulate_and_inner_gradients_start_anew():
    a, b = Value(2.0), Value(5.0)
    inner = a * b
    y = inner + a
    y.backward()
    y.backward()
    assert (a.grad, b.grad) == (12.0, 4.0)
    assert (inner.grad, y.grad) == (1.0, 1.0)
    (inner * 3).backward()
    assert inner.grad == 3.0 and b.grad == 10.0
    a.backward()
    a.backward()
    assert a.grad == 29.0


def test_ieee_754_instead_of_exceptions():
    zero, big = Value(0.0), Value(1e200)
    assert zero.log() == -math.inf and (1 / zero) == math.inf and (-1 / zero) == -math.inf
    assert math.isnan((zero / zero).data) and math.isnan(Value(-1.0).sqrt().data)
    assert math.isnan(Value(-1.0).log().data) and math.isnan((Value(-2.0) ** 0.5).data)
    assert Value(1000.0).exp() == math.inf and big * big == math.inf
    assert big**2 == math.inf and (-big) ** 3 == -math.inf and (-big) ** 2 == math.inf
    assert zero**-1 == math.inf and zero**-2 == math.inf and Value(-0.0) ** -1 == -math.inf and zero**0 == 1
    assert math.isnan(Value(math.inf).sin().data) and math.isnan(Value(math.inf).cos().data)
    x = Value(0.0)
    x.sqrt().backward()
    assert x.grad == math.inf
    x = Value(0.0)
    (2 * x**2 + x**1 + x**0).backward()
    assert x.grad == 1.0


def test_a_zero_gradient_goes_nowhere():
    """0 · ∞ would be NaN; what is multiplied by 0 later has no influence."""
    w = Value(2.0)
    hidden = dot([w], [Value(math.inf)])
    (3 * w + 0 * total([hidden])).backward()
    assert w.grad == 3.0


def test_relu_and_maximum_where_they_bend():
    for point, slope in ((0.0, 0.0), (-0.0, 0.0), (1e-300, 1.0), (-1e-300, 0.0)):
        x = Value(point)
        x.relu().backward()
        assert x.grad == slope
    a, b, c = Value(1.0), Value(2.0), Value(2.0)
    maximum([a, b, c]).backward()
    assert (a.grad, b.grad, c.grad) == (0.0, 1.0, 0.0)


# ---------------------------------------------------------------- operations of one's own


def cube(x):
    out = Value(x.data**3, (x,), "cube")

    def _backward():
        x.grad += 3 * x.data**2 * out.grad

    out._backward = _backward
    return out


def test_own_operations_mix_with_ours():
    x = Value(2.0)
    y = cube(x * 3) * x + cube(cube(Value(1.0)) + x)  # 27 x⁴ + (1 + x)³
    y.backward()
    assert y.data == 27 * 16 + 27
    assert x.grad == 108 * 8 + 27
    y.backward()
    assert x.grad == 2 * (108 * 8 + 27)


def test_what_own_operations_rely_on():
    a, b = Value(1.0), Value(2.0)
    out = Value(3.0, (a, b), "mine")
    assert (out._prev, out._op) == ({a, b}, "mine")
    assert (a._prev, a._op) == (set(), "")
    assert Value(1.0, (), "w")._op == "w"
    assert (a * b)._op == "*" and (a**2)._op == "**2" and (a**0.5)._op == "**0.5" and a.exp()._op == "exp"
    assert (a * b)._prev == {a, b} and (a + a)._prev == {a}
    assert dot([a, b], [b, a])._prev == {a, b}
    a._backward()
    out._backward()
    out.backward()  # without a _backward of its own nothing goes on, as in the seed
    assert a.grad == b.grad == 0.0
    product = a * b
    product.grad = 10.0
    product._backward()
    assert (a.grad, b.grad) == (20.0, 10.0)


def test_a_labelled_leaf_accumulates():
    w = Value(1.0, (), "w")
    (w * 2).backward()
    (w * 2).backward()
    assert w.grad == 4.0


def test_a_hook_on_our_own_operation():
    seen = []
    x = Value(2.0)
    y = x * x
    before = y._backward

    def hook():
        seen.append(y.grad)
        before()

    y._backward = hook
    (y * 3).backward()
    assert seen == [3.0] and x.grad == 12.0 and y._op == "*"
    seen.clear()
    (y * 0).backward()
    assert seen == [0.0]


def test_a_backward_on_a_leaf_is_called():
    called = []
    x = Value(2.0)
    x._backward = lambda: called.append(x.grad)
    (x * 4).backward()
    assert called == [4.0]


# ---------------------------------------------------------------- chains, graphs, memory


@pytest.mark.slow
@pytest.mark.parametrize("step", [lambda v: v * 1.0, Value.relu, lambda v: dot([v], [Value(1.0)])])
def test_a_hundred_thousand_operations(step):
    assert sys.getrecursionlimit() < 10_000
    x = y = Value(1.0)
    for _ in range(100_000):
        y = step(y)
    y.backward()
    assert x.grad == 1.0
    del y
    gc.collect()


@pytest.mark.slow
def test_a_long_chain_of_own_operations():
    x = y = Value(1.0)
    for _ in range(10_000):
        y = cube(y) * 0.25
    assert y.data == 0.0
    y.backward()
    assert x.grad == 0.0


def test_wide_and_shared():
    """2⁵⁰ paths lead from x to y; each Value is visited once."""
    x = y = Value(1.0)
    for _ in range(50):
        y = y + y
    y.backward()
    assert x.grad == 2.0**50


def test_order_where_tuples_are_shared():
    """A dot product below another that shares a row with it comes later in backward, not earlier."""
    x = Value(3.0)
    row = (x * 2, x * x)
    low = dot(row, (Value(1.0), Value(2.0)))
    high = dot(row, (low, low * 2))
    high.backward()  # 2x · (2x + 2x²) + x² · 2 (2x + 2x²) = 4x² + 8x³ + 4x⁴
    assert x.grad == 8 * 3 + 24 * 9 + 16 * 27


def test_a_list_that_changes_later_is_not_followed():
    row = [Value(1.0), Value(2.0)]
    y = dot(row, row)
    row.append(y)
    y.backward()
    assert (row[0].grad, row[1].grad) == (2.0, 4.0)
    z = total(row)
    row[0] = z
    z.backward()
    assert row[1].grad == 4.0 + 1.0 + 4.0


def test_a_value_is_small():
    assert not hasattr(Value(1.0), "__dict__")
    assert sys.getsizeof(Value(1.0)) <= 64  # with the collector's header


# ---------------------------------------------------------------- as a number


def test_comparisons():
    a, b = Value(1.0), Value(2.0)
    assert a < b and a <= b and b > a and b >= a and a < 1.5 and b > 1.5 and a <= 1 and a >= 1
    assert a == 1.0 and a == Value(1.0) and a != b and a != 2 and a == Fraction(1)
    assert a != "1.0" and a is not None and Value(math.nan) != Value(math.nan)
    assert max([a, b]) is b and sorted([b, a])[0] is a
    assert len({a, Value(1.0)}) == 2  # by identity in sets and dicts
    assert not Value(0.0) and Value(-1.0)


def test_repr_and_format():
    assert repr(Value(0.12345)) == "Value(0.1235)" and str(Value(2)) == "Value(2.0000)"
    assert f"{Value(0.5):.2f}" == "0.50" and f"{Value(0.5)}" == "Value(0.5000)"


def test_other_numbers():
    v = Value(2)
    assert type(v.data) is float
    assert (v * Fraction(1, 2)).data == 1.0 and (Fraction(1, 2) + v).data == 2.5 and (v + True).data == 3.0


def test_copies_are_leaves():
    x = Value(2.0)
    y = x
    for _ in range(20_000):
        y = y * 1.0
    y.backward()
    for other in (copy.copy(y), copy.deepcopy(y), pickle.loads(pickle.dumps(y))):
        assert (other.data, other.grad, other._op, other._prev) == (2.0, 1.0, "", set())


def test_micrograd_agrees():
    engine = pytest.importorskip("micrograd.engine")

    def expression(a, b):
        c = a + b
        d = a * b + b**3
        c = c + c + 1
        c = c + 1 + c + (-a)
        d = d + d * 2 + (b + a).relu()
        d = d + 3 * d + (b - a).relu()
        e = c - d
        f = e**2
        g = f / 2.0
        return g + 10.0 / f

    ours, theirs = ((cls(-4.0), cls(2.0)) for cls in (Value, engine.Value))
    y, z = expression(*ours), expression(*theirs)
    y.backward()
    z.backward()
    assert y.data == pytest.approx(z.data, rel=1e-14)
    for a, b in zip(ours, theirs):
        assert a.grad == pytest.approx(b.grad, rel=1e-13)
