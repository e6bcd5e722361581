"""Pictures of graphs: what they show, that they show all of it, and what happens where they cannot."""

from __future__ import annotations

import math
import re
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from graphattn import Graph, GraphError
from graphattn.builtin import specimen
from graphattn.core.op import LEVELS
from graphattn.dumps import layout, picture
from graphattn.dumps.alike import alike
from graphattn.dumps.colour import contrast
from graphattn.dumps.diagram import diagram
from graphattn.dumps.dot import dot
from graphattn.dumps.frame_labels import covered_labels, struck_labels
from graphattn.dumps.layout import TooHard, laid_out, laid_out_as
from graphattn.dumps.letters import text_width
from graphattn.dumps.picture import Folded, render, svg
from graphattn.dumps.theme import THEMES, theme
from graphattn.models import pretrained

SVG = "{http://www.w3.org/2000/svg}"

HOSTILE = [
    '<b>&"',
    "a:b",
    "{|}",
    "back\\slash \\N \\G",
    "new\nline\ttab",
    "line\u2028separator",
    "注意力 注目",
    "🧠 emoji 👩\u200d🔬",
    "",
    "   ",
    "</TABLE>",
    "<lambda>",
    "&amp; &lt; &#65;",
    "\x00\x07\x1b[31m",
    "\ud800 half",
    "\ufffe\uffff",
    "ends in \\",
    "]]> -- <!-- -->",
    "word " * 60,
    "x" * 300,
    "\u202eright to left",
]


def block(heads: int = 2, n: int = 4, d: int = 8) -> Graph:
    """A causal pre-LN block with projections."""
    g = Graph("block", title="pre-LN self-attention")
    x = g.input("X", (n, d), ("token", "feature"))
    weights = {w: g.parameter(w, (d, d), ("feature", "feature")) for w in ("w_q", "w_k", "w_v", "w_o")}
    g.output(y=g.block(x, heads=heads, causal=True, name="block", **weights))
    return g


def attention() -> Graph:
    g = Graph("attention")
    q, k, v = (g.input(name, shape=(4, 8), axes=("token", "feature")) for name in "QKV")
    scores = g.matmul(q, k.T, name="scores")
    weights = g.softmax(g.mask(g.scale(scores, sqrt=8), g.causal_mask(4)), name="weights")
    g.output(out=weights @ v, weights=weights)
    return g


def boxes(graph: Graph, siblings: int | None = None):
    """The boxes of a picture by title."""
    folds = [] if siblings is None else alike(graph, siblings)
    return {" ".join(box.title): box for box in diagram(graph, folds).boxes.values()}


def arrows(graph: Graph, siblings: int | None = None):
    """(tail's title, head's title, label, kind, role) of each arrow."""
    folds = [] if siblings is None else alike(graph, siblings)
    drawn = diagram(graph, folds)
    title = {box.id: " ".join(box.title) for box in drawn.boxes.values()}
    return [(title[a.tail], title[a.head], a.label, a.kind, a.role) for a in drawn.arrows]


def across(graph: Graph, *titles: str) -> list[float]:
    """The x-positions of boxes, as Graphviz lays them out."""
    plain = laid_out(dot(graph), "plain").decode("utf-8")
    at = {match[1]: float(match[2]) for match in re.finditer(r"^node (\S+) (\S+) ", plain, re.MULTILINE)}
    return [at[boxes(graph)[title].id] for title in titles]


def texts(text: str) -> dict[str, str]:
    """The text of each node in an SVG."""
    root = ElementTree.fromstring(text)
    return {
        group.get("id", "").rpartition("-")[2]: " ".join(
            "".join(t.itertext()) for t in group.iter(f"{SVG}text")
        )
        for group in root.iter(f"{SVG}g")
        if group.get("class", "").startswith("node")
    }


@pytest.fixture(scope="module")
def drawn_block() -> str:
    return svg(block())


# ------------------------------------------------------------ what is shown


def test_a_small_graph_as_dot(golden):
    g = Graph("small", title="one head")
    x = g.input("x", (2, 3), ("token", "feature"))
    with g.scope("head", title="Head 0"):
        scores = g.matmul(x, x.T, name="scores")
        weights = g.softmax(g.mask(scores, g.causal_mask(2)), name="weights")
    g.output(y=g.add(x, weights @ x, name="sum"))
    golden("small.dot", dot(g))


