"""An op of level "op" that has an expansion and no kernel is lawful: every room takes it.

For each op that has both, a twin without the kernel stands in for it.
"""

import builtins
import math
from dataclasses import replace

import pytest

from graphattn import Graph, ops, run  # noqa: F401  (ops fills the registry)
from graphattn.core import nested
from graphattn.core.op import OPS
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.dumps.python_source import python_source
from graphattn.passes.cost import cost
from graphattn.passes.zoom import fuse, zoom

CANDIDATES = [op for op in OPS.values() if op.level == "op" and op.expand is not None and op.samples]


@pytest.fixture
def twin(request, monkeypatch):
    """The op without its kernel (and its cost), under a name of its own."""
    op = replace(request.param, name=f"{request.param.name}_bare", kernel=None, cost=None)
    monkeypatch.setitem(OPS, op.name, op)
    return op


def calls(op):
    for sample in op.samples:
        g, operands, feeds = Graph("one"), [], {}
        for slot, value in enumerate(sample.operands):
            if value is None:
                operands.append(None)
                continue
            cells = set(map(type, nested.flat(value)))
            kind = "bool" if cells == {bool} else "int" if cells == {int} else "float"
            operands.append(g.input(f"x{slot}", nested.shape_of(value), kind=kind))
            feeds[f"x{slot}"] = value
        with g.scope("part"):
            made = g.apply(op, *operands, **sample.attributes, name="y")
        for i, tensor in enumerate(made if isinstance(made, tuple) else (made,)):
            g.output(**{f"y{i}": tensor})
        yield g, feeds


@pytest.mark.parametrize("twin", CANDIDATES, indirect=True, ids=lambda op: op.name)
def test_every_room_takes_an_op_without_a_kernel(twin):
    for g, feeds in calls(twin):
        trace = run(g, feeds, allow_nonfinite=True)
        by_parts = run(g, feeds, level="primitive", allow_nonfinite=True)
        assert repr(trace.outputs) == repr(by_parts.outputs)
        namespace = {"__builtins__": vars(builtins), "math": math}
        exec(compile(python_source(g), "exported.py", "exec"), namespace)
        assert repr(namespace["one"](*feeds.values())) == repr(trace.outputs)
        if feeds:  # what is known before a run costs nothing
            assert cost(g).flops == cost(g.at("primitive")).flops
        assert parse_graph(graph_text(g)) == g and fuse(zoom(g)) == g
        assert str(trace)


def test_there_are_such_ops():
    assert {"softmax", "layernorm", "linear"} <= {op.name for op in CANDIDATES}
