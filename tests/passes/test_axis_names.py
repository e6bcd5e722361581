"""Axis names are the same from an op's shape rule and from its expansion, whichever operands have names."""

import random

import pytest
from every_op import every_op

from graphattn import Graph
from graphattn.core import nested
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.passes.verify import verify
from graphattn.passes.zoom import fuse, zoom


def call(op, sample, axes_of):
    """A graph of one call; `axes_of` gives the names of the axes of an operand, by its slot and its rank."""
    g, operands = Graph("one"), []
    for slot, value in enumerate(sample.operands):
        if value is None:
            operands.append(None)
            continue
        cells = set(map(type, nested.flat(value)))
        kind = "bool" if cells == {bool} else "int" if cells == {int} else "float"
        shape = nested.shape_of(value)
        operands.append(g.input(f"x{slot}", shape, axes_of(slot, len(shape)), kind))
    g.apply(op, *operands, **sample.attributes, name="y")
    return g


def all_or_none(count):
    """Which operands have names: all ways for up to three, else some of them, alone and mixed."""

    def named(chosen):
        return lambda slot, rank: [f"a{slot}_{place}" for place in range(rank)] if chosen(slot) else None

    if count <= 3:
        return [named(lambda slot, bits=bits: bits >> slot & 1) for bits in range(2**count)]
    return [named(lambda slot, seed=seed: random.Random(f"{seed} {slot}").random() < 0.5) for seed in range(6)]


def some(seeds):
    """Names on some of the axes, the same ones on several operands too."""
    choices = (None, None, "token", "feature", "head", "own")
    return [
        lambda slot, rank, seed=seed: random.Random(f"{seed} {slot}").choices(choices, k=rank)
        for seed in range(1, seeds + 1)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("op", every_op(lambda op: op.expand is not None))
def test_shape_rule_and_expansion_agree_on_axis_names(op):
    for sample in op.samples:
        for axes_of in (*all_or_none(len(sample.operands)), *some(1)):
            g = call(op, sample, axes_of)
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