def test_every_text_of_every_node_is_in_the_svg(drawn_block):
    shown = texts(drawn_block)
    for box in diagram(block().at("op")).boxes.values():
        for text in box.texts:
            assert "".join(text.split()) in "".join(shown[box.id].split())


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", THEMES)
def test_each_level_and_theme_is_well_formed(level, name):
    text = svg(attention() if level == "primitive" else block(), level=level, theme=name)
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert theme(name).page.lower() in text


def test_the_svg_is_safe_to_put_into_a_page(drawn_block):
    assert drawn_block.startswith("<svg ") and drawn_block.endswith("</svg>")
    assert "<script" not in drawn_block and "<image" not in drawn_block and "href" not in drawn_block
    ids = re.findall(r' id="([^"]*)"', drawn_block)
    assert len(ids) == len(set(ids))
    assert not set(ids) & set(re.findall(r' id="([^"]*)"', svg(block(), theme="dark")))
    assert "<title>n1</title>" not in drawn_block
    assert "block.attention.head0.weights · softmax · token 4 × token 4" in drawn_block
    assert "TABLE" not in drawn_block


def test_weights_and_transposes_are_drawn_inside_what_uses_them():
    found = boxes(block().at("op"))
    assert found["Q"].inside == ("w_q 8×8",)
    assert "w_q" not in found and "transpose" not in found
    assert boxes(attention())["scores"].inside == ("Kᵀ 8×4",)
    assert found["Q₀ K₀ᵀ"].inside == ()  # the title says it


def test_a_weight_that_two_nodes_use_is_a_node():
    g = Graph("tied")
    w = g.parameter("w", (3, 3))
    g.output(y=g.linear(g.linear(g.input("x", (2, 3)), w, name="a"), w, name="b"))
    assert boxes(g)["w"].kind == "source"
    assert [a[:2] for a in arrows(g)] == [("x", "a"), ("w", "a"), ("a", "b"), ("w", "b"), ("b", "y")]


def test_one_copy_of_a_constant_beside_each_node_that_uses_it():
    g = Graph("twice")
    x, c = g.input("x", (2,)), g.constant(3.0, name="three")
    g.output(y=g.multiply(g.add(x, c), c), c=c)
    copies = [box for box in diagram(g).boxes.values() if box.kind == "constant"]
    assert [box.title for box in copies] == [("three",)] * 3
    assert [a[3] for a in arrows(g)].count("beside") == 3


def test_roles_colour_what_computes_the_operands():
    found = boxes(block().at("op"))
    assert [found[title].role for title in ("Q", "K", "V", "softmax")] == ["Q", "K", "V", "weights"]
    assert found["LayerNorm"].role is None and found["output projection"].role is None
    roles = {label: role for _, _, label, _, role in arrows(block().at("op"))}
    assert (roles["Q 4×8"], roles["K₀ 4×4"], roles["V₁ 4×4"], roles["A₀ 4×4"]) == ("Q", "K", "V", "weights")
    assert roles["scores 4×4"] is None


def test_labels_name_tensors_and_shapes():
    labels = [label for *_, label, _, _ in arrows(block().at("op"))]
    for label in ("X 4×8", "norm 4×8", "Q₀ 4×4", "scores 4×4", "A₁ 4×4", "Z₀ 4×4", "attention 4×8"):
        assert label in labels
    assert labels.count("norm 4×8") == 1  # a fan-out of three is labelled once
    assert boxes(block().at("op"))["A₀ V₀"].note == ("n×dₖ = 4×4",)


def test_the_primitive_level_keeps_the_names_of_the_composites():
    labels = [label for *_, label, _, _ in arrows(block().at("primitive"))]
    for label in ("norm 4×8", "Q 4×8", "Q₀ 4×4", "scaled 4×4", "A₀ 4×4", "attention 4×8"):
        assert label in labels


def test_the_step_that_gives_the_result_of_a_composite_is_called_as_that_is():
    graph = specimen("block", n=3, d=4).graph.at("primitive")
    titles = {box.name: " ".join(box.title) for box in diagram(graph).boxes.values()}
    inside = [name for name in titles if name.startswith("norm.") and name.endswith(".quotient")]
    assert [titles[name] for name in inside] == ["mean", "variance"]
    assert titles["norm.mean.total"] == "total" and titles["norm.root"] == "root"


