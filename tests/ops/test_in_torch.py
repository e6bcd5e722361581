"""What ops say of how they are written in PyTorch is run by PyTorch, on their samples."""

from __future__ import annotations

import math
import re

import pytest
from every_op import every_op
from op_laws import disturbed

from graphattn import Graph, run
from graphattn.builtin import random_feeds, specimen
from graphattn.core import nested
from graphattn.core.in_torch import call, line
from graphattn.core.interpreter import padded

torch = pytest.importorskip("torch")

KINDS = {"float": torch.float64, "bool": torch.bool, "int": torch.int64}


def computed(text, names):
    """The value of a call: its last line is an expression, those before it are done."""
    *before, last = text.split("\n")
    space = {"torch": torch, "F": torch.nn.functional, "math": math, **names}
    exec("\n".join(before), space)
    return eval(last, space)


def cells(value):
    return list(nested.flat(value.tolist() if isinstance(value, torch.Tensor) else value))


def alike(a, b, tolerance=1e-12):
    return a == b or (a != a and b != b) or abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))


@pytest.mark.parametrize("op", every_op(lambda op: op.torch))
def test_torch_gives_the_same(op):
    compared = 0
    for c in disturbed(op, rounds=1):
        text = call(op, c.specs, c.node.attributes, [f"given{slot}" for slot in range(len(c.specs))])
        trace = run(c.graph, c.feeds, allow_nonfinite=True)
        if not text or _is_empty(c) or _sees_nothing(trace):
            continue
        names = {
            f"given{slot}": torch.tensor(trace[c.graph.tensor_name(ref)], dtype=KINDS[spec.kind])
            for slot, (ref, spec) in enumerate(zip(padded(op, c.node.operands), c.specs, strict=True))
            if ref is not None and spec is not None
        }
        found = computed(text, names)
        found = found if isinstance(found, tuple) else (found,)
        for got, name in zip(found, c.names, strict=op.name != "attention"):  # whose weights PyTorch keeps
            want = trace[name]
            if isinstance(got, torch.Tensor):
                assert tuple(got.shape) == trace.spec(name).shape, text
            assert all(map(alike, cells(got), cells(want))) and len(cells(got)) == len(cells(want)), text
        compared += 1
    assert compared, f"no sample of {op.name} was compared"


def _sees_nothing(trace):
    """Whether a row sees nothing, which is 0 here and NaN in PyTorch."""
    return any("nothing" in warning for step in trace.steps for warning in step.warnings)


def _is_empty(c):
    return any(spec is not None and 0 in spec.shape for spec in (*c.specs, *c.node.outputs))


# ---------------------------------------------------------------- lines of a graph


def unnamed():
    """Attention of what has no names."""
    g = Graph("unnamed")
    x, w = g.input("x", (3, 4)), g.parameter("w", (4, 12))
    q, k, v = g.split(g.layernorm(x) @ w, 3)
    g.output(y=g.softmax(g.mask(g.scale(q @ k.T, sqrt=4), g.causal_mask(3))) @ v + x)
    return g


GRAPHS = {
    "block": specimen("block", n=3, d=4, causal=True).graph,
    "encoder": specimen("encoder", n=3, d=4).graph,
    "unnamed": unnamed(),
}
NAME = re.compile(r"[A-Za-z_][\w.]*")


def run_line(trace, name, text):
    """What the line for a step of a run computes, of the tensors of that run."""
    *around, own = name.split(".")
    values = {known: torch.tensor(trace[known], dtype=KINDS[trace.spec(known).kind]) for known in trace.names}
    for node in trace.graph.nodes.values():
        if len(node.ports) > 1:
            values[node.name] = [values[f"{node.name}.{port}"] for port in node.ports]

    def given(found):
        parts = found[0].split(".")
        for used in range(len(parts), 0, -1):
            for outer in range(len(around), -1, -1):
                known = ".".join([*around[:outer], *parts[:used]])
                if known in values:
                    return ".".join([f"T[{known!r}]", *parts[used:]])
        return found[0]

    return computed(NAME.sub(given, text.removeprefix(f"{own} = ")), {"T": values})


@pytest.mark.parametrize("name", GRAPHS)
def test_the_line_of_a_step_computes_it(name):
    graph = GRAPHS[name].at("op")
    trace = run(graph, random_feeds(graph, seed=1))
    for node in graph.nodes.values():
        text = line(graph, node.name)
        assert len(text) <= 140
        if node.op.fed:
            assert not text
            continue
        found = run_line(trace, node.name, text)
        found = found if isinstance(found, tuple) else (found,)
        for got, port in zip(found, node.ports, strict=True):
            want = trace[f"{node.name}.{port}" if port else node.name]
            assert all(map(alike, cells(got), cells(want))), text


@pytest.mark.parametrize("name", GRAPHS)
def test_a_part_of_an_op_has_the_line_of_the_op(name):
    graph = GRAPHS[name]
    coarse, fine = graph.at("op"), graph.at("primitive")
    for node in fine.nodes.values():
        owner = next((n for n in coarse.nodes if node.name == n or node.name.startswith(f"{n}.")), None)
        if owner is not None and not coarse.nodes[owner].op.fed:
            assert line(fine, node.name) == line(coarse, owner)


def test_lines_are_in_the_words_of_the_user():
    graph = GRAPHS["block"].at("op")
    assert line(graph, "attention.head0.scores") == "scores = q_heads[0] @ k_heads[0].transpose(-2, -1)"
    assert line(graph, "attention.head1.scaled") == "scaled = scores / math.sqrt(2)"
    assert line(graph, "norm") == "norm = F.layer_norm(X, (4,), eps=1e-05)"
    assert line(graph, "attention.q") == "q = norm @ w_q.T"
    assert line(graph, "attention.concat") == "torch.cat([head0.out, head1.out], dim=-1)"
    graph = GRAPHS["unnamed"].at("op")
    norm = "F.layer_norm(x, (4,), eps=1e-05)"
    lines = [line(graph, name) for name in graph.nodes]
    assert f"({norm} @ w).chunk(3, dim=-1)" in lines
    assert [text for text in lines if text.endswith(" / math.sqrt(4)")] == [
        "matmul_split_transpose_04df / math.sqrt(4)"
    ]
