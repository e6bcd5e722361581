"""C source: compiled without a warning, run under sanitizers, it gives the interpreter's numbers."""

from __future__ import annotations

import math
import shutil
import subprocess

import pytest
from kept_names import NAMES
from op_laws import kind_of, levels_of

import graphattn.ops  # noqa: F401
from graphattn import Graph, GraphError, gradient, run
from graphattn.builtin import specimen
from graphattn.cli import main
from graphattn.core import nested
from graphattn.core.op import OPS, Op, register
from graphattn.dumps.c_source import c_source
from graphattn.insight.compare import compare
from graphattn.insight.compare.plain_text import read_plain_text
from graphattn.weights.toy_induction import toy_induction

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
STRICT = [
    "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined",
    "-fno-sanitize=null,alignment,object-size,pointer-overflow",  # dear; `address` sees the same in arrays
]  # fmt: skip


def printed(text, folder):
    """What the program prints."""
    (folder / "model.c").write_text(text, encoding="utf-8")
    build = ["gcc", *STRICT, "-DGRAPHATTN_MAIN", "model.c", "-o", "model", "-lm"]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    return subprocess.run([folder / "model"], capture_output=True, check=True, encoding="utf-8").stdout


def computed(text, folder):
    """The same as compare reads it: tensors by name, flat."""
    told = read_plain_text(printed(text, folder), "what it prints")
    return {name: list(nested.flat(value)) for name, value in told.items()}


def ulps(a, b):
    if a == b or (a != a and b != b):
        return 0.0
    return abs(a - b) / math.ulp(a) if math.isfinite(a) and math.isfinite(b) else math.inf


def worst(graph, feeds, level, folder):
    """The largest difference of any cell, in units of its last place."""
    trace = run(graph, feeds, level=level, allow_nonfinite=True)
    printed = computed(c_source(graph, feeds, level), folder)
    assert list(printed) == list(trace.names)
    return max(
        ulps(float(a), b)
        for name in trace.names
        for a, b in zip(nested.flat(trace[name]), printed[name], strict=True)
    )


@pytest.mark.parametrize("level", ["op", "primitive"])
def test_a_block(level, tmp_path):
    s = specimen("block", n=4, d=8, heads=2, causal=True)
    assert worst(s.graph, s.feeds, level, tmp_path) <= 2


def test_gradients(tmp_path):
    graph = Graph("norm")
    graph.layernorm(graph.input("x", (2, 4)), name="y")
    feeds = {"x": [[0.5, -1.0, 2.0, 0.25], [3.0, 1.0, -1.0, 0.0]], "d_y": [[1.0, 0.5, -1.0, 2.0]] * 2}
    assert worst(gradient(graph, of="y"), feeds, "op", tmp_path) <= 2


@pytest.mark.slow
def test_the_toy_model(tmp_path):
    toy = toy_induction()
    assert worst(toy.graph, toy.feeds, "op", tmp_path) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("level", ["op", "primitive"])
def test_every_sample_of_every_op(level, tmp_path):
    graph, feeds = Graph("samples"), {}
    for op in OPS.values():
        if level not in levels_of(op):  # the same program
            continue
        for number, sample in enumerate(op.samples):
            with graph.scope(f"{op.name}_sample{number}"):
                operands = []
                for slot, value in enumerate(sample.operands):
                    if value is None:
                        operands.append(None)
                        continue
                    kind = kind_of(value)
                    operands.append(graph.input(f"x{slot}", nested.shape_of(value, "x"), kind=kind))
                    feeds[operands[-1].name] = value
                graph.apply(op, *operands, **sample.attributes, name="y")
    assert len(feeds) > 400 and worst(graph, feeds, level, tmp_path) <= 2


def test_a_wrong_formula_would_be_seen(tmp_path):
    s = specimen("attention", n=3, d=4)
    text = c_source(s.graph, s.feeds)
    trace = s.run()
    printed = computed(text.replace("exp(", "exp(1e-9 + "), tmp_path)
    assert any(
        ulps(a, b) > 2
        for name in trace.names
        for a, b in zip(nested.flat(trace[name]), printed[name], strict=True)
    )


@pytest.mark.slow
@pytest.mark.parametrize("graph_name", ["double", "log", "t"])
def test_names_that_c_keeps_to_itself(graph_name, tmp_path):
    graph = Graph(graph_name)
    last = graph.input("λ", (2,))
    for name in NAMES:
        last = graph.add(last, graph.input(name, (2,)), name=f"sum.{name}")
    assert worst(graph, {"λ": [1.0, 2.0], **{name: [0.5, 2.0] for name in NAMES}}, "op", tmp_path) == 0


def test_compare_reads_what_the_program_prints(tmp_path):
    """Shapes, a scalar, integers, infinities and NaN: nothing is left uncompared."""
    graph = Graph("odd")
    x, ids = graph.input("x", (2, 1, 3)), graph.input("ids", (2,), kind="int")
    table = graph.constant([[1.0, 2.0], [3.0, 4.0]], name="table")
    graph.reduce_sum(graph.reduce_sum(graph.reduce_sum(x), axis=-1), axis=-1, name="total")
    graph.embedding(table, ids, name="λ")
    graph.is_positive(x, name="mask")
    feeds = {"x": [[[0.1, -0.0, 5e-324]], [[math.inf, -math.inf, math.nan]]], "ids": [1, 0]}
    (tmp_path / "model.txt").write_text(printed(c_source(graph, feeds), tmp_path), "utf-8")
    found = compare(run(graph, feeds, allow_nonfinite=True), tmp_path / "model.txt", nan_equal=True)
    told = str(found)
    assert told.splitlines()[0] == "the same but for the rounding of float64: 8 tensors" and " 0 apart" in told


def test_comments_cannot_be_closed_from_outside(tmp_path):
    graph = Graph("g", title="a */ int x; /* b")
    graph.negate(graph.input("x", (1,), axes=("*/ evil",)), name="y")
    assert worst(graph, {"x": [1.0]}, "op", tmp_path) == 0


def test_without_feeds_there_is_no_program():
    s = specimen("attention", n=3, d=4)
    assert "GRAPHATTN_MAIN" not in c_source(s.graph)


def test_an_op_that_does_not_explain_itself():
    op = register(
        Op(
            name="unexplained", title="?", glyph="?", family="function", formula="?", level="op",
            shape=OPS["negate"].shape, kernel=OPS["negate"].kernel,
        )
    )  # fmt: skip
    try:
        graph = Graph("g")
        graph.apply(op, graph.input("x", (1,)), name="y")
        with pytest.raises(GraphError, match="unexplained 'y' does not say how its cells come about"):
            c_source(graph)
    finally:
        del OPS["unexplained"]


def test_the_command(capsys, tmp_path):
    def cli(*args):
        with pytest.raises(SystemExit) as stopped:
            main(list(args))
        return stopped.value.code or 0, *capsys.readouterr()

    status, _, err = cli("export", "block", str(tmp_path / "model.c"), "--n", "3", "--d", "4", "--causal")
    assert status == 0 and "wrote" in err
    assert "attention.head0.weights" in computed((tmp_path / "model.c").read_text(encoding="utf-8"), tmp_path)
    assert cli("export", "block", str(tmp_path / "model.py"))[0] == 0
    assert cli("export", "block", str(tmp_path / "model.f90"))[0] == 2