def test_products_of_what_has_no_name_are_called_as_the_arrows_are():
    g = Graph("unnamed")
    x, w, b = g.input("x", (3, 8)), g.parameter("w", (8, 24)), g.parameter("b", (24,))
    q, k, v = g.split(x @ w + b, 3)
    g.output(y=g.multi_head(q, k, v, heads=2, name="heads"))
    titles = {box.name: " ".join(box.title) for box in diagram(g.at("op")).boxes.values()}
    assert titles["heads.head0.scores"] == "x₀₀ x₁₀ᵀ" and titles["heads.head1.out"] == "A₀₁ x₂₁"


def test_the_residual_is_the_arrow_around_what_was_computed():
    found = [
        (tail, head, label) for tail, head, label, kind, _ in arrows(block().at("op")) if kind == "residual"
    ]
    assert found == [("X", "residual add", "X 4×8")]


def test_eps_is_not_coloured_as_a_residual():
    found = boxes(block().at("primitive"))
    assert (found["stabilized"].family, found["residual add"].family) == ("function", "add")


def test_a_sum_of_unrelated_tensors_has_no_residual():
    g = Graph("sum")
    x, y = g.input("x", (2,)), g.input("y", (2,))
    g.output(z=g.add(g.exp(x), y), w=g.add(x, x))
    assert not [a for a in arrows(g) if a[3] == "residual"]


def test_a_dotted_name_without_a_scope_is_shown_whole():
    g = Graph("heads")
    x = g.input("x", (2, 2))
    g.output(a=g.softmax(x, name="head0.weights"), b=g.softmax(x.T, name="head1.weights"))
    text = svg(g)
    assert ">head0.weights<" in text and ">head1.weights<" in text


def test_parallel_arrows_survive():
    g = Graph("square")
    x = g.input("x", (2, 2))
    g.output(y=g.multiply(x, x), z=g.matmul(x, x))
    text = svg(g)
    ends = [a[:2] for a in arrows(g)]
    assert ends.count(("x", "y")) == 2 and ends.count(("x", "z")) == 2
    assert text.count('class="edge"') == len(ends) == 6


@pytest.mark.slow
def test_siblings_stand_in_order():
    for level in ("head", "op"):
        q, k, v = across(block().at(level), "Q", "K", "V")
        assert q < k < v
    assert across(attention(), "Q", "K", "V") == sorted(across(attention(), "Q", "K", "V"))
    four = block(4).at("op")
    heads = across(four, *(f"Q{i} K{i}ᵀ" for i in "₀₁₂₃"))
    assert heads == sorted(heads)


# ------------------------------------------------------------ folding


@pytest.mark.parametrize("level", ["head", "op"])
def test_more_than_four_heads_are_the_first_and_one_box(level):
    found = boxes(block(8).at(level), siblings=4)
    assert found["Heads 1–7"].note == ("same structure as head 0",)
    assert ("Heads 1–7", "concat heads", "Z₁…Z₇ 4×1 each", "bundle", None) in arrows(block(8).at(level), 4)
    labels = [cell.label for cell in next(b for b in found.values() if b.kind == "bar").cells]
    assert labels == ["V₀", "V₁…V₇"]
    assert "Heads 1–3" not in boxes(block(4).at(level), siblings=4)
    assert "Heads 1–7" in svg(block(8), level=level)


def test_a_head_that_differs_is_not_folded():
    g = Graph("odd")
    x = g.input("x", (3, 4))
    for i in range(6):
        out, _ = g.attention(x, x, x, causal=i == 3, name=f"head{i}", title=f"Head {i}")
        g.output(**{f"y{i}": out})
    found = boxes(g.at("op"), siblings=4)
    assert "4 more like Head 0" in found
    assert [box.kind for box in diagram(g.at("op"), alike(g.at("op"), 5)).boxes.values()].count("fold") == 0


def test_layers_in_a_row_are_folded_where_no_cycle_comes_of_it():
    g = Graph("stack")
    x = g.input("x", (2, 4))
    for i in range(6):
        x = g.block(x, heads=1, name=f"layer{i}")
    g.output(y=x)
    assert "layers 1–5" in boxes(g.at("op"), siblings=4)
    h = Graph("between")
    x = h.input("x", (2, 4))
    for i in range(6):
        x = h.exp(h.block(x, heads=1, name=f"layer{i}"))
    h.output(y=x)
    assert not [fold for fold in alike(h.at("op"), 4) if "layer" in fold.title]


