"""Heat maps of recorded tensors: all numbers and labels are there, the same bytes each time, and nothing
is said by colour alone."""

from __future__ import annotations

import base64
import math
import re
import struct
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

import pytest
from colour_vision import DEFICIENCIES, apart, seen

from graphattn import Graph, GraphError
from graphattn.builtin import specimen
from graphattn.cli import main
from graphattn.core.numbers import FLOAT
from graphattn.core.trace import Trace
from graphattn.dumps import layout
from graphattn.dumps.colour import blend, contrast, ink_on, oklab
from graphattn.dumps.figure import figure
from graphattn.dumps.figure.panel import Panel, ticks
from graphattn.dumps.figure.raster import dot
from graphattn.dumps.heat import Scale, heat_maps, short, spread_scale
from graphattn.dumps.layout import laid_out
from graphattn.dumps.rows import step_rows
from graphattn.dumps.theme import THEMES, theme
from graphattn.weights.toy_induction import toy_induction

SVG = "{http://www.w3.org/2000/svg}"

HOSTILE = [
    "</script><script>alert(1)</script>", '<img src=x onerror="a">', "a\u2028b", "\u202eright to left",
    "x" * 10_000, "&amp; \\N \\", "\x00\x1b[31m", "注意力",
]  # fmt: skip


def block(n: int = 4) -> Trace:
    """A causal block with two heads."""
    made = specimen("block", n=n, d=8, heads=2, causal=True)
    labels = {"token": ["the", "cat", "sat", "down"]} if n == 4 else {}
    return made.graph.run(made.feeds, level="op", labels=labels)


def square(n: int, name: str = "w", labels: list[str] | None = None) -> Trace:
    """A softmax over n × n scores of which the later ones are hidden."""
    g = Graph("square")
    x = g.input("x", (n, n), ("token", "token"))
    g.softmax(g.mask(x, g.causal_mask(n), name="masked"), name=name)
    feed = [[math.sin(7 * i + 3 * j) * 3 for j in range(n)] for i in range(n)]
    return g.run({"x": feed}, labels={"token": labels} if labels else {})


