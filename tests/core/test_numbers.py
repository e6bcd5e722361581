"""Number types: IEEE 754 at the edges, exact fractions, 50 digits, and what a type lacks."""

import math
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphattn import Graph, GraphError, run
from graphattn.core import numbers
from graphattn.core.numbers import FLOAT, Numbers

inf, nan = math.inf, math.nan
LEAST, LARGEST = 5e-324, sys.float_info.max


def same(a, b):
    """Bit for bit, any NaN being NaN."""
    return repr(a) == repr(b) and type(a) is type(b)


# ---------------------------------------------------------------- float


@pytest.mark.parametrize(
    "function, x, y",
    [
        ("exp", 710.0, inf), ("exp", inf, inf), ("exp", -inf, 0.0), ("exp", -746.0, 0.0), ("exp", nan, nan),
        ("exp", 0.0, 1.0), ("exp", -0.0, 1.0), ("exp", LARGEST, inf), ("exp", -745.0, LEAST),
        ("log", 0.0, -inf), ("log", -0.0, -inf), ("log", -1.0, nan), ("log", inf, inf), ("log", -inf, nan),
        ("log", nan, nan), ("log", 1.0, 0.0), ("log", LEAST, -744.4400719213812),
        ("sqrt", -1.0, nan), ("sqrt", -LEAST, nan), ("sqrt", -0.0, -0.0), ("sqrt", inf, inf),
        ("sqrt", -inf, nan), ("sqrt", nan, nan), ("sqrt", 4.0, 2.0), ("sqrt", LEAST, 2.2227587494850775e-162),
        ("sin", inf, nan), ("sin", -inf, nan), ("sin", nan, nan), ("sin", -0.0, -0.0), ("sin", 0.0, 0.0),
        ("cos", inf, nan), ("cos", -inf, nan), ("cos", nan, nan), ("cos", 0.0, 1.0),
        ("tanh", inf, 1.0), ("tanh", -inf, -1.0), ("tanh", nan, nan), ("tanh", -0.0, -0.0), ("tanh", 20.0, 1.0),
        ("erf", inf, 1.0), ("erf", -inf, -1.0), ("erf", nan, nan), ("erf", -0.0, -0.0), ("erf", 6.0, 1.0),
        ("negate", 0.0, -0.0), ("negate", inf, -inf), ("negate", nan, nan),
    ],
)  # fmt: skip
def test_float_functions_of_one(function, x, y):
    assert same(getattr(FLOAT, function)(x), y)


@pytest.mark.parametrize(
    "a, b, y",
    [
        (1.0, 0.0, inf), (1.0, -0.0, -inf), (-1.0, 0.0, -inf), (-1.0, -0.0, inf), (0.0, 0.0, nan),
        (-0.0, 0.0, nan), (nan, 0.0, nan), (inf, 0.0, inf), (-inf, 0.0, -inf), (inf, -0.0, -inf),
        (inf, inf, nan), (1.0, inf, 0.0), (-1.0, inf, -0.0), (LARGEST, LEAST, inf), (LEAST, 2.0, 0.0),
        (-LEAST, 2.0, -0.0), (LEAST, LEAST, 1.0), (1.0, nan, nan), (0.0, 5.0, 0.0), (0.0, -5.0, -0.0),
    ],
)  # fmt: skip
def test_division(a, b, y):
    assert same(numbers.divide(a, b), y)


@pytest.mark.parametrize(
    "values, y",
    [
        ([], 0.0), ([1e16, 1.0, -1e16], 1.0), ([0.1] * 10, 1.0), ([inf, 1.0], inf), ([inf, -inf], nan),
        ([-inf, 1.0, -inf], -inf), ([nan, 1.0], nan), ([nan, inf, -inf], nan), ([LARGEST, LARGEST], inf),
        ([LEAST, -LEAST], 0.0), ([LARGEST, -LARGEST, 1.0], 1.0), ([LARGEST, inf], inf),
    ],
)  # fmt: skip
def test_total(values, y):
    assert same(numbers.total(values), y)


@pytest.mark.parametrize(
    "values, y",
    [
        ([], -inf), ([1.0, 3.0, 2.0], 3.0), ([nan, 1.0], nan), ([1.0, nan], nan), ([-inf, -inf], -inf),
        ([inf, nan], nan), ([-inf, nan], nan), ([inf, 1.0], inf),
    ],
)  # fmt: skip
def test_maximum(values, y):
    assert same(numbers.maximum(values), y)