@pytest.mark.slow
def test_too_many_nodes_are_folded_with_a_message():
    g = Graph("long")
    x = g.input("x", (2,))
    for _ in range(2100):
        x = g.add(x, 1.0)
    g.output(y=x)
    with pytest.warns(
        Folded, match="as one box for all that it computes, because it has 2,101 nodes, more than 2,000"
    ):
        text = svg(g)
    assert "2,101 operations" in text


def test_a_large_graph_is_drawn_at_a_coarser_level(monkeypatch):
    monkeypatch.setattr(picture, "LIMIT", 20)
    with pytest.warns(Folded, match="'block' is drawn at level 'head', because it has 21 nodes, more than 20"):
        text = svg(block())
    shown = " ".join(texts(text).values())
    assert "Head 1" in shown and "softmax" not in shown


def test_a_layout_that_takes_too_long_is_folded(monkeypatch):
    def slow(source, form="svg", timeout=30, dpi=0):
        if source.count("[label=<<") > 12:
            raise TooHard(f"Graphviz did not lay out the picture within {timeout:g} seconds")
        return laid_out(source, form, 30, dpi)

    monkeypatch.setattr(picture, "laid_out", slow)
    with pytest.warns(
        Folded, match="at level 'block', because Graphviz did not lay out the picture within 5 s"
    ):
        text = svg(block(), timeout=5)
    assert any("pre-LN block" in shown for shown in texts(text).values())


def test_where_nothing_helps_the_error_says_why():
    with pytest.raises(GraphError, match=r"did not lay out the picture within 0\.001 seconds"):
        svg(block(), timeout=0.001)


# ------------------------------------------------------------ hostile text, odd graphs


@pytest.mark.slow
def test_hostile_titles():
    g = Graph("hostile")
    x = g.input("x", (2, 3), ("token", "feature"))
    for number, title in enumerate(HOSTILE):
        with g.scope(f"part{number}", title=title):
            y = g.softmax(x, title=title)
            pieces = g.split(y, 3, title=title)
            w = g.parameter("w", (3, 3), axes=(title or None, None), title=title)
            g.linear(y, w, title=title)
            z = g.add(pieces[0], g.constant(1.0, title=title), title=title)
        g.output(**{f"y{number}": z})
    text = svg(g)  # checks that each node's text is there
    root = ElementTree.fromstring(text)
    assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\u2028]", text)
    tooltips = [a.get("{http://www.w3.org/1999/xlink}title", "") for a in root.iter(f"{SVG}a")]
    for title in (title for title in HOSTILE if "\\" in title):
        assert any(title in (t.text or "") for t in root.iter(f"{SVG}text"))
        assert any(title in tooltip for tooltip in tooltips)


@pytest.mark.parametrize("title", [*HOSTILE[:12:2], "back\\slash \\N \\G"])
def test_hostile_titles_of_a_graph(title):
    g = Graph("hostile", title=title)
    g.output(y=g.exp(g.input("x", (1,))))
    ElementTree.fromstring(svg(g))


def test_markup_is_shown_as_it_is():
    g = Graph("markup")
    g.output(y=g.exp(g.input("x", (2,)), name="e", title='<b>&amp; "q"'))
    shown = texts(svg(g)).values()
    assert any('<b>&amp; "q"' in text for text in shown)
    assert '&lt;b&gt;&amp;amp; "q"' in svg(g)


@pytest.mark.parametrize(
    "build",
    [
        lambda g: g.output(y=g.add(g.constant(1.0), g.constant(2.0))),
        lambda g: g.output(y=g.constant(1.0)),
        lambda g: g.input("x", ()),
        lambda g: g.parameter("w", (2,)),
        lambda g: g.output(x=g.input("x", (2, 0, 3))),
        lambda g: g.output(t=g.transpose(g.input("x", (2, 3, 4)))),
        lambda g: g.output(a=g.parameter("w", (2,))),
        lambda g: g.output(**{f"p{i}": part for i, part in enumerate(g.split(g.input("x", (40,)), 40))}),
        lambda g: g.constant(3.0),
        lambda g: None,
    ],
)
def test_odd_graphs(build):
    g = Graph("odd")
    build(g)
    ElementTree.fromstring(svg(g))


