"""An op whose `onnx` rule breaks its word gets one sentence with its name, whoever asks."""

import re

import pytest

from graphattn import Graph, GraphError, run
from graphattn.core.axes import Spec
from graphattn.core.op import Kernel, Op
from graphattn.onnx import save

pytest.importorskip("onnx")


def same(x: Spec) -> Spec:
    return x


def failing(*_):
    raise KeyError("a\nb")


RULES = {
    "raises": (failing, r"its onnx rule raised KeyError"),
    "arity": (lambda: None, r"its onnx rule raised TypeError"),
    "number": (lambda o, x: 3.5, r"its onnx rule gives 3\.5; expected what an operator gives"),
    "several": (lambda o, x: o.Identity(x, outputs=2), r"its onnx rule gives \("),
    "none of one": (lambda o, x: (None,), r"its onnx rule gives \(None,\)"),
    "expansion": (lambda o, x: failing, r"what it is expanded to instead raised KeyError"),
    "shape": (lambda o, x: o.ReduceSum(x), r"its onnx rule (writes what ONNX refuses|makes 1 × 1 in)"),
    "kind": (lambda o, x: o.IsNaN(x), r"its onnx rule writes what ONNX refuses"),
    "attribute": (lambda o, x: o.Identity(x, near=3), r"its onnx rule writes what ONNX refuses: Unrecognized"),
    "no attribute": (lambda o, x: o.Identity(x, near=object()), r"its onnx rule writes what ONNX refuses"),
    "operands": ("Add", r"its onnx rule writes what ONNX refuses"),
}  # fmt: skip


def engine(graph, path):
    pytest.importorskip("onnxruntime")
    return run(graph, {"x": [[1.0, 2.0]]}, engine="onnxruntime")


@pytest.mark.parametrize("ask", [lambda graph, path: save(graph, path / "model.onnx"), engine])
@pytest.mark.parametrize("rule", RULES)
def test_whoever_asks_gets_one_sentence(rule, ask, tmp_path):
    written, told = RULES[rule]
    kernel = lambda numbers, x: Kernel(lambda row: row, 1)  # noqa: E731
    op = Op("own", "own", "o", "function", "y = x", "op", same, kernel=kernel, onnx=written)
    g = Graph("g")
    x = g.input("x", (1, 2))
    g.output(out=g.add(g.apply(op, x, name="y"), x))
    with pytest.raises(GraphError, match=f"^own 'y': {told}") as caught:
        ask(g, tmp_path)
    assert "\n" not in str(caught.value) and not re.search(r"\.onnx$", str(list(tmp_path.iterdir())))
