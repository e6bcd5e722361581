"""Adding an op touches one file: one that is registered at run time is found everywhere, by name nowhere."""

import math
import re
import subprocess
import sys
from pathlib import Path

import op_laws
import pytest

from graphattn import Graph, GraphError, run
from graphattn.cli import main, ops_page
from graphattn.cli.source import execute
from graphattn.core.builders import stub
from graphattn.core.op import OPS, find
from graphattn.dumps.csv_folder import write_csv_folder
from graphattn.dumps.dot import dot
from graphattn.dumps.graph_json import graph_json, read_graph_json
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.dumps.load import load_trace
from graphattn.dumps.markdown import graph_markdown, trace_markdown
from graphattn.dumps.picture import svg
from graphattn.dumps.python_source import python_source
from graphattn.dumps.trace_json import read_trace_json, trace_json
from graphattn.dumps.trace_text import read_trace, trace_text
from graphattn.passes.cost import cost
from graphattn.passes.gradient import value_and_grad
from graphattn.passes.verify import verify
from graphattn.passes.zoom import fuse, zoom

NEW_OP = '''
"""y = x · x · x · factor.

x: any shape. The factor keeps the sign.
"""

from graphattn.core import masks
from graphattn.core.axes import Spec, need_kind, need_number
from graphattn.core.cells import Cell, Literal, multiply
from graphattn.core.op import Kernel, Op, Reject, Sample, register


def shape(x: Spec, *, factor: float = 2.0) -> Spec:
    need_kind("float", x=x)
    need_number("factor", factor)
    return Spec(x.shape, x.axes)


def cube(x, factor):
    return x * x * x * factor


def kernel(numbers, x: Spec, *, factor) -> Kernel:
    return Kernel(cube, 0, factor=float(factor))


def expand(g, x, *, factor):
    squared = g.multiply(x, x, name="squared")
    return g.multiply(g.multiply(squared, x, name="cubed"), g.constant(factor, name="factor"), name="scaled")


def explain(index, x: Spec, *, factor):
    cell = Cell(0, index)
    return multiply(multiply(multiply(cell, cell), cell), Literal(factor))


register(
    Op(
        name="cube",
        title="cube it",
        glyph="x³",
        family="cubes",
        formula="y = x³ · factor",
        level="op",
        shape=shape,
        kernel=kernel,
        expand=expand,
        explain=explain,
        cost=lambda x, **_: 3 * x.size,
        masked=masks.first,
        note=lambda x, *, factor: f"times {factor}",
        samples=(Sample(([[0.5, -2.0, 0.0]],)), Sample((3.0,), {"factor": 0.5})),
        rejects=(Reject((Spec((2,)),), {"factor": -1.0}, "factor is -1.0; expected a number of 0 or more"),),
    )
)
'''


@pytest.fixture
def file(tmp_path, monkeypatch):
    """The file of the new op; whatever registers it, it is gone again after the test."""
    Graph()  # fills the registry
    before = list(OPS)
    monkeypatch.chdir(tmp_path)
    path = Path("cube_op.py")
    path.write_text(NEW_OP, encoding="utf-8")
    yield path
    for name in set(OPS) - set(before):
        del OPS[name]
    sys.modules.pop("graphattn_source_cube_op", None)
    assert list(OPS) == before and not hasattr(Graph(), "cube")


@pytest.fixture
def op(file):
    execute(file)
    return find("cube")


@pytest.fixture
def graph(op):
    g = Graph("example")
    x = g.input("x", (2, 3), ("token", "feature"))
    hidden = g.mask(x, g.constant([[True, True, False], [True, True, True]], name="seen"), name="hidden")
    g.output(out=g.cube(hidden, factor=0.5, name="y"))
    return g


@pytest.fixture
def trace(graph):
    return run(graph, {"x": [[1, 2, 3], [-1, -2, 0.5]]}, labels={"token": ["a", "b"]})


def test_it_has_a_builder_method(op):
    g = Graph("g")
    y = g.cube(g.input("x", (2,), ("token",)))
    assert (y.name, y.shape, y.axes) == ("cube_x", (2,), ("token",)) and "cube" in dir(g)
    assert (
        "    def cube(\n        self,\n        x: Operand,\n        *,\n        factor: float = 2.0," in stub()
    )
    with pytest.raises(
        GraphError, match=r"cube 'z': x = x \(2 token|cube 'z'.*factor is -1; expected a number"
    ):
        g.cube(g.tensor("x"), factor=-1, name="z")


def test_every_law_holds_for_it(op):
    for law in op_laws.LAWS:
        assert list(law(op)) == [], law.__name__


def called(capsys, *args):
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(list(args))
    out, err = capsys.readouterr()
    assert (ended.value.code or 0, err) == (0, "")
    return out


