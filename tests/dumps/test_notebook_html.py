"""What notebooks show: real tables, folded by scope, without a script, on light and dark pages."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from graphattn import Graph, compare, diagnose, run
from graphattn.builtin import specimen
from graphattn.dumps import notebook
from graphattn.dumps.colour import contrast
from graphattn.dumps.notebook import TINT, TINTS, outline_html, step_html, table_html, trace_html
from graphattn.passes.cost import cost

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\u202eabc",
    "a\x00\x1b[31mb",
    "&amp;",
]


def block():
    made = specimen("block", n=4, d=8, heads=2, causal=True)
    return made.graph.run(made.feeds, labels={"token": ["the", "cat", "sat", "down"]})


def parsed(html: str) -> ElementTree.Element:
    """The HTML as a tree: it is well-formed, and without what runs or loads."""
    root = ElementTree.fromstring(re.sub(r"<details open>", '<details open="open">', html))
    known = "div p b i code details summary table thead tbody tfoot tr th td ul li pre".split()  # noqa: SIM905
    assert {element.tag for element in root.iter()} <= set(known)
    assert {name for element in root.iter() for name in element.attrib} <= {"style", "open", "scope"}
    assert "url(" not in " ".join(element.get("style", "") for element in root.iter())
    return root


def test_a_trace_is_tables_folded_by_scope():
    trace = block()
    root = parsed(trace._repr_html_())
    text = "".join(root.itertext())
    assert "29 steps, 32 tensors" in text
    scopes = [s for d in root.iter("details") for s in d.findall("summary") if s.find("b") is not None]
    assert [s.findtext("b") for s in scopes] == ["Multi-head self-attention", "Head 0", "Head 1"]
    heads = [d for d in root.iter("details") if d.findtext("summary/b") == "Head 0"]
    (weights,) = [
        d for d in heads[0].iter("details") if "head0.weights =" in (d.findtext("summary/code") or "")
    ]
    table = weights.find("table")
    assert [th.text for th in table.findall("thead/tr/th")] == [None, "the", "cat", "sat", "down"]
    rows = [[cell.text for cell in tr] for tr in table.findall("tbody/tr")]
    assert rows[0] == ["the", "1.0000", "·", "·", "·"]
    assert rows[3] == ["down", *(f"{w:.4f}" for w in trace["head0.weights"][3])]
    assert "rows sum to 1" in "".join(weights.itertext())


def test_a_diagnosis_is_its_report_and_short_where_there_is_a_line():
    made = specimen("attention", n=2, d=2, causal=True)
    right = made.run()
    found = diagnose(made.graph, made.feeds, {"out": right["out"]})
    assert "".join(parsed(found._repr_html_()).itertext()) == str(found)
    assert repr(found).startswith("<diagnosis: right: yours is what") and "\n" not in repr(found)


def test_cells_of_tables_do_not_touch():
    root = parsed(table_html(["a", "b"], [["1", "2"]], numbers={1}))
    assert all("padding:1px 6px" in cell.get("style") for cell in [*root.iter("th"), *root.iter("td")])


def test_what_comes_out_is_open_and_the_rest_is_folded():
    root = parsed(trace_html(block()))
    opened = [d.findtext("summary/code") for d in root.iter("details") if d.get("open")]
    assert len(opened) == 1 and opened[0].startswith("residual = ")


def test_a_step_is_open():
    trace = block()
    root = parsed(trace.step("head0.masked")._repr_html_())
    (details,) = root.findall("details")
    assert details.get("open") and len(root.findall(".//table")) == 1
    assert step_html(trace.step("head0.masked")) == trace.step("head0.masked")._repr_html_()


def test_the_same_trace_gives_the_same_html():
    assert block()._repr_html_() == block()._repr_html_()


def test_every_rank_and_what_was_not_kept():
    g = Graph("ranks")
    x = g.input("x", (2, 3, 20), ("head", "token", "feature"))
    y = g.negate(x)
    g.output(s=g.reduce_sum(g.reduce_sum(g.reduce_sum(y))))
    feed = [[[1.0] * 20] * 3] * 2
    html = run(g, {"x": feed})._repr_html_()
    parsed(html)
    assert "[1]" in html and "12 of 20 columns shown" in html and "…" in html
    assert "not kept" in run(g, {"x": feed}, keep=["s"])._repr_html_()
    empty = Graph("empty")
    empty.output(y=empty.negate(empty.input("x", (2, 0))))
    assert "(no cells)" in run(empty, {"x": [[], []]})._repr_html_()


def test_a_long_trace_says_what_it_leaves_out(monkeypatch):
    monkeypatch.setattr(notebook, "STEPS", 5)
    html = block()._repr_html_()
    parsed(html)
    assert "… and 24 more steps" in html


@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_text_is_text(label):
    g = Graph("hostile", title=label)
    x = g.input("x", (2, 2), ("token", "token"))
    with g.scope("part", title=label):
        y = g.softmax(x, name="w", title=label)
    g.output(y=y)
    trace = run(g, {"x": [[0.0, 1.0]] * 2}, labels={"token": [label, "b"]})
    html = trace._repr_html_()
    parsed(html)
    assert not re.search(r"[\x00-\x08\x1b\u202e]", html)
    parsed(trace.why("w", 0, 1)._repr_html_())
    parsed(table_html([label], [[label]]))
    assert "<script" not in g._repr_html_() and "<img" not in g._repr_html_()


def _over(tint: tuple[int, int, int], page: str) -> str:
    """A translucent colour, at its strongest, over a page."""
    under = [int(page[at : at + 2], 16) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(TINT * a + (1 - TINT) * b):02X}" for a, b in zip(tint, under, strict=True))


@pytest.mark.parametrize("tint", TINTS.values(), ids=list(TINTS))
@pytest.mark.parametrize(
    ("page", "ink"),
    [("#FFFFFF", "#000000"), ("#FFFFFF", "#333333"), ("#111111", "#E0E0E0"), ("#1E1E1E", "#FFFFFF")],
)
def test_tinted_cells_read_on_light_and_dark_pages(tint, page, ink):
    assert contrast(ink, _over(tint, page)) >= 4.5


@pytest.mark.slow
def test_a_graph_a_why_a_comparison_and_costs():
    trace = block()
    graph = trace.graph
    html = graph._repr_html_()
    assert "<svg" in html and "<table" in html and "head0.weights" in html and "<script" not in html
    why = parsed(trace.why("head0.weights", 3, 1, depth=2)._repr_html_())
    assert "softmax over row" in "".join(why.itertext()) and len(list(why.iter("li"))) >= 4
    assert all(child.tag == "li" for ul in why.iter("ul") for child in ul)
    patched = run(
        graph, specimen("block", n=4, d=8, heads=2, causal=True).feeds, patch={"residual": [[0.0] * 8] * 4}
    )
    found = parsed(compare(trace, {"residual": patched["residual"]})._repr_html_())
    assert "differs" in [td.text for td in found.iter("td")] and found.find("details/pre") is not None
    costs = cost(graph)
    table = parsed(costs._repr_html_())
    assert table.findtext("tfoot/tr/th") == "total" and f"{costs.flops:,}" in "".join(table.itertext())


def test_outlines_nest():
    html = outline_html("t", [(0, "a", ""), (2, "b", "n"), (1, "c", ""), (0, "d", "")])
    root = parsed(html)
    assert [li.findtext("code") for li in root.iter("li")] == ["a", None, "b", "c", "d"]


def test_a_graph_without_graphviz_is_a_table(monkeypatch):
    from graphattn.dumps import layout

    monkeypatch.setattr(layout, "find_spec", lambda name: None)
    html = block().graph._repr_html_()
    assert "pygraphviz is not installed" in html and "<table" in html
