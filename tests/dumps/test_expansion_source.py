"""Expansions written as plain functions: the same numbers as a run, and what is fixed is gone."""

from __future__ import annotations

import math
import random

import pytest

from graphattn import Graph, GraphError, run
from graphattn.core.axes import Spec
from graphattn.core.op import Op, find
from graphattn.dumps.expansion_source import Signature, define_expansion
from graphattn.dumps.function_source import Definitions

ATTENTION = Signature("attend", {"q": "q", "k": "k", "v": "v", "mask": "mask"}, "One head.")


def normal(n, d, seed):
    dice = random.Random(seed)
    return [[dice.gauss(0.0, 1.0) for _ in range(d)] for _ in range(n)]


def written(signature, op, others=None):
    """The source of a composite's function, and the function."""
    Graph()  # fills the registry
    definitions = Definitions([signature.name, *(other.name for other in (others or {}).values())])
    made = {}
    for name, other in (others or {}).items():
        define_expansion(definitions, find(name), other, made, masks=("mask",))
        made[name] = other
    define_expansion(definitions, find(op) if isinstance(op, str) else op, signature, made, masks=("mask",))
    namespace = {"math": math}
    exec(definitions.text(), namespace)
    return definitions.texts()[-1][1], namespace[signature.name]


PROJECTED = Signature(
    "heads",
    {"q": "q", "k": "k", "v": "v", "heads": "n_heads", "w_q": "w_q", "w_k": "w_k", "w_v": "w_v", "w_o": "w_o"},
)


def test_projections_that_may_be_left_out_when_it_runs():
    text, heads = written(PROJECTED, "multi_head", {"attention": ATTENTION})
    assert "    if w_q is not None:\n        q = linear(q, w_q)\n" in text
    assert "b_q" not in text and "mask" not in text
    x, w = normal(5, 4, 1), [normal(4, 4, seed) for seed in range(4)]
    for trained in ([], w, w[:2]):
        g = Graph()
        t = g.input("x", (5, 4))
        names = ["w_q", "w_k", "w_v", "w_o"][: len(trained)]
        parameters = {name: g.parameter(name, (4, 4)) for name in names}
        g.output(y=g.multi_head(t, t, t, heads=2, **parameters))
        expected = run(g, {"x": x, **dict(zip(names, trained))})["y"]
        assert repr(heads(x, x, x, 2, *trained)) == repr(expected)


def test_statements_that_nothing_reads_are_gone():
    text, _ = written(ATTENTION, "attention")
    assert '"""One head."""' in text
    assert "    d_k = len(q[0])\n" in text
    for name in ("n_q", "n_k", "of_head", "causal", "name=", "title="):
        assert name not in text


def lay(g, x, y, *, axis):
    """An expansion of another module."""
    left, right, idle = x, g.transpose(y, name="yt"), x.shape[-2]
    both = g.concat(left, right, axis=axis, name="both")  # side by side
    if axis == 0:
        both = g.scale(both, sqrt=idle)
    return g.concat(*[both, left])


def lay_op(expand, axis):
    def shape(x: Spec, y: Spec, *, axis: int = axis) -> Spec:
        return x

    return Op("lay", "lay", "?", "composite", "lay", "head", shape, expand=expand)


def test_several_parts_and_a_branch_that_is_decided():
    signature = Signature("laid", {"x": "X", "y": "Y"})
    text, laid = written(signature, lay_op(lay, -1))
    assert text == (
        "def laid(X, Y):\n"
        '    """An expansion of another module."""\n'
        "    left, right = X, transpose(Y)\n"
        "    both = [concat(xs0_row, xs1_row) for xs0_row, xs1_row in zip(left, right)]  # side by side\n"
        "    return [concat(*rows) for rows in zip(*[both, left])]"
    )
    assert laid([[1.0], [2.0]], [[3.0, 4.0]]) == [[1.0, 3.0, 1.0], [2.0, 4.0, 2.0]]
    text, laid = written(signature, lay_op(lay, 0))
    assert "    left, right, idle = X, transpose(Y), len(X)\n" in text
    assert "    both = concat(left, right)  # side by side\n    both = [scale_dividing(row" in text
    assert laid([[1.0], [2.0]], [[4.0]]) == [[1.0 / math.sqrt(2), 1.0], [2.0 / math.sqrt(2), 2.0]]


def test_an_expansion_without_source_of_its_own_is_refused():
    def inner(g, x, y, *, axis):
        return g.concat(x, y, axis=axis)

    for expand in (inner, lambda g, x, y, *, axis: g.concat(x, y)):
        with pytest.raises(GraphError, match="has no source that can stand alone; expected a plain function"):
            written(Signature("laid", {"x": "X", "y": "Y"}), lay_op(expand, -1))


def test_an_op_without_expansion_is_refused():
    with pytest.raises(GraphError) as error:
        written(Signature("f", {"x": "x"}), "exp")
    assert str(error.value) == "op 'exp' has no expansion; expected a composite"


def test_a_composite_that_the_file_does_not_have_is_refused():
    with pytest.raises(GraphError) as error:
        written(PROJECTED, "multi_head")
    assert str(error.value) == (
        "attention has neither a kernel nor a function in this file; expected one of them"
    )


def test_an_argument_that_the_other_function_does_not_take_is_refused():
    narrow = Signature("attend", {"q": "q", "k": "k", "v": "v"})
    wide = Signature("heads", {"q": "q", "k": "k", "v": "v", "heads": "h", "mask": "mask"})
    with pytest.raises(GraphError) as error:
        written(wide, "multi_head", {"attention": narrow})
    assert str(error.value) == "multi_head calls attention with mask; expected none, as in its function"