def test_a_drawn_node_without_its_text_is_an_error(monkeypatch):
    def blank(source, form="svg", timeout=30, dpi=0):
        return laid_out(source, form, timeout, dpi).replace(b"softmax</text>", b"</text>")

    monkeypatch.setattr(picture, "laid_out", blank)
    with pytest.raises(GraphError, match=r"incomplete: node 'block.attention.head0.weights' lacks 'softmax'"):
        svg(block())


# ------------------------------------------------------------ files


def test_render_writes_what_the_suffix_says(tmp_path):
    g = attention()
    assert g.render(tmp_path / "a.svg") == tmp_path / "a.svg"
    assert (
        (tmp_path / "a.svg")
        .read_text(encoding="utf-8")
        .startswith('<?xml version="1.0" encoding="UTF-8"?>\n<svg ')
    )
    render(g, str(tmp_path / "a.PNG"))
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG\r\n")
    render(g, tmp_path / "a.dot", theme="dark")
    assert (tmp_path / "a.dot").read_text(encoding="utf-8") == dot(g, "dark")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.PNG", "a.dot", "a.svg"]


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("a.gif", {}, "expected a name that ends in .svg, .png, .pdf, .dot"),
        ("a", {}, "expected a name that ends in .svg, .png, .pdf, .dot"),
        (None, {}, "path is None; expected a file name"),
        ("no/such/a.svg", {}, "was not written"),
        ("a.svg", {"level": "ops"}, "unknown level 'ops'"),
        (
            "a.svg",
            {"theme": "drak"},
            "unknown theme 'drak'; expected light, dark or print; did you mean 'dark'?",
        ),
        ("a.svg", {"timeout": 0}, "timeout is 0; expected a number of seconds above 0"),
    ],
)
def test_bad_calls_are_refused(tmp_path, monkeypatch, path, options, words):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GraphError, match=re.escape(words)):
        render(attention(), path, **options)
    assert not list(tmp_path.iterdir())


def test_what_is_no_graph_is_refused():
    with pytest.raises(GraphError, match="a picture shows a graph, got a str"):
        svg("digraph {}")  # type: ignore[arg-type]


def test_a_huge_png_is_drawn_smaller_and_says_so():
    with pytest.warns(UserWarning, match="115 dots per inch instead of 144"):
        assert picture._dpi('<svg width="200pt" height="40000pt"') == 115


# ------------------------------------------------------------ the child process


def test_a_child_that_crashes(tmp_path, monkeypatch):
    child = tmp_path / "child.py"
    child.write_text("import os; os.abort()", encoding="utf-8")
    monkeypatch.setattr(layout, "CHILD", child)
    with pytest.raises(TooHard, match="Graphviz crashed while it laid out the picture"):
        laid_out("digraph {}")


def test_a_child_that_never_ends(tmp_path, monkeypatch):
    child = tmp_path / "child.py"
    child.write_text("import time; time.sleep(60)", encoding="utf-8")
    monkeypatch.setattr(layout, "CHILD", child)
    with pytest.raises(TooHard, match=r"did not lay out the picture within 0.2 seconds"):
        laid_out("digraph {}", timeout=0.2)


def test_without_pygraphviz(monkeypatch):
    monkeypatch.setattr(layout, "find_spec", lambda name: None)
    with pytest.raises(GraphError, match="pygraphviz is not installed; expected `pip install pygraphviz`"):
        svg(attention())


def test_text_that_is_no_dot():
    with pytest.raises(GraphError, match="Graphviz did not accept the DOT text"):
        laid_out("digraph {")


def test_fontconfig_is_quiet_and_other_messages_are_not(tmp_path, monkeypatch):
    child = tmp_path / "child.py"
    child.write_text(
        "import sys; print('Fontconfig warning: x', file=sys.stderr); print('3\\nok')\n"
        "if 'png' in sys.argv: print('Warning: y', file=sys.stderr)",
        encoding="utf-8",
    )
    monkeypatch.setattr(layout, "CHILD", child)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert laid_out("digraph {}").strip() == b"ok"
    with pytest.warns(UserWarning, match="Graphviz: Warning: y"):
        laid_out("digraph {}", "png")