def texts(svg: str) -> list[str]:
    """Every text in an SVG."""
    return ["".join(t.itertext()) for t in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def panels(trace: Trace, name: str, **options) -> list[Panel]:
    """The panels of a tensor."""
    (row,) = step_rows(trace, [name])
    maps = heat_maps(row.tensors[0], trace.numbers)
    return [Panel(m, "title", "note", theme("light"), **options) for m in maps]


# ------------------------------------------------------------ what is shown


def test_a_small_figure(golden):
    golden("figure_weights.svg", figure(square(3, labels=["the", "cat", "sat"]), "w").svg() + "\n")


def test_numbers_labels_and_range_are_there():
    trace = block()
    svg = figure(trace, "head0.weights").svg()
    found = texts(svg)
    labels = trace.labels["token"]
    assert [found.count(word) for word in labels] == [2] * 4  # rows and columns
    for i, row in enumerate(trace["head0.weights"]):
        for j, weight in enumerate(row):
            if j <= i:
                assert short(weight, share=True) in found
                assert f"weights[{labels[i]}, {labels[j]}] = {weight!r}</title>" in svg
    assert "n×n = 4×4 · 0 to 1 · rows sum to 1" in found
    assert svg.count("(masked)</title>") == 6 and svg.count("url(#h") == 6 + 1  # and one in the legend
    assert "masked" in found


def test_a_signed_scale_is_symmetric_and_its_range_is_printed():
    trace = block()
    svg = figure(trace, "head0.masked").svg()
    seen = [cell for row in trace["head0.masked"] for cell in row if cell != -math.inf]
    bound = short(max(map(abs, seen)))
    assert f"n×n = 4×4 · ±{bound}" in texts(svg)
    assert {f"−{bound}", f"+{bound}"} <= set(texts(svg))
    assert texts(svg).count("−∞") == 6


def test_heads_side_by_side_share_a_scale():
    trace = block()
    svg = figure(trace, "*.masked").svg()
    found = texts(svg)
    assert "attention.head*.masked" in found and {"head0", "head1"} <= set(found)
    assert len({text for text in found if "±" in text}) == 1
    at = {t.text: float(t.get("x")) for t in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert at["head0"] < at["head1"]


def test_different_tensors_have_scales_of_their_own():
    found = texts(figure(block(), ["X", "*.scores", "*.weights"]).svg())
    assert {"X", "attention.head0.scores", "attention.head1.weights"} <= set(found)
    assert len({text for text in found if "±" in text}) == 2
    assert "(max of each map, printed above it)" in found and "0" in found


def test_layers_and_heads_are_a_grid_of_thumbnails():
    g = Graph("deep")
    x = g.input("x", (3, 4), ("token", "feature"))
    for layer in range(3):
        outs = [g.attention(x, x, x, name=f"layer{layer}.head{head}")[0] for head in range(4)]
        x = g.add(g.add(outs[0], outs[1]), g.add(outs[2], outs[3]), name=f"layer{layer}.sum")
    trace = g.run({"x": [[1.0, 2, 3, 4], [0, 1, 0, -1], [2, 0, 1, 1]]}, level="op")
    root = ElementTree.fromstring(figure(trace, "*.weights").svg())
    at: dict[str, list[tuple[float, float]]] = {}
    for t in root.iter(f"{SVG}text"):
        at.setdefault(t.text or "", []).append((float(t.get("x")), float(t.get("y"))))
    assert "layer*.head*.weights" in at and "n×n = 3×3 · 0 to 1 · rows sum to 1" in at
    assert [len(at[f"head{h}"]) for h in range(4)] == [3] * 4
    assert len({x for x, _ in at["head2"]}) == 1 and at["head0"][0][0] < at["head1"][0][0]
    heights = [at[f"layer{layer}"][0][1] for layer in range(3)]
    assert heights == sorted(heights)


def test_slices_along_leading_axes():
    g = Graph("stacked")
    g.softmax(g.input("x", (2, 3, 3), ("head", "token", "token")), name="w")
    trace = g.run({"x": [[[1.0, 2, 3]] * 3] * 2})
    assert {"w", "head[0]", "head[1]"} <= set(texts(figure(trace, "w").svg()))
    named = g.run({"x": [[[1.0, 2, 3]] * 3] * 2}, labels={"head": ["left", "right"]})
    assert {"left", "right"} <= set(texts(figure(named, "w").svg()))


@pytest.mark.parametrize(
    ("n", "kind"), [(1, "numbers"), (14, "numbers"), (15, "swatches"), (40, "swatches"), (41, "image")]
)
def test_the_kind_follows_from_the_size(n, kind):
    (panel,) = panels(square(n), "w")
    assert panel.kind == kind


def test_swatches_mark_negative_cells():
    trace = square(20)
    negative = sum(cell < 0 for i, row in enumerate(trace["masked"]) for cell in row[: i + 1])
    assert texts(figure(trace, "masked").svg()).count("−") == negative > 0


def decoded(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of a PNG without filters."""
    width, height = struct.unpack(">II", png[16:24])
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        if png[at + 4 : at + 8] == b"IDAT":
            data += png[at + 8 : at + 8 + size]
        at += 12 + size
    raw = zlib.decompress(data)
    return width, height, [raw[1 + at : at + 1 + 3 * width] for at in range(0, len(raw), 3 * width + 1)]


def test_a_large_map_is_one_image_with_ticks():
    trace = square(60)
    svg = figure(trace, "w").svg()
    (image,) = re.findall(r'href="data:image/png;base64,([^"]*)"', svg)
    width, height, rows = decoded(base64.b64decode(image))
    zoom = width // 60
    assert (width, height) == (60 * zoom, 60 * zoom)
    heat = theme("light").heat
    for i, j in ((0, 0), (30, 7), (59, 59)):
        pixel = rows[i * zoom + zoom // 2][3 * (j * zoom + zoom // 2) :][:3]
        assert f"#{pixel.hex().upper()}" == heat.fill("share", trace["w"][i][j])
    hidden = {bytes(rows[0][at : at + 3]) for at in range(3 * zoom * 30, 3 * width, 3)}
    assert {f"#{colour.hex().upper()}" for colour in hidden} == set(heat.masked)  # hatched
    assert {"0", "10", "50"} <= set(texts(svg)) and "13" not in texts(svg)


def spread(rows: int, columns: int) -> Trace:
    """A softmax over rows of many cells, none of which has much."""
    g = Graph("spread")
    g.softmax(g.input("x", (rows, columns)), name="w")
    return g.run({"x": [[math.sin(7 * i + 3 * j) for j in range(columns)] for i in range(rows)]})


def test_shares_among_many_cells_are_seen():
    """A thousand weights of about 1/1000 are no blank map: the scale ends at ten times that, and says so."""
    drawn = figure(spread(4, 1000), "w")
    assert "4×1000 · 0 to .01 · rows sum to 1 · each spot is the largest of 1 × 7 cells" in texts(drawn.svg())
    assert "≥ .01" in texts(drawn.svg())
    (image,) = re.findall(r'href="data:image/png;base64,([^"]*)"', drawn.svg())
    _, _, rows = decoded(base64.b64decode(image))
    darkest = min(sum(row[at : at + 3]) for row in rows for at in range(0, len(row), 3))
    assert darkest < sum(bytes.fromhex(theme("light").heat.fill("share", 0.15)[1:]))


@pytest.mark.parametrize("columns", [1, 5, 10, 14])
def test_shares_among_few_cells_run_from_0_to_1(columns):
    (row,) = step_rows(spread(3, columns), ["w"])
    assert spread_scale(row.tensors, FLOAT) == Scale("share", 1.0)


def test_shares_that_look_at_one_cell_run_from_0_to_1():
    g = Graph("peaked")
    g.softmax(g.input("x", (200, 200)), name="w")
    trace = g.run({"x": [[50.0 * (i == j) for j in range(200)] for i in range(200)]})
    (row,) = step_rows(trace, ["w"])
    assert spread_scale(row.tensors, FLOAT) == Scale("share", 1.0)


def test_a_spot_for_several_cells_is_the_one_farthest_from_0():
    g = Graph("wide")
    g.negate(g.input("x", (2, 400)), name="y")
    trace = g.run({"x": [[2.0 * (j == 7) - 1.0 * (j == 200) for j in range(400)] for _ in range(2)]})
    (panel,) = panels(trace, "y")
    assert panel.pooled == (1, 3) and "farthest from 0 of 1 × 3 cells" in panel.caption
    assert panel.map.strongest([0], range(6, 9)).level == -1.0
    assert panel.map.strongest([0, 1], range(198, 201)).level == 0.5
    (row,) = step_rows(square(3), ["masked"])
    (shown,) = heat_maps(row.tensors[0], FLOAT)
    assert [shown.strongest([0], at).state for at in ([1, 2], [0, 1])] == ["masked", "number"]


@pytest.mark.parametrize("name", ["attention.head0.weights", "attention.head1.weights"])
def test_weights_of_an_expanded_softmax_run_from_0_to_1(name):
    made = specimen("block", n=4, d=8, heads=2, causal=True)
    trace = made.graph.run(made.feeds, level="primitive")
    assert "n×n = 4×4 · 0 to 1 · rows sum to 1" in texts(figure(trace, name).svg())
    inside = texts(figure(trace, f"{name}.raised").svg())
    assert any(text.startswith("n×n = 4×4 · ±") for text in inside)  # not yet divided


def test_nothing_but_0_has_no_scale():
    g = Graph("zero")
    g.negate(g.input("x", (2, 2)), name="y")
    found = texts(figure(g.run({"x": [[0.0, -0.0], [0.0, 0.0]]}), "y").svg())
    assert "2×2 · only 0" in found and not any(sign in text for text in found for sign in "±+−")


def test_maps_that_are_alone_of_their_kind_share_lines():
    """More than eight tensors of as many kinds are no thumbnails, and no column either."""
    made = specimen("block", n=4, d=8, heads=2, causal=True)
    trace = made.graph.run(made.feeds, level="primitive")
    root = ElementTree.fromstring(figure(trace, "attention.head0.weights*").svg())
    at = {t.text: (float(t.get("x")), float(t.get("y"))) for t in root.iter(f"{SVG}text")}
    first, second = (at[f"attention.head0.weights.{name}"] for name in ("peak", "some_visible"))
    assert first[1] == second[1] and first[0] < second[0]


def test_ticks_are_round_and_few():
    assert ticks(60) == [0, 10, 20, 30, 40, 50] and ticks(1) == [0] and ticks(41) == [0, 10, 20, 30, 40]
    for count in range(1, 5000, 7):
        assert 1 <= len(ticks(count)) <= 7 and ticks(count)[0] == 0


def test_nan_and_infinity_are_told():
    g = Graph("broken")
    g.negate(g.input("x", (5,)), name="y")
    trace = g.run({"x": [math.nan, math.inf, -math.inf, 0.0, 2.0]}, allow_nonfinite=True)
    assert {"NaN", "−∞", "∞", "0", "−2.00"} <= set(texts(figure(trace, "y").svg()))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (2, 1, 3), (2, 2, 2, 2)])
def test_every_rank(shape):
    g = Graph("rank")
    g.output(y=g.negate(g.constant(_filled(shape), name="c")))
    found = texts(figure(g.run({}), "y").svg())
    assert found.count("−1.50") == math.prod(shape) + 1  # and one in the legend


def _filled(shape):
    return [_filled(shape[1:]) for _ in range(shape[0])] if shape else 1.5


@pytest.mark.parametrize("numbers", ["fraction", "float32", "mpmath"])
def test_other_numbers(numbers):
    g = Graph("numbers")
    x = g.input("x", (2, 2))
    g.multiply(x, x, name="y")
    trace = g.run({"x": [[1, 2], [3, 4]]}, numbers=numbers)
    assert {"1.00", "4.00", "9.00", "16.0"} <= set(texts(figure(trace, "y").svg()))


def test_bool_and_int_tensors():
    g = Graph("kinds")
    g.output(m=g.causal_mask(2, name="m"))
    trace = g.run({})
    assert texts(figure(trace, "m").svg()).count("1") >= 3


def test_short_numbers():
    told = {
        0: "0",
        1.0: "1.00",
        -9.994: "−9.99",
        9.996: "10.0",
        99.96: "100",
        12345: "1e4",
        1e-300: "1e−300",
    }
    assert {value: short(value) for value in told} == told
    shares = {0.0: "0", 1e-9: ".00", 0.5: ".50", 0.994: ".99", 0.996: "1.00", 1.0: "1.00"}
    assert {value: short(value, share=True) for value in shares} == shares
    for power in range(-308, 309, 7):
        for digit in (1, -5.55, 9.9999):
            assert len(short(digit * 10.0**power)) <= 8


def test_scales():
    assert [Scale("signed", 4.0).level(v) for v in (-8, -4, -1, 0, 2, 4)] == [-1, -1, -0.25, 0, 0.5, 1]
    assert [Scale("share").level(v) for v in (-1, 0, 0.25, 2)] == [0, 0, 0.25, 1]
    assert Scale("signed", 0.0).level(0.0) == 0


# ------------------------------------------------------------ the same bytes, in three formats


@pytest.mark.slow
def test_the_same_trace_gives_the_same_bytes(tmp_path):
    trace, again = block(), block()
    for suffix in (".svg", ".png", ".pdf"):
        figure(trace, "*.weights").save(tmp_path / f"a{suffix}")
        figure(again, "*.weights").save(tmp_path / f"b{suffix}")
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert b"/CreationDate (D:20000101000000" in (tmp_path / "a.pdf").read_bytes()


@pytest.mark.parametrize("name", ["head0.weights", "*.masked"])
def test_png_and_pdf_have_the_texts_of_the_svg(name, tmp_path):
    drawn = figure(block(), name)
    shown = texts(laid_out(dot(drawn.canvas, tmp_path), "svg", engine="nop2").decode("utf-8"))
    assert sorted(shown) == sorted(texts(drawn.svg()))


def test_texts_stand_where_the_svg_has_them(tmp_path):
    """Both writers put a text at the same place, to a point."""
    drawn = figure(block(), "head0.masked")
    ours = {t.text: t for t in ElementTree.fromstring(drawn.svg()).iter(f"{SVG}text")}
    theirs = ElementTree.fromstring(laid_out(dot(drawn.canvas, tmp_path), "svg", engine="nop2"))
    for t in theirs.iter(f"{SVG}text"):
        if t.text in ("masked", "attention.head0.masked"):  # those that begin at their place
            assert abs(float(t.get("x")) - float(ours[t.text].get("x"))) < 1
            assert abs(drawn.canvas.height + float(t.get("y")) - float(ours[t.text].get("y"))) < 4


def test_a_huge_png_is_bounded_and_says_so():
    with pytest.warns(UserWarning, match="72 dots per inch instead of 144"):
        assert layout.dots_per_inch(100, 32_000) == 72
    with pytest.warns(UserWarning, match="57 dots per inch instead of 144"):
        assert layout.dots_per_inch(10_000, 10_000) == 57
    assert layout.dots_per_inch(600, 800) == 144


# ------------------------------------------------------------ colour is not all


@pytest.mark.parametrize("name", THEMES)
def test_the_ink_of_every_cell_has_contrast(name):
    low = [(where, a, b) for where, a, b in theme(name).heat.pairs() if contrast(a, b) < 4.5]
    assert not low


def test_one_of_two_inks_reads_on_any_colour():
    for r in range(0, 256, 15):
        for g in range(0, 256, 15):
            for b in range(0, 256, 15):
                surface = f"#{r:02X}{g:02X}{b:02X}"
                assert contrast(ink_on(surface), surface) >= 4.5


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("name", THEMES)
def test_scales_read_with_each_kind_of_colour_vision(name, deficiency):
    heat = theme(name).heat
    shares = [oklab(seen(heat.fill("share", step / 20), deficiency))[0] for step in range(21)]
    ordered = sorted(shares, reverse=shares[0] > shares[-1])
    assert shares == ordered and abs(shares[0] - shares[-1]) > 0.5  # ever darker, or ever lighter
    for step in range(1, 5):
        plus, minus = (seen(heat.fill("signed", s * step / 4), deficiency) for s in (1, -1))
        assert apart(plus, minus) > 0.03 * step
        zero = seen(heat.fill("signed", 0.0), deficiency)
        assert apart(plus, zero) > 0.03 * step and apart(minus, zero) > 0.03 * step
    surface, line = (seen(colour, deficiency) for colour in heat.masked)
    assert apart(surface, line) > 0.15  # the hatching can be seen


def test_the_print_theme_has_no_colour():
    shown = theme("print")
    for level in range(-10, 11):
        for kind in ("signed", "share")[: 2 if level >= 0 else 1]:
            fill = shown.heat.fill(kind, level / 10)
            assert fill[1:3] == fill[3:5] == fill[5:7]
    svg = figure(block(), "*.masked", theme="print").svg()
    for colour in set(re.findall(r"#[0-9A-F]{6}", svg)):
        assert colour[1:3] == colour[3:5] == colour[5:7]


def test_blends_pass_through_their_stops():
    stops = ("#102030", "#FFFFFF", "#A04000")
    assert [blend(stops, at) for at in (-1, 0, 0.5, 1, 2)] == [stops[0], *stops, stops[-1]]


# ------------------------------------------------------------ hostile text, bad calls


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_labels_are_text(label, tmp_path):
    drawn = figure(square(2, labels=[label, "b"]), ["w", "masked"])
    svg = drawn.svg()
    root = ElementTree.fromstring(svg)
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= {
        "svg", "title", "desc", "defs", "pattern", "path", "rect", "text",
    }  # fmt: skip
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\u2028\u202e]", svg)
    assert all(not name.startswith("on") for e in root.iter() for name in e.attrib)
    drawn.save(tmp_path / "a.png")


def test_a_hostile_title_of_a_graph(tmp_path):
    g = Graph("hostile", title=HOSTILE[0] + HOSTILE[2])
    x = g.input("x", (2,))
    g.output(y=g.exp(x), z=x)
    svg = figure(g.run({"x": [1, 2]}), ["x", "y"]).svg()
    assert "<script" not in svg and "&lt;script&gt;" in svg


@pytest.mark.parametrize(
    ("tensors", "options", "words"),
    [
        ("nix", {}, "has no tensor 'nix'"),
        ([], {}, "there is nothing to draw; expected the name of a tensor, or a pattern"),
        ("w", {"theme": "drak"}, "unknown theme 'drak'; expected light, dark or print; did you mean 'dark'?"),
    ],
)
def test_bad_calls_are_refused(tensors, options, words):
    with pytest.raises(GraphError, match=re.escape(words)):
        figure(square(2), tensors, **options)


def test_what_cannot_be_drawn():
    trace = square(2)
    with pytest.raises(
        GraphError, match=r"a figure cannot be written to 'a.gif'; expected a name that ends in"
    ):
        trace.figure("w", "a.gif")
    with pytest.raises(GraphError, match="a figure shows a trace, got a str"):
        figure("w", "w")  # type: ignore[arg-type]
    g = Graph("large")
    g.negate(g.input("x", (1, 5000)), name="y")
    with pytest.raises(GraphError, match="tensor 'y' has 1 × 5,000 cells; a figure shows at most 4,096"):
        figure(g.run({"x": [[0.0] * 5000]}), "y")
    h = Graph("kept")
    h.output(z=h.negate(h.negate(h.input("x", (1,)), name="y")))
    with pytest.raises(GraphError, match="tensor 'y' was not kept in this run"):
        figure(h.run({"x": [1]}, keep=["z"]), "y")
    e = Graph("empty")
    e.negate(e.input("x", (2, 0)), name="y")
    with pytest.raises(GraphError, match="'y' has no cells to draw"):
        figure(e.run({"x": [[], []]}), "y")


def test_the_door_of_a_trace(tmp_path):
    trace = square(2)
    assert trace.figure("w", tmp_path / "a.svg") == tmp_path / "a.svg"
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{trace.figure("w")._repr_svg_()}\n'
    )


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def status(*line):
        with pytest.raises(SystemExit) as left:
            main(list(line))
        return left.value.code, capsys.readouterr().err

    assert status("figure", "block", "--causal", "*.weights", "-o", "a.svg") == (0, "wrote a.svg\n")
    assert "head1" in texts((tmp_path / "a.svg").read_text(encoding="utf-8"))
    assert status("figure", "block", "-o", "b.svg")[0] == 2
    assert status("figure", "block", "head0.weights")[0] == 2
    code, told = status("figure", "block", "head0.weights", "-o", "b.gif")
    assert code == 2 and "a figure cannot be written to 'b.gif'" in told
    assert [path.name for path in tmp_path.iterdir()] == ["a.svg"]


def test_the_pictures_of_figures_md_are_current():
    docs = Path(__file__).parents[2] / "docs"
    made = specimen("block", n=4, d=8, heads=2, causal=True)
    trace = made.run(labels={"token": ["the", "cat", "sat", "down"]})
    toy = toy_induction("qmxbzqmxbzqmxbz").run()
    for drawn, name in (
        (trace.figure(["*.masked", "*.weights"]), "figure-heads.svg"),
        (toy.figure("*.weights"), "figure-layers.svg"),
    ):
        text = (docs / name).read_text(encoding="utf-8")
        assert texts(text[text.index("<svg") :]) == texts(drawn.svg()), (
            f"{name}: python docs/pictures.py draws it"
        )