@pytest.mark.parametrize(
    "p, q, y",
    [
        ([1.0, 2.0], [3.0, 4.0], 11.0), ([0.0], [inf], nan), ([inf], [2.0], inf),
        ([inf, 1.0], [1.0, -inf], nan), ([nan], [0.0], nan),
        ([1e200], [1e200], inf), ([1e200], [-1e200], -inf), ([-0.0], [1.0], 0.0),
        ([LEAST], [0.5], 0.0),
    ],
)  # fmt: skip
def test_dot(p, q, y):
    got = numbers.dot(p, q)
    assert same(got, y) or (y == 0.0 and got == 0.0)  # the sign of a sum that is zero is left open


def test_comparison_and_finiteness():
    assert FLOAT.less(1.0, 2.0) and not FLOAT.less(nan, 1.0) and not FLOAT.less(0.0, -0.0)
    assert FLOAT.isfinite(LARGEST) and not FLOAT.isfinite(inf) and not FLOAT.isfinite(nan)
    assert same(FLOAT.lift(3), 3.0) and same(FLOAT.lift("1e-05"), 1e-05)


@given(st.floats(), st.floats())
def test_no_exception_of_python_escapes(a, b):
    for one in ("exp", "log", "sqrt", "sin", "cos", "tanh", "erf", "negate"):
        assert isinstance(getattr(FLOAT, one)(a), float)
    for two in ("add", "subtract", "multiply", "divide"):
        assert isinstance(getattr(FLOAT, two)(a, b), float)
    for many in ("total", "maximum"):
        assert isinstance(getattr(FLOAT, many)([a, b, a]), float)
    assert isinstance(FLOAT.dot([a, b], [b, a]), float)


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_division_is_pythons_where_python_divides(a, b):
    if b:
        assert same(numbers.divide(a, b), a / b)


# ---------------------------------------------------------------- fractions


def matmul_graph():
    g = Graph("exact")
    a, b = g.input("a", (2, 2)), g.input("b", (2, 2))
    y = g.linear(a, b, g.constant(("0.1", 2)))
    y = g.where(g.constant(((True, False), (True, True))), y / 3, -y)
    g.output(y=g.relu(y), mean=g.reduce_mean(y), top=g.reduce_max(y), scaled=g.scale(y, sqrt=4))
    return g


def test_fractions_are_exact():
    trace = run(
        matmul_graph(), {"a": [[1, 2], [3, Fraction(1, 10)]], "b": [[1, 3], [0.5, 7]]}, numbers="fraction"
    )
    F = Fraction
    y = [[F(71, 30), F(-33, 2)], [F(34, 30), F(42, 30)]]
    assert trace["y"] == [[F(71, 30), 0], [F(34, 30), F(42, 30)]]
    assert trace["mean"] == [[(row[0] + row[1]) / 2] for row in y]
    assert trace["top"] == [[max(row)] for row in y]
    assert trace["scaled"] == [[v / 2 for v in row] for row in y]
    assert all(type(v) is Fraction for row in trace["y"] for v in row)
    assert trace.outputs["y"] == trace["y"]


def test_decimal_text_is_read_exactly_by_each_type():
    g = Graph()
    g.constant("0.1", name="c")
    assert run(g)["c"] == 0.1
    assert run(g, numbers="fraction")["c"] == Fraction(1, 10)
    assert str(run(g, numbers="mpmath")["c"]) == "0.1"
    assert run(g, numbers="mpmath")["c"] != run(g)["c"]


@pytest.mark.parametrize("op", ["exp", "log", "tanh", "erf", "sin", "cos"])
def test_a_function_that_fractions_lack_is_named(op):
    g = Graph()
    y = g.apply(op, g.input("x", (1,)), name="y")
    with pytest.raises(GraphError) as caught:
        run(g, {"x": [1]}, numbers="fraction")
    assert str(caught.value) == f"{op} 'y': fraction numbers have no {op}; expected a graph without it"
    assert y.name == "y"


def test_what_fractions_cannot_do_is_told_with_op_and_node():
    def refusal(build, feed=None):
        g = Graph()
        build(g, g.input("x", (1,)))
        with pytest.raises(GraphError) as caught:
            run(g, {"x": [2] if feed is None else feed}, numbers="fraction", allow_nonfinite=True)
        return str(caught.value)

    assert refusal(lambda g, x: g.sqrt(x, name="y")) == (
        "sqrt 'y': fraction numbers have no square root of 2; expected a perfect square"
    )
    assert refusal(lambda g, x: g.sqrt(-x, name="y")) == (
        "sqrt 'y': fraction numbers have no square root of -2; expected a perfect square"
    )
    assert refusal(lambda g, x: g.divide(x, 0, name="y")) == (
        "divide 'y': fraction numbers have no 2/0; expected a divisor other than 0"
    )
    assert refusal(lambda g, x: g.softmax(x, name="y")) == (
        "exp 'y.raised': fraction numbers have no exp; expected a graph without it"
    )
    assert refusal(lambda g, x: x, [inf]) == "x[0]: fraction numbers have no inf; expected finite numbers"
    assert refusal(lambda g, x: x, ["1/0"]) == "x[0] is '1/0'; expected a number"
    assert refusal(lambda g, x: g.constant(inf, name="c")) == (
        "constant 'c': fraction numbers have no inf; expected finite numbers"
    )
    assert refusal(lambda g, x: g.positional_encoding(2, 2, name="p")) == (
        "log 'p.log_base': fraction numbers have no log; expected a graph without it"
    )