def test_a_png_without_fonts_says_so(tmp_path, monkeypatch):
    config = tmp_path / "fonts.conf"
    config.write_text(f"<fontconfig><dir>{tmp_path}</dir><cachedir>{tmp_path}</cachedir></fontconfig>", "utf-8")
    monkeypatch.setenv("FONTCONFIG_FILE", str(config))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        laid_out("digraph {}", "png")
    if sys.platform == "linux":  # elsewhere the system's fonts may be found without fontconfig
        assert "no fonts are installed, so a PNG has boxes for letters" in str(told[0].message)


# ------------------------------------------------------------ themes


@pytest.mark.parametrize("name", THEMES)
def test_all_text_has_contrast(name):
    low = [(where, a, b) for where, a, b in theme(name).pairs() if contrast(a, b) < 4.5]
    assert not low


@pytest.mark.parametrize("name", THEMES)
def test_surfaces_have_colours_of_their_own(name):
    colours = theme(name)
    surfaces = [colours.page, colours.end.fill, colours.other.fill, *(f.fill for f in colours.frames)]
    surfaces += [paint.fill for paint in colours.families.values()]
    assert len(surfaces) == len(set(surfaces))


def test_every_family_of_an_op_is_known():
    from graphattn.core.op import OPS

    families = {op.family for op in OPS.values()} - {"source"}
    assert families <= set(theme("light").families) == set(theme("dark").families)


def test_the_pictures_of_readme_are_current():
    """The same texts in the same boxes; their places depend on the fonts of the machine."""
    docs = Path(__file__).parent.parent.parent / "docs"
    graph = specimen("block", n=4, d=8, heads=2, causal=True).graph
    for name, colours in (("block.svg", "light"), ("block-dark.svg", "dark")):
        assert texts((docs / name).read_text(encoding="utf-8")) == texts(svg(graph, theme=colours))


# ------------------------------------------------------------ encoder and decoder, heads without names


def encoder_decoder(layers: int = 2, d: int = 4) -> Graph:
    """A stack of encoder layers, and a stack of decoder layers that read its result."""
    g = Graph("transformer")
    source = g.input("source", (3, d), ("token", "feature"))
    target = g.input("target", (5, d), ("token", "feature"))

    def weights(prefix: str):
        shapes = dict.fromkeys(("w_q", "w_k", "w_v", "w_o"), (d, d)) | {"w_in": (8, d), "w_out": (d, 8)}
        return {name: g.parameter(f"{prefix}_{name}", shape) for name, shape in shapes.items()}

    for i in range(layers):
        source = g.encoder_layer(source, heads=2, name=f"enc{i}", **weights(f"e{i}"))
    for i in range(layers):
        target = g.decoder_layer(target, source, heads=2, name=f"dec{i}", **weights(f"d{i}"))
    g.output(y=target)
    return g


def heights(graph: Graph) -> dict[str, tuple[float, float]]:
    """Left and top of each node by its name, as Graphviz lays them out."""
    plain = laid_out(dot(graph), "plain").decode("utf-8")
    at = {
        m[1]: (float(m[2]), float(m[3])) for m in re.finditer(r"^node (\S+) (\S+) (\S+) ", plain, re.MULTILINE)
    }
    return {box.name: at[ident] for ident, box in diagram(graph, alike(graph, 4)).boxes.items()}


@pytest.mark.slow
def test_an_encoder_stands_beside_its_decoder():
    graph = encoder_decoder().at("head")
    drawn = diagram(graph)
    upward = [a for a in drawn.arrows if a.upward]
    assert len(upward) == 4 and {drawn.boxes[a.tail].name for a in upward} == {"enc1.residual2"}
    assert {a.role for a in upward} == {"K", "V"}
    at = heights(graph)
    assert at["enc1.norm1"][1] > at["dec1.memory_attention.q_heads"][1]  # above it, beside decoder layer 2
    assert max(at[f"enc{i}.norm1"][0] for i in range(2)) < min(at[f"dec{i}.norm1"][0] for i in range(2))
    svg(encoder_decoder(), level="head")