def test_its_card(file, capsys):
    card = called(capsys, "ops", "cube", "--with", str(file))
    assert card.startswith("cube   x³   cube it\n\n    y = x³ · factor\n\nfamily cubes, level op\n\n")
    for line in (
        "y = x · x · x · factor.",
        "g.cube(x, *, factor=2.0)",
        "x 1 × 3 → 1 × 3   9 flops, 48 bytes",
        "scaled   = multiply(cubed, factor)  1 × 3",
        "0    0.2500  -16.0000    0.0000",
    ):
        assert line in card
    del OPS["cube"]
    assert re.search(
        r"^x³ +cube +cubes +op +y = x³ · factor$", called(capsys, "ops", "--with", str(file)), re.M
    )


def test_a_process_of_its_own(file):
    command = [
        sys.executable,
        "-X",
        "utf8",
        "-m",
        "graphattn",
        "ops",
        "cube",
        "--markdown",
        "--with",
        str(file),
    ]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True, encoding="utf-8")
    assert done.stdout.startswith("### `cube`\n\nx³ cube it: `y = x³ · factor`\n")


@pytest.mark.slow
def test_docs(op, file, capsys):
    page = ops_page.page()
    assert (
        "\n## Family cubes\n\n### `cube`\n\nx³ cube it: `y = x³ · factor`\n\n`g.cube(x, *, factor=2.0)`\n"
        in page
    )
    assert "\nx: any shape. The factor keeps the sign.\n" in page
    assert "| `x scalar, factor=0.5`  | scalar |" in page and "| `cubed`   | `multiply(squared, x)`" in page


def test_text_and_json(graph, trace):
    text = trace_text(trace)
    assert "\ny = cube(hidden, factor=0.5)" in text and "y = x³ · factor" in text
    assert text.endswith(
        "        a   0.5000   4.0000        ·\n        b  -0.5000  -4.0000   0.0625\n        · = masked\n"
    )
    for level in ("op", "primitive"):
        zoomed = graph.at(level)
        assert parse_graph(graph_text(zoomed)) == read_graph_json(graph_json(zoomed)) == zoomed
    assert read_trace(trace_text(trace, "exact")) == read_trace_json(trace_json(trace)) == trace


def test_markdown_and_csv(graph, trace, tmp_path):
    assert "`cube(hidden, factor=0.5)` — token 2 × feature 3 — `y = x³ · factor`" in trace_markdown(trace)
    assert "| b   | -0.5000 | -4.0000 | 0.0625 |" in trace_markdown(trace)
    assert "`y = x³ · factor`" in graph_markdown(graph) and "## `y` = `cube(" in graph_markdown(
        graph.at("primitive")
    )
    folder = write_csv_folder(tmp_path / "run", trace)
    assert load_trace(folder) == trace and '"op": "cube"' in (folder / "manifest.json").read_text(
        encoding="utf-8"
    )


def test_diagram(graph):
    source = dot(graph)
    assert "x³" in source and "times 0.5" in source and "op-cubes" in source and "y · cube · token 2" in source
    assert "times 0.5" in svg(graph)


def test_cost(graph):
    assert cost(graph)["y"].flops == 18
    assert cost(graph.at("primitive")).by_op()["multiply"][0] == 18


def test_zoom_fuse_verify_and_other_numbers(graph):
    fine = zoom(graph, "primitive")
    assert [node.op.name for node in fine.nodes.values() if node.scope == "y"][:2] == ["multiply", "multiply"]
    assert fine.scopes["y"].op is find("cube") and fuse(fine) == graph and not verify(graph).problems
    exact = run(graph, {"x": [[1, 2, 3], [1, 1, 1]]}, numbers="mpmath")
    assert float(exact["y"][0][1]) == 4.0


def test_gradient_and_why(graph, trace):
    g = Graph("g")
    g.output(loss=g.reduce_sum(g.cube(g.input("x", (2,)), name="y"), name="sum"))
    _, slopes = value_and_grad(g, {"x": [3.0, -0.5]}, "loss", ["x"])
    assert slopes["x"] == [54.0, 1.5]
    assert "-2" in str(trace.why("y", 1, 1)) and "-4" in str(trace.why("y", 1, 1))


def test_python_export(graph, trace):
    source = python_source(graph)
    assert "def cube(x, factor):\n    return x * x * x * factor\n" in source
    names = {}
    exec(compile(source, "example.py", "exec"), names)
    out = names["example"](trace["x"])
    out = out["out"] if isinstance(out, dict) else out
    assert repr(out) == repr(trace["y"]) and out[0][2] == -math.inf


@pytest.mark.slow
def test_it_is_gone_again(file):
    execute(file)
    with pytest.raises(GraphError, match="op 'cube' is registered already; expected a new name"):
        execute(file)
    del OPS["cube"]
    with pytest.raises(GraphError, match="unknown op 'cube'"):
        find("cube")
    assert "cube" not in ops_page.page() and "def cube(" not in stub()