# ---------------------------------------------------------------- 50 digits


def test_mpmath_has_fifty_digits():
    g = Graph()
    x = g.input("x", (1,))
    g.output(root=g.sqrt(x), third=x / 3, erf=g.erf(x), e=g.exp(x / 2))
    got = {name: value[0] for name, value in run(g, {"x": [2]}, numbers="mpmath").outputs.items()}
    mp = numbers.of("mpmath")
    assert mp.text(got["root"]).startswith("1.414213562373095048801688724209698078569671875376")
    assert mp.text(got["third"]).startswith("0.66666666666666666666666666666666666666666666666666")
    assert mp.text(got["e"]).startswith("2.718281828459045235360287471352662497757247093699")
    assert mp.text(got["erf"]).startswith("0.99532226501895273416206925636725292861")


@pytest.mark.parametrize(
    "function, x, y",
    [
        ("log", 0, -inf),
        ("log", -1, nan),
        ("sqrt", -1, nan),
        ("sqrt", 0, 0),
        ("exp", -inf, 0),
        ("exp", inf, inf),
    ],
)  # fmt: skip
def test_mpmath_follows_the_rules_of_floats(function, x, y):
    mp = numbers.of("mpmath")
    got = getattr(mp, function)(mp.lift(x))
    assert got == y or (got != got and y != y)


def test_mpmath_at_the_edges():
    mp = numbers.of("mpmath")
    one, zero = mp.lift(1), mp.lift(0)
    assert mp.divide(one, zero) == inf and mp.divide(-one, zero) == -inf
    assert mp.divide(zero, zero) != mp.divide(zero, zero)
    assert mp.maximum([]) == -inf and mp.maximum([one, mp.lift(nan)]) != one
    assert mp.exp(mp.lift(1000)) < inf  # where a float overflows
    assert mp.total([mp.lift(1e16), one, mp.lift(-1e16)]) == 1


# ---------------------------------------------------------------- choosing a type


def test_unknown_types_are_told():
    g = Graph()
    g.input("x", (1,))
    known = ", ".join(numbers.names())
    for wrong in ("flaot", None, ["float"], float, 3):
        with pytest.raises(GraphError) as caught:
            run(g, {"x": [1.0]}, numbers=wrong)
        assert str(caught.value).startswith(f"unknown number type {wrong!r}; expected one of {known}")
    with pytest.raises(GraphError, match="did you mean 'float'"):
        run(g, {"x": [1.0]}, numbers="flaot")


def test_a_record_stands_for_itself():
    counted = []

    def counting(a, b):
        counted.append(1)
        return a + b

    counting_floats = Numbers(**{**FLOAT.__dict__, "name": "counting", "add": counting})
    g = Graph()
    x = g.input("x", (2,))
    g.add(x, x, name="y")
    assert run(g, {"x": [1.0, 2.0]}, numbers=counting_floats)["y"] == [2.0, 4.0]
    assert len(counted) == 2
    assert run(g, {"x": [1.0, 2.0]})["y"] == [2.0, 4.0]
    assert len(counted) == 2


def test_a_type_that_is_not_installed_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpmath", None)
    numbers._made.cache_clear()
    try:
        with pytest.raises(GraphError) as caught:
            numbers.of("mpmath")
        assert str(caught.value) == "mpmath numbers need the package mpmath: pip install 'graphattn[mpmath]'"
    finally:
        numbers._made.cache_clear()


def test_other_types_run_at_the_primitive_level():
    g = Graph()
    g.output(y=g.softmax(g.input("x", (2,)), name="w"))
    trace = run(g, {"x": [0, 0]}, numbers="mpmath")
    assert trace.graph is g.at("primitive")
    assert trace["y"] == [0.5, 0.5]
    assert run(g, {"x": [0, 0]}, numbers="mpmath", level="op")["y"] == [0.5, 0.5]
