"""Exported Python: the file alone, with only `math` to import, gives what `run` gives, bit for bit."""

from __future__ import annotations

import ast
import builtins
import math
import random
import sys
from pathlib import Path

import pytest
from every_op import every_op

sys.path.insert(0, str(Path(__file__).parent.parent))
from op_laws import calls, disturbed

from graphattn import Graph, GraphError, run
from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.elementwise import same
from graphattn.core.op import OPS, Kernel, Op, Sample
from graphattn.dumps.python_source import python_source


def only_math(name, *args, **kwargs):
    if name != "math":
        raise ImportError(f"the file imports {name}")
    return math


def executed(source, function, feeds):
    """What the file's function returns, in a namespace where nothing but `math` can be imported."""
    namespace = {"__builtins__": {**vars(builtins), "__import__": only_math}}
    exec(compile(source, "exported.py", "exec"), namespace)
    return namespace[function](*feeds)


def random_feeds(graph, seed=0):
    dice = random.Random(seed)
    return {
        name: nested.build(
            spec.shape,
            lambda *_, kind=spec.kind: dice.random() < 0.6 if kind == "bool" else dice.gauss(0.0, 1.0),
        )
        for name, spec in graph.inputs.items()
    }


def assert_same_bits(graph, feeds, level="op", what=""):
    source = python_source(graph, level, trace=True)
    trace = run(graph, feeds, level=level, allow_nonfinite=True)
    found = executed(source, graph.name, feeds.values())
    for name in trace.names:
        assert repr(found[name]) == repr(trace[name]), (what, name)
    for name in graph.outputs:
        assert repr(found[name]) == repr(trace[name]), (what, name)
    return source


@pytest.mark.slow
@pytest.mark.parametrize("level", ["op", "primitive"])
@pytest.mark.parametrize("op", every_op(lambda op: op.samples))
def test_every_sample_of_every_op(op, level):
    for call in calls(op):
        assert_same_bits(call.graph, call.feeds, level, call.what)


@pytest.mark.parametrize("op", every_op())
def test_special_numbers(op):
    """NaN, infinities, overflow and −0.0 come out as in a run."""
    for call in disturbed(op, rounds=2, special=0.3):
        assert_same_bits(call.graph, call.feeds)


def block_with_projections(n=5, d=8, heads=2):
    g = Graph("layer", "pre-LN block")
    x = g.input("X", (n, d), ("token", "feature"))
    mask = g.input("mask", (n, n), kind="bool")
    trained = [
        g.parameter(f"{kind}_{of}", (d, d) if kind == "w" else (d,)) for of in "qkvo" for kind in ("w", "b")
    ]
    gamma, beta = g.parameter("gamma", (d,)), g.parameter("beta", (d,))
    g.output(y=g.block(x, mask, gamma, beta, *trained, heads=heads, causal=True, name="block"))
    return g


def multi_head_in_batches():
    g = Graph("heads")
    q, k = g.input("Q", (2, 3, 4)), g.input("K", (2, 5, 4))
    g.output(out=g.multi_head(q, k, k, heads=2))
    return g


def attention_with_float_mask():
    g = Graph("attend")
    q, k, v = g.input("Q", (4, 3)), g.input("K", (2, 3)), g.input("V", (2, 6))
    out, weights = g.attention(q, k, v, g.input("bias", (4, 2)))
    g.output(out=out, weights=weights)
    return g


@pytest.mark.parametrize("level", ["op", "primitive"])
@pytest.mark.parametrize("make", [block_with_projections, multi_head_in_batches, attention_with_float_mask])
def test_composites(make, level):
    graph = make()
    for seed in range(3):
        assert_same_bits(graph, random_feeds(graph, seed), level)


def test_it_is_straight_line_and_imports_math_alone():
    graph = block_with_projections()
    tree = ast.parse(python_source(graph))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert [ast.unparse(node) for node in imports] == ["import math"]
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "layer"]
    *statements, result = function.body
    evaluated = [node for node in graph.at("op").nodes.values() if not node.op.fed]
    assert len(statements) == len(evaluated)
    assert all(isinstance(statement, ast.Assign) for statement in statements)
    assert isinstance(result, ast.Return)
    assert [key.value for key in result.value.keys] == ["y"]


def test_the_text_of_attention(golden):
    g = Graph("attend", "one head")
    q, k, v = (g.input(name, (3, 4), ("token", "feature")) for name in "QKV")
    out, weights = g.attention(q, k, v, causal=True, name="head0", title="Head 0")
    g.output(out=out, weights=weights)
    golden("export_attend.py.txt", python_source(g))


