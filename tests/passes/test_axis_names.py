"""Axis names are the same from an op's shape rule and from its expansion, whichever operands have names."""

import random

import pytest

from graphattn import Graph
from graphattn.core import nested
from graphattn.core.op import OPS
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.passes.verify import verify
from graphattn.passes.zoom import fuse, zoom


def call(op, sample, named):
    """A graph of one call, whose operands have names on all axes where `named` says so."""
    g, operands = Graph("one"), []
    for slot, value in enumerate(sample.operands):
        if value is None:
            operands.append(None)
            continue
        cells = set(map(type, nested.flat(value)))
        kind = "bool" if cells == {bool} else "int" if cells == {int} else "float"
        shape = nested.shape_of(value)
        axes = [f"a{slot}_{place}" for place in range(len(shape))] if named(slot) else None
        operands.append(g.input(f"x{slot}", shape, axes, kind))
    g.apply(op, *operands, **sample.attributes, name="y")
    return g


def combinations(count):
    """Which operands have names: all ways for up to three, else some of them, alone and mixed."""
    if count <= 3:
        for bits in range(2**count):
            yield lambda slot, bits=bits: bool(bits >> slot & 1)
        return
    for seed in range(6):
        yield lambda slot, seed=seed: random.Random(f"{seed} {slot}").random() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op in OPS.values() if op.expand is not None], ids=lambda op: op.name)
def test_shape_rule_and_expansion_agree_on_axis_names(op):
    for sample in op.samples:
        for named in combinations(len(sample.operands)):
            g = call(op, sample, named)
            node = g.nodes["y"]
            for level in ("op", "primitive"):
                fine = zoom(g, level)
                for port, spec in enumerate(node.outputs):
                    assert fine.spec(fine.resolve(node.tensor_name(port))).axes == spec.axes
                assert fuse(fine) == g
                assert parse_graph(graph_text(fine)) == fine
                assert verify(fine).ok


def test_a_mask_of_other_names_survives_the_zoom():
    g = Graph("a")
    q = [g.input(c, (2, 4)) for c in "qkv"]
    m = g.input("m", (2, 2), axes=("query", "key"), kind="bool")
    g.output(y=g.multi_head(*q, m, heads=1, name="mh"))
    assert fuse(zoom(g, "primitive")) == g
    assert g.nodes["mh"].outputs[0].axes[0] == "query"
