"""Markdown: a golden file, and free text that tries to be more than text, as a Markdown parser reads it."""

import html
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from graphattn import Graph, GraphError, run
from graphattn.dumps.graph_text import parse_graph
from graphattn.dumps.markdown import cell, code, graph_markdown, grid, prose, trace_markdown

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
NASTY = [
    "a|b", "|", "||", "\\|", "a\\", "`", "``", "`a", "a`b", " ", "", "<b>", "<script>a</script>", "&amp;",
    "&", "*a*", "_a_", "**a**", "[a](http://x.y)", "![a](b)", "http://x.y", "www.x.y", "a@b.c", "@you", "#1",
    "# a", "- a", "+ a", "1. a", "1)", "> a", "---", "===", "| a | b |", "~~a~~", "$x$", ":smile:", "a\nb",
    "\r\n", "a\u2028b", "\u202e", "고양이", "猫 が", "e\u0301", "…", "·", "\0", "\ud800", "😀", "    a", "\ta",
    "[^1]", "[a]: http://x.y", "<!--", "a  \nb", "==a==", ": a", "%", "a" * 40,
]  # fmt: skip
UNSEEN = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\ud800-\udfff]")
WORDS = {"text", "text_special", "code_inline"}
TEXTS = st.one_of(st.text(max_size=8), st.text("|`\\<&*_[]() a", max_size=8), st.sampled_from(NASTY))


def tokens(text):
    return PARSER.parse(text)


def sample(
    labels=("the", "cat", "sat"), title="pre-LN self-attention: X + multi_head(LN(X)), causal", axis="token"
):
    g = Graph("block", title)
    x = g.input("X", (3, 4), (axis, "feature"))
    g.output(Y=g.block(x, heads=2, causal=True, name="block", title=title))
    rows = [[0.5, -1.0, 0.25, 0.75], [1.5, 0.0, -0.5, -1.0], [-0.75, 1.25, 1.0, 0.5]]
    return run(g, {"X": rows}, labels={axis: list(labels)})


def text_of(token):
    """What a reader sees of an inline token; anything but words and code is told."""
    seen = []
    for child in token.children or ():
        if child.type in ("text", "text_special", "code_inline"):
            seen.append(child.content)
        elif child.type not in ("strong_open", "strong_close"):
            seen.append(f"!!{child.type}!!")
    return "".join(seen)


def tables(text):
    """Every table as rows of cells."""
    found, row = [], None
    inside = False
    for token in tokens(text):
        if token.type == "table_open":
            found.append([])
        elif token.type == "tr_open":
            row = []
            found[-1].append(row)
        elif token.type in ("td_open", "th_open"):
            inside = True
        elif token.type in ("td_close", "th_close"):
            inside = False
        elif token.type == "inline" and inside:
            row.append(text_of(token))
    return found


def skeleton(text):
    """The blocks of a document without their words."""
    return [(token.type, token.tag) for token in tokens(text)]


def test_golden(golden):
    golden("block-trace.md", trace_markdown(sample()))
    golden("block-graph.md", graph_markdown(sample().graph))


def test_headings_follow_the_scopes():
    lines = trace_markdown(sample()).splitlines()
    assert [line for line in lines if line.startswith("#")][:5] == [
        "# graphattn trace `block`",
        "## `X`",
        "## `block` = `block(X, heads=2, causal=True, eps=1e-05)`",
        "### `block.norm`",
        "### `block.attention` = `multi_head(block.norm, block.norm, block.norm, heads=2, causal=True)`",
    ]
    assert "#### `block.attention.concat`" in lines and "### `block.residual`" in lines
    assert sum(line.startswith("## `block`") for line in lines) == 1