def test_names_that_python_or_the_file_needs_itself():
    g = Graph("softmax")
    x = g.input("math", (2, 2))
    y = g.softmax(g.input("list", (2, 2)) + x, name="zip")
    y = g.softmax(y, name="exp")
    y = g.exp(g.softmax(y, name="softmax"), name="row")
    y = g.matmul(y, y, name="dot")
    g.output(matmul=g.matmul(y, x, name="v"))
    feeds = random_feeds(g)
    assert_same_bits(g, feeds)
    assert_same_bits(g, feeds, "primitive")


def test_long_names_are_cut_to_what_tells_them_apart():
    source = python_source(block_with_projections())
    assert "    head0_weights = [softmax(row) for row in head0_masked_by_input]\n" in source
    assert "    norm = [layernorm(row, gamma, beta, eps=1e-05) for row in X]\n" in source
    assert "# block.attention.head0.weights   token 5 × token 5" in source


@pytest.mark.parametrize(
    "text", ['a """ quote', "back\\slash", "two\nlines", "\u2028 \u202e \x00", "\ud800", '"', "길이"]
)
def test_free_text_stays_text(text):
    g = Graph("free", text)
    x = g.input("x", (2, 2), (text, None), title=text)
    with g.scope("part", title=text):
        y = g.softmax(x, title=text)
    g.output(y=y)
    source = assert_same_bits(g, {"x": [[0.0, 1.0], [2.0, 3.0]]})
    source.encode("utf-8")
    assert len(source.splitlines()) == source.count("\n")


def test_without_outputs_what_nothing_uses_is_returned():
    g = Graph("leaves")
    x = g.input("x", (2, 2))
    g.softmax(x, name="a")
    g.split(x, 2, name="b")
    found = executed(python_source(g), "leaves", [[[0.0, 1.0], [2.0, 3.0]]])
    assert list(found) == ["a", "b.part0", "b.part1"]
    assert found["b.part1"] == [[1.0], [3.0]]


def chain(length):
    g = Graph("chain")
    x = g.input("x", (1,))
    for _ in range(length):
        x = g.add(x, x)
    g.output(y=x)
    return g


@pytest.mark.slow
def test_a_long_chain_is_written_without_recursion():
    assert executed(python_source(chain(60)), "chain", [[1.0]]) == {"y": [2.0**60]}
    assert python_source(chain(5000)).count("zip(") == 5000


def test_a_level_with_composites_is_refused():
    with pytest.raises(GraphError) as error:
        python_source(block_with_projections(), "block")
    assert str(error.value) == (
        "block 'block' has no kernel that Python source could call; expected level 'op' or 'primitive'"
    )


def op_with(kernel):
    return Op("odd", "odd", "?", "function", "odd", "op", same, kernel=kernel, samples=(Sample(([1.0],)),))


@pytest.mark.parametrize("function", [lambda row: row, Spec.__eq__], ids=["a lambda", "a method"])
def test_a_kernel_without_source_of_its_own_is_refused(function):
    g = Graph("odd")
    g.apply(op_with(lambda numbers, x: Kernel(function, 1)), g.input("x", (2,)), name="y")
    with pytest.raises(GraphError, match=r"^odd 'y': .* has no source that can stand alone; expected a plain"):
        python_source(g)


def twice(row, by, offset=0.0):
    """Another module's kernel, with a comment."""
    return [by(v, v) + offset for v in row]  # kept


def test_an_op_of_another_module_is_exported_too():
    from operator import add

    g = Graph("other")
    g.apply(op_with(lambda numbers, x: Kernel(twice, 1, by=add)), g.input("x", (2,)), name="y")
    source = assert_same_bits(g, {"x": [1.0, 2.5]})
    assert "    return [(v + v) + offset for v in row]  # kept\n" in source


def test_a_changed_kernel_is_noticed():
    """The comparison can fail: one character of an exported kernel, and the bits differ."""
    g = attention_with_float_mask()
    feeds = random_feeds(g)
    source = python_source(g)
    changed = source.replace("v - peak", "v - peak + 1e-9")
    assert changed != source
    assert repr(executed(changed, "attend", feeds.values())) != repr(executed(source, "attend", feeds.values()))


def test_there_are_samples():
    assert {name for name, op in OPS.items() if list(calls(op))} >= {n for n, op in OPS.items() if not op.fed}
