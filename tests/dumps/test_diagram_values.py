"""Block diagrams with the numbers of a run in their boxes."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from graphattn import Graph, GraphError
from graphattn.builtin import specimen
from graphattn.cli import main
from graphattn.dumps.alike import alike
from graphattn.dumps.centred import centred
from graphattn.dumps.diagram import diagram, values
from graphattn.dumps.dot import dot
from graphattn.dumps.heat import short
from graphattn.dumps.picture import Folded, render, svg

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["the", "cat", "sat", "down"]


def run_of(n: int = 4, heads: int = 2, d: int = 8):
    """A causal block and a run of it."""
    made = specimen("block", n=n, d=d, heads=heads, causal=True)
    return made.graph, made.graph.run(made.feeds, labels={"token": WORDS} if n == 4 else {})


def boxes(graph, trace, siblings=4):
    """The boxes of a picture by the names of their nodes."""
    at = graph.at("op")
    return {box.name: box for box in diagram(at, alike(at, siblings), trace).boxes.values()}


def grid_of(n: int, m: int):
    """The grid of an n × m tensor."""
    g = Graph("one")
    g.output(y=g.negate(g.input("x", (n, m)), name="neg"))
    trace = g.run({"x": [[math.sin(i + 2 * j) for j in range(m)] for i in range(n)]})
    return boxes(g, trace)["neg"].grids[0]


# ------------------------------------------------------------ what is shown


def test_a_small_diagram_with_values(golden):
    g = Graph("small")
    x = g.input("x", (2, 2), ("token", "token"))
    g.output(w=g.softmax(g.mask(x, g.causal_mask(2), name="masked"), name="weights"))
    trace = g.run({"x": [[0.5, 1.0], [-1.0, 2.0]]}, labels={"token": ["a", "b"]})
    golden("small_values.dot", dot(g, trace=trace))


def test_every_number_is_in_the_svg():
    graph, trace = run_of()
    drawn = svg(graph, trace=trace)  # checks that each text of each box is there
    shown = ["".join(t.itertext()) for t in ElementTree.fromstring(drawn).iter(f"{SVG}text")]
    for row in trace["attention.q"]:
        for cell in row:
            assert short(cell) in shown
    assert shown.count("−∞") == 2 * 6 and shown.count("///") == 2 * 6 + 1  # and one in the legend
    assert any(f"±{short(max(abs(c) for r in trace['X'] for c in r))}" in text for text in shown)


def test_what_a_box_says():
    graph, trace = run_of()
    found = boxes(graph, trace)
    weights = found["attention.head0.weights"]
    (grid,) = weights.grids
    assert (grid.kind, grid.scale, grid.range, grid.heads) == ("numbers", "share", "0 to 1", tuple(WORDS))
    assert [label for label, _ in grid.rows] == WORDS
    assert [cell.text for cell in grid.rows[0][1]] == ["1.00", "///", "///", "///"]
    assert "0 to 1" in " ".join(weights.note)
    masked = found["attention.head0.masked"].grids[0]
    assert [cell.text for cell in masked.rows[0][1]][1:] == ["−∞"] * 3
    assert found["X"].grids and found["Y"].grids  # the ends have their numbers too


def test_edges_have_names_only():
    graph, trace = run_of()
    at = graph.at("op")
    labels = {arrow.label for arrow in diagram(at, [], trace).arrows}
    assert {"Q₀", "K₁", "V₀", "A₀", "scores", "residual"} <= labels
    assert not any("×" in label for label in labels)


def test_a_gap_where_heads_meet():
    graph, trace = run_of()
    found = boxes(graph, trace)
    for name in ("attention.q", "attention.k", "attention.v", "attention.concat"):
        assert found[name].grids[0].gaps == {4}
    assert not found["norm"].grids[0].gaps and not found["attention.head0.scores"].grids[0].gaps


@pytest.mark.parametrize(
    ("n", "m", "kind", "rows", "columns"),
    [
        (8, 8, "numbers", 8, 8),
        (8, 9, "swatches", 8, 9),
        (32, 32, "swatches", 32, 32),
        (33, 4, "swatches", 17, 4),
        (4, 100, "swatches", 4, 17),
    ],
)
def test_what_fits_is_shown(n, m, kind, rows, columns):
    grid = grid_of(n, m)
    assert (grid.kind, len(grid.rows), len(grid.rows[0][1])) == (kind, rows, columns)


def test_beyond_32_the_first_and_last_8_are_shown():
    grid = grid_of(40, 50)
    marks = [cell.text for cell in grid.rows[8][1]]
    assert marks == ["⋮"] * 8 + ["⋱"] + ["⋮"] * 8
    assert [cells[8].text for _, cells in grid.rows] == ["⋯"] * 8 + ["⋱"] + ["⋯"] * 8
    assert grid.rows[16][1][16].level == pytest.approx(-math.sin(39 + 2 * 49), abs=0.02)


def test_swatches_mark_negative_cells():
    for _, cells in grid_of(9, 9).rows:
        assert all((cell.text == "−") == (cell.level < 0) for cell in cells)


def test_more_than_four_heads_are_thumbnails_of_their_weights():
    graph, trace = run_of(n=4, heads=8, d=16)
    fold = next(box for box in boxes(graph, trace).values() if box.kind == "fold")
    assert [grid.caption for grid in fold.grids] == [f"Head {i}" for i in range(1, 8)]
    assert {(grid.kind, grid.scale) for grid in fold.grids} == {("thumbnail", "share")}
    for i, grid in enumerate(fold.grids, 1):
        weights = trace[f"attention.head{i}.weights"]
        assert grid.rows[3][1][0].level == weights[3][0]
    assert "Heads 1–7" in svg(graph, trace=trace)


def test_a_tensor_of_rank_3_is_thumbnails():
    g = Graph("rank")
    g.output(y=g.softmax(g.input("x", (3, 2, 2)), name="w"))
    found = boxes(g, g.run({"x": [[[0.0, 1.0]] * 2] * 3}))["w"].grids
    assert [(grid.caption, grid.kind) for grid in found] == [(f"[{i}]", "thumbnail") for i in range(3)]


@pytest.mark.slow
def test_a_picture_has_at_most_so_many_cells():
    graph, trace = run_of(n=20, heads=2, d=20)
    at = graph.at("op")

    def cells(drawn):
        return sum(grid.size for box in drawn.boxes.values() for grid in box.grids)

    assert cells(diagram(at, [], trace)) <= values.CELLS
    many = Graph("many")
    x = many.input("x", (20, 20))
    for _ in range(80):
        x = many.negate(x)
    many.output(y=x)
    run = many.run({"x": [[1.0] * 20] * 20})
    assert cells(diagram(many, [], run)) <= values.CELLS
    for _ in range(60):
        x = many.negate(x)
    many.output(z=x)
    run = many.run({"x": [[1.0] * 20] * 20})
    drawn = diagram(many, [], run)
    assert cells(drawn) <= values.CELLS and drawn.dropped > 0


def test_boxes_without_room_are_said(monkeypatch):
    g = Graph("many")
    x = g.input("x", (4, 4))
    for _ in range(8):
        x = g.negate(x)
    g.output(y=x)
    monkeypatch.setattr(values.Values.__init__, "__defaults__", (32, 100))
    with pytest.warns(Folded, match="4 boxes go without their numbers, because a picture has at most"):
        svg(g, trace=g.run({"x": [[1.0] * 4] * 4}))


@pytest.mark.slow
@pytest.mark.parametrize("level", ["block", "head", "op", "primitive"])
@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_each_level_and_theme(level, theme):
    graph, trace = run_of(n=2, heads=1, d=2)
    shown = "".join(ElementTree.fromstring(svg(graph, level, theme, trace=trace)).itertext())
    assert short(trace["residual"][1][0]) in shown


def test_nan_and_numbers_of_other_types():
    g = Graph("broken")
    g.output(y=g.negate(g.input("x", (3,)), name="neg"))
    trace = g.run({"x": [math.nan, math.inf, 1]}, allow_nonfinite=True)
    assert [cell.text for cell in boxes(g, trace)["neg"].grids[0].rows[0][1]] == ["NaN", "−∞", "−1.00"]
    exact = g.run({"x": [1, 2, 3]}, numbers="fraction")
    assert [cell.text for cell in boxes(g, exact)["neg"].grids[0].rows[0][1]] == ["−1.00", "−2.00", "−3.00"]


def test_what_was_not_kept_has_no_numbers():
    graph, _ = run_of()
    made = specimen("block", n=4, d=8, heads=2, causal=True)
    trace = graph.run(made.feeds, keep=["*.weights"])
    found = boxes(graph, trace)
    assert found["attention.head1.weights"].grids and not found["attention.head1.scores"].grids


# ------------------------------------------------------------ the same bytes; files; bad calls


def test_the_same_run_gives_the_same_text():
    graph, trace = run_of()
    again_graph, again = run_of()
    assert dot(graph.at("op"), trace=trace) == dot(again_graph.at("op"), trace=again)


@pytest.mark.slow
def test_render_with_a_trace(tmp_path):
    graph, trace = run_of(n=2, heads=1, d=2)
    for suffix in (".svg", ".png", ".pdf", ".dot"):
        assert graph.render(tmp_path / f"a{suffix}", trace=trace).is_file()
        graph.render(tmp_path / f"b{suffix}", trace=trace)
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


def test_a_trace_of_another_graph_is_refused(tmp_path):
    graph, _ = run_of()
    other, trace = run_of(n=3)
    with pytest.raises(
        GraphError, match="the trace is a run of graph 'block', which has no input 'X' of this shape"
    ):
        render(graph, tmp_path / "a.svg", trace=trace)
    with pytest.raises(GraphError, match="trace is a str; expected a run of graph 'block'"):
        svg(other, trace="run")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_hostile_labels_are_text():
    g = Graph("hostile")
    g.output(y=g.softmax(g.input("x", (2, 2), ("token", "token")), name="w"))
    for label in ("</TABLE>", "<B>&", "\\N", "\x00\x1b", "\u202eabc", ""):
        trace = g.run({"x": [[0.0, 1.0]] * 2}, labels={"token": [label, "b"]})
        ElementTree.fromstring(svg(g, trace=trace))


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def status(*line):
        with pytest.raises(SystemExit) as left:
            main(list(line))
        return left.value.code, capsys.readouterr().err

    assert status("render", "block", "--values", "--labels", "a,b,c,d", "-o", "a.svg") == (0, "wrote a.svg\n")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "0 to 1" in text and ">a</text>" in text
    code, told = status("render", "block", "--labels", "a,b,c,d", "-o", "b.svg")
    assert code == 2 and "expected --values beside them" in told


# ------------------------------------------------------------ texts in the middle


def test_texts_hang_in_the_middle_of_their_boxes():
    graph, trace = run_of()
    root = ElementTree.fromstring(svg(graph, trace=trace))
    checked = 0
    for group in root.iter(f"{SVG}g"):
        if not (group.get("class") or "").startswith("node op-"):
            continue
        paths = [p.get("d") for p in group.iter(f"{SVG}path")]
        if not paths:
            continue  # a bar
        xs = [float(x) for x in re.findall(r"(-?[\d.]+),", paths[0])]
        for text in group.iter(f"{SVG}text"):
            if text.get("font-size") == "9.00" or len(text):
                assert text.get("text-anchor") == "middle"
                assert float(text.get("x")) == pytest.approx((min(xs) + max(xs)) / 2, abs=0.02)
                checked += 1
    assert checked > 20


def test_centring_leaves_other_text_alone():
    away = (
        '<g id="n" class="node">\n<polygon points="0,0 0,-20 200,-20 200,0 0,0"/>\n'
        '<text xml:space="preserve" text-anchor="start" x="2" y="-8" font-size="9.00">left</text>\n</g>\n'
        '<g id="c" class="cluster">\n<polygon points="0,0 0,-20 30,-20 30,0 0,0"/>\n'
        '<text xml:space="preserve" text-anchor="start" x="9" y="-8" font-size="9.00">abc</text>\n</g>'
    )
    assert centred(away) == away