def test_a_scope_that_is_left_and_entered_again():
    g = parse_graph(
        'graphattn graph 1\ngraph g\n\nx = input(shape=(2,))\nscope part(title="a *part*")\n    y = relu(x)\n'
        "z = relu(part.y)\nagain part\n    w = relu(z)\nend\n"
    )
    text = trace_markdown(run(g, {"x": [1, 2]}))
    heads = [line for line in text.splitlines() if line.startswith("#")]
    assert heads[2:] == ["## `part`", "### `part.y`", "## `z`", "## `part` (continued)", "### `part.w`"]
    assert text.count("\na \\*part\\*\n") == 1
    heads = [line for line in graph_markdown(g).splitlines() if line.startswith("#")]
    assert heads == ["# graphattn graph `g`", "## `part`", "## Outside the scopes", "## `part` (continued)"]


def test_masked_cells_facts_and_labels():
    text = trace_markdown(sample(), only="head0.weights")
    assert text.endswith(
        "\n##### `block.attention.head0.weights`\n\n"
        "`softmax(block.attention.head0.masked)` — token 3 × token 3 — "
        "`exp(x − max) / Σ exp(x − max), each row`\n\n"
        "|     |    the |    cat |    sat |\n"
        "| :-- | -----: | -----: | -----: |\n"
        "| the | 1.0000 |      · |      · |\n"
        "| cat | 0.2339 | 0.7661 |      · |\n"
        "| sat | 0.0130 | 0.0123 | 0.9747 |\n\n"
        "rows sum to 1 — largest 1.0000 at \\[the, the\\] — · = masked\n"
    )
    assert "| only   | `head0.weights` |" in text


def test_elision_slices_scalars_and_nothing():
    g = Graph("shapes")
    g.input("long", (20, 2))
    g.input("cube", (2, 1, 2), ("head", None, None))
    g.input("one", ())
    g.input("none", (0, 3))
    g.input("row", (2,), kind="bool")
    feeds = {"long": [[i, -i] for i in range(20)], "cube": [[[1, 2]], [[3, 4]]], "one": -0.0, "none": []}
    trace = run(g, {**feeds, "row": [True, False]}, labels={"head": ["a", "b|"]})
    text = trace_markdown(trace, decimals=1, limit=4)
    assert "| …   |    … |     … |\n| 18  | 18.0 | -18.0 |" in text
    assert "4 of 20 rows shown — smallest -19.0 at \\[19, 1\\]" in text
    assert "| `[a]` |   0 |   1 |\n| :---- | --: | --: |\n| 0     | 1.0 | 2.0 |" in text
    assert [table[0][0] for table in tables(text)][2:4] == ["[a]", "[b|]"]
    assert "\n`0.0`\n" in text and "\n(no cells)\n" in text
    assert "|    0 |     1 |\n| ---: | ----: |\n| True | False |" in text


def test_warnings_and_what_was_not_kept():
    g = Graph("g")
    x = g.input("x", (1, 2))
    g.softmax(g.mask(x, g.constant([[False, False]])), name="y")
    text = trace_markdown(run(g, {"x": [[1, 2]]}, keep=["y"]))
    assert "\nnot kept\n" in text
    text = trace_markdown(run(g, {"x": [[1, 2]]}))
    assert "\n> **Warning:** " in text and "all its weights are 0" in text


def test_other_numbers():
    g = Graph("g")
    g.divide(g.input("x", (2,)), g.constant(3), name="y")
    assert "| 1/3 | 2/3 |" in trace_markdown(run(g, {"x": [1, 2]}, numbers="fraction"))


@pytest.mark.parametrize(("options", "told"), [
    ({"decimals": -1}, "decimals is -1; expected an int from 0 to 17"),
    ({"limit": 1}, "limit is 1; expected an int from 2 to 1000000000"),
    ({"only": "wieghts"}, "graph 'block' has no tensor 'wieghts'"),
])  # fmt: skip
def test_refused(options, told):
    with pytest.raises(GraphError) as error:
        trace_markdown(sample(), **options)
    assert str(error.value).startswith(told)


# ---------------------------------------------------------------- text that would be more than text


