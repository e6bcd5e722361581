"""Composites that hand options on: one declaration, which every view of the op knows."""

import inspect
from dataclasses import replace

import pytest
from op_laws import kind_of

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn import Graph, GraphError, run
from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.op import OPS, Op
from graphattn.dumps.graph_text import graph_text, parse_graph

HANDING = [op for op in OPS.values() if op.hands_on]
PAIRS = [(op, name) for op in HANDING for name, p in op.handed_on.items() if not p.operand]


def made(op, **more):
    """A graph of the op's first sample, with other attributes."""
    g = Graph("g")
    sample = op.samples[0]
    given = [
        None if value is None else g.input(f"x{slot}", nested.shape_of(value), kind=kind_of(value))
        for slot, value in enumerate(sample.operands)
    ]
    g.apply(op, *given, **{**sample.attributes, **more}, name="y")
    return g


def test_the_layers_hand_on_to_multi_head_and_it_to_attention():
    assert {op.name: op.hands_on for op in HANDING} == {
        "block": "multi_head", "decoder_layer": "multi_head", "encoder_layer": "multi_head",
        "multi_head": "attention",
    }  # fmt: skip
    for op in HANDING:
        taken = set(OPS[op.hands_on].parameters) - set(op.sets)
        assert taken <= set(op.parameters)


@pytest.mark.parametrize(("op", "name"), PAIRS, ids=lambda x: getattr(x, "name", x))
def test_a_value_of_nonsense_is_refused(op, name):
    with pytest.raises(GraphError, match=r"^\w+ 'y': "):
        made(op, **{name: "?"})


def test_the_builder_its_help_and_the_text_know_the_options():
    g = Graph("g")
    assert {"window", "softcap", "kv_heads", "cos", "sink"} <= set(inspect.signature(g.block).parameters)
    x = g.input("x", (3, 4))
    g.output(y=g.block(x, sink=g.input("s", (2,)), heads=2, window=(1, 0), softcap="2.5", name="b"))
    text = graph_text(g)
    assert "block(x, sink=s, heads=2, window=(1, 0), softcap='2.5'" in text.replace('"', "'")
    assert parse_graph(text) == g
    with pytest.raises(GraphError, match=r"block takes no argument 'widnow'; did you mean 'window'\?"):
        g.block(x, heads=2, widnow=3)
    with pytest.raises(GraphError, match="block needs 'heads'"):
        g.block(x)


def test_what_the_inner_op_learns_the_outer_one_takes(monkeypatch):
    """An attribute that attention gets tomorrow is one of every layer's at once."""

    def shape(x: Spec, *, factor: float, power: int = 1) -> Spec:
        return x

    def expand(g, x, *, factor, power):
        for _ in range(power):
            x = g.scale(x, multiply=factor)
        return x

    def outer(x: Spec, *, times: int = 1, **inner) -> Spec:
        return OPS["inner"].shape(x, **inner)

    def twice(g, x, *, times, **inner):
        for _ in range(times):
            x = g.inner(x, **inner)
        return x

    common = {"title": "t", "glyph": "g", "family": "composite", "formula": "y = x", "level": "head"}
    inner = Op(name="inner", shape=shape, expand=expand, **common)
    layer = Op(name="layer", shape=outer, expand=twice, hands_on="inner", **common)
    monkeypatch.setitem(OPS, "inner", inner)
    monkeypatch.setitem(OPS, "layer", layer)
    g = Graph("g")
    g.output(y=g.layer(g.input("x", (2,)), factor=3.0, times=2))
    assert run(g, {"x": [1.0, 2.0]})["y"] == [9.0, 18.0]
    assert list(layer.parameters) == ["x", "factor", "power", "times"]
    assert list(replace(layer, sets=("power",)).parameters) == ["x", "factor", "times"]
    with pytest.raises(GraphError, match="layer needs 'factor'"):
        g.layer(g.tensor("x"))