def test_k_and_v_of_cross_attention_are_told_apart():
    drawn = diagram(encoder_decoder().at("head"))
    labels = {a.label for a in drawn.arrows}
    assert {"Q: norm2 5×4", "K: enc1₀ 3×2", "V: enc1₁ 3×2", "K₀ 3×2"} <= labels
    assert any(label.startswith("K: enc1 ") for label in labels)


def test_a_block_that_goes_on_from_another_stands_below_it():
    g = Graph("stack")
    x = g.input("x", (2, 4), ("token", "feature"))
    for i in range(3):
        x = g.block(x, heads=1, name=f"layer{i}")
    g.output(y=x)
    assert not any(arrow.upward for arrow in diagram(g.at("op")).arrows)
    h = Graph("both")  # a decoder that goes on from the encoder whose result it reads too
    s = h.block(h.input("s", (3, 4)), heads=1, name="enc")
    d = h.block(s, heads=1, name="mid")
    h.output(y=h.decoder_layer(d, s, heads=1, name="dec", **{
        name: h.parameter(name, shape) for name, shape in {
            "w_q": (4, 4), "w_k": (4, 4), "w_v": (4, 4), "w_o": (4, 4), "w_in": (8, 4), "w_out": (4, 8),
        }.items()
    }))  # fmt: skip
    assert not any(arrow.upward for arrow in diagram(h.at("op")).arrows)


def test_the_label_of_a_long_arrow_stands_at_its_head():
    graph = block().at("op")
    far = [arrow.label for arrow in diagram(graph).arrows if arrow.far]
    assert far == ["V₀ 4×4", "V₁ 4×4"]
    assert dot(graph).count("headlabel=") == 2
    root = ElementTree.fromstring(svg(block()))
    at = {t.text.strip(): float(t.get("y")) for t in root.iter(f"{SVG}text") if (t.text or "").strip()}
    assert abs(at["V₀ 4×4"] - at["A₀ 4×4"]) < 25  # where the two meet


@pytest.mark.parametrize("level", ["head", "op"])
def test_arrows_that_cross_below_a_split_have_no_labels(level):
    """Their names stand in its cells, their shape in the bar; of two, each has its label."""
    four, two = (diagram(block(heads).at(level)) for heads in (4, 2))
    crossing = [a for a in four.arrows if four.boxes[a.tail].kind == "bar" and not a.far]
    assert len(crossing) == (8 if level == "op" else 12) and not any(a.label for a in crossing)
    bars = [box for box in four.boxes.values() if box.kind == "bar"]
    assert [box.title for box in bars] == [("split", "4×2")] * 3
    assert {cell.label for box in bars for cell in box.cells} >= {"Q₀", "K₂", "V₃"}
    assert "K₁ 4×4" in [a.label for a in two.arrows]


def test_heads_without_names_are_numbered():
    g = Graph("heads")
    x = g.input("x", (4, 8), ("token", "feature"))
    a, _ = g.attention(x, x, x)
    y = g.layernorm(x)
    b, _ = g.attention(y, y, y)
    g.output(z=g.add(a, b))
    assert {"attention 1", "attention 2"} <= set(boxes(g.at("head")))
    titles = [" ".join(frame.title) for frame in diagram(g.at("op")).frames.values()]
    assert titles == ["attention 1", "attention 2"]
    assert [" ".join(frame.title) for frame in diagram(attention().at("op")).frames.values()] == []


def test_labels_of_frames_move_out_of_the_way():
    """No arrow runs through a label where one of three sides is free."""

    def frame(x: float, label: str = "label") -> str:
        return (
            '<svg xmlns="http://www.w3.org/2000/svg"><g class="cluster"><title>c1</title>'
            '<path d="M0,0C0,0 0,-100 0,-100 0,-100 300,-100 300,-100 300,-100 300,0 300,0"/>'
            '<text x="8" y="-10" font-size="12">'
            f"{label}</text></g>"
            f'<g class="edge"><path d="M{x},-60C{x},-40 {x},-20 {x},20"/></g></svg>'
        )  # fmt: skip

    long = "a label of half the frame"
    wide = text_width(long, 12)
    assert 150 - 8 < wide < 150 + 20  # beside an arrow in the middle there is no room for it
    assert struck_labels(frame(150, long)) == {"c1": f"l bare {math.ceil(wide + 12 - 150)}"}
    assert struck_labels(frame(155, long)) == {"c1": f"l bare {math.ceil(wide + 12 - 155)}"}
    assert struck_labels(frame(150, 2 * long)) == {"c1": "l bare"}
    assert struck_labels(frame(20)) == {"c1": "r"}
    assert struck_labels(frame(150)) == {} and struck_labels(frame(290)) == {}
    both = frame(20).replace("</svg>", frame(285)[frame(285).index('<g class="edge">') :])
    assert struck_labels(both) == {"c1": "c"}
    three = both.replace("</svg>", frame(150)[frame(150).index('<g class="edge">') :])
    room = math.ceil(text_width("label", 12) + 12 - 20)
    assert struck_labels(three) == {"c1": f"l bare {room}"}
    note = f'<text x="50" y="-10" font-size="9">{"note " * 40}</text>'
    wide = frame(100).replace("</text>", f"</text>{note}")
    bold = wide.replace('font-size="12"', 'font-size="12" font-weight="bold"', 1)
    assert struck_labels(bold) == {"c1": "l bare"}  # its title alone has room
    assert struck_labels(bold.replace("100", "30")) == {"c1": "r bare"}