def assert_code_is_read_word_for_word(text):
    for document in (f"a {code(text)} b", f"# {code(text)}", f"> {code(text)}"):
        inlines = [token for token in tokens(document) if token.type == "inline"]
        assert len(inlines) <= 1 and {child.type for token in inlines for child in token.children} <= WORDS
        if text.isprintable() and text.strip(" ") and inlines:
            assert text in text_of(inlines[0])
    assert "|" not in code(text) and not UNSEEN.search(code(text))


def assert_prose_is_one_paragraph_of_words(text):
    document = tokens(f"{prose(text)}\n\nend\n")
    assert {token.type for token in document} == {"paragraph_open", "inline", "paragraph_close"}
    *first, _ = (token for token in document if token.type == "inline")
    assert len(first) == bool(text.strip() if text.isprintable() else text)
    for token in first:
        assert {child.type for child in token.children} <= WORDS
        if text.isprintable():
            assert text_of(token).split() == text.split()
    assert "|" not in prose(text) and not UNSEEN.search(prose(text))


@given(TEXTS)
def test_any_text(text):
    assert_code_is_read_word_for_word(text)
    assert_prose_is_one_paragraph_of_words(text)


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text(text):
    for around in (text, f"{text} a", f"a {text}", f"a{text}", f"{text}a", f"{text}{text}"):
        assert_code_is_read_word_for_word(around)
        assert_prose_is_one_paragraph_of_words(around)


@pytest.mark.parametrize("text", ["@you", "a@b.c", "#12", "www.x.y", "http://x.y", "$x$", ":smile:"])
def test_what_a_page_would_link_is_code(text):
    assert prose(f"see {text} here") == f"see `{text}` here"


@given(st.lists(TEXTS, min_size=4, max_size=4))
@example(["|", "\\|", "`", "a\nb"])
def test_a_grid_keeps_its_cells(texts):
    (table,) = tables(
        grid([code("x|"), cell("y")], [[code(f"{t}.") for t in texts[:2]], list(map(prose, texts[2:]))])
    )
    assert [len(row) for row in table] == [2, 2, 2] and table[0] == ["x|", "y"]
    for row, wanted in zip(table[1:], (texts[:2], texts[2:]), strict=True):
        for got, text in zip(row, wanted, strict=True):
            if text.isprintable():
                assert got.rstrip(".").split() == text.rstrip(".").split()


@pytest.mark.slow
@settings(max_examples=15)
@given(st.lists(TEXTS, min_size=3, max_size=3), TEXTS, TEXTS)
@example(["|", "`", "<b>"], "](x)\n\n# no", "a|b")
@example(["\u2028", "고양이", "&lt;"], "<img src=x>", "```")
def test_no_text_changes_the_document(labels, title, axis):
    usual = sample(title="title", axis="token")
    title = title.replace("\ud800", "?") if title.strip() else "?"
    trace = sample(labels, title, axis or "?")
    for write, of in ((trace_markdown, lambda trace: trace), (graph_markdown, lambda trace: trace.graph)):
        got, text = skeleton(write(of(trace))), write(of(trace))
        assert got == skeleton(write(of(usual)))
        assert not any(child.type in ("html_inline", "link_open", "image", "softbreak", "hardbreak")
                       for token in tokens(text) for child in token.children or ())  # fmt: skip
        assert all(len({len(row) for row in table}) == 1 for table in tables(text))
        assert len(text.splitlines()) == text.count("\n")


def test_labels_arrive_as_they_are():
    (table,) = tables(trace_markdown(sample(["a|b", "<i>&amp;", "고양이"]), only="head0.scores"))[1:]
    assert table[0] == ["", "a|b", "<i>&amp;", "고양이"] and [row[0] for row in table[1:]] == table[0][1:]
    assert html.escape("<i>") in PARSER.render(trace_markdown(sample(["<i>", "b", "c"])))