@pytest.mark.slow
def test_no_label_of_an_arrow_stands_on_another():
    """Of a far arrow it stands in the middle, where there is no room for it at its head."""

    def edges(*places: tuple[float, float]) -> str:
        drawn = (
            f'<g class="edge" id="g-e{number}"><text x="{x}" y="{y}" font-size="9"> V 4×4 </text></g>'
            for number, (x, y) in enumerate(places)
        )
        return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>'

    assert covered_labels(edges((0, 0), (20, 5), (200, 0))) == {"e0", "e1"}
    assert covered_labels(edges((0, 0), (40, 0), (0, 12))) == set()
    graph = specimen("multi-head", n=4, d=8, heads=2, causal=True).graph
    crowded = laid_out(dot(graph.at("primitive")), "svg").decode("utf-8")
    assert covered_labels(crowded) and not covered_labels(svg(graph, level="primitive"))


def test_values_are_projected_beside_queries_and_keys():
    """Though nothing but the last product needs V, it does not sink to the heads that use it."""
    folder = Path(__file__).parents[1] / "data" / "models" / "llama"
    graph = pretrained(folder, ids=[1, 2, 3], layers=1).graph.at("op")
    at = heights(graph)
    rows = {at[f"layer0.attention.{part}"][1] for part in "qkv"}
    assert max(rows) - min(rows) < 0.1


def test_every_glyph_is_in_a_font_that_is_common():
    """Arrows, mathematics, shapes and letters: blocks that DejaVu, Segoe UI Symbol and Apple Symbols have."""
    from graphattn.core.op import OPS

    common = [
        (0x20, 0x24F), (0x2B0, 0x3FF), (0x1D2C, 0x1D6A), (0x2010, 0x22FF), (0x2300, 0x2311), (0x2580, 0x27BF),
        (0x27F0, 0x27FF),
    ]  # fmt: skip
    for op in OPS.values():
        for letter in op.glyph:
            assert any(first <= ord(letter) <= last for first, last in common), f"{op.name}: {letter!r}"


@pytest.mark.parametrize("suffix", [".png", ".pdf"])
def test_one_layout_for_a_png_and_a_pdf(suffix, tmp_path, monkeypatch):
    asked = []

    def counted(forms, source, *more, **named):
        asked.append(forms)
        return laid_out_as(forms, source, *more, **named)

    monkeypatch.setattr(picture, "laid_out_as", counted)
    monkeypatch.setattr(picture, "laid_out", lambda *_, **__: pytest.fail("another layout"))
    render(attention(), tmp_path / f"a{suffix}")
    assert asked == [["svg", suffix[1:]]]


def test_a_png_beyond_the_bounds_is_drawn_again_with_fewer_dots(tmp_path, monkeypatch):
    monkeypatch.setattr(layout, "SIDE", 400)
    with pytest.warns(UserWarning, match=r"the PNG is drawn at \d+ dots per inch instead of 144"):
        g = attention()
        g.title = "a long title " * 60  # stands in front of the size
        render(g, tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    width, height = (int.from_bytes(data[at : at + 4], "big") for at in (16, 20))
    assert 300 < max(width, height) <= 404


def test_no_time_limit():
    assert laid_out("digraph {}", timeout=float("inf")).startswith(b"<?xml")
