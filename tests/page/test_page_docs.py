"""docs/page.md: its examples run, its links and pictures are there; and what a page refuses."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest
from colour_vision import DEFICIENCIES, apart, seen
from conftest import run_of

from graphattn import GraphError
from graphattn.builtin import specimen
from graphattn.dumps.page import page, write_page
from graphattn.dumps.theme import theme

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROOM = DOCS.parent / "dumps" / "page"
TEXT = (DOCS / "page.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = io.StringIO()
    code = "\n".join(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL))
    with contextlib.redirect_stdout(out):
        exec(compile(code, "docs/page.md", "exec"), {})
    (shown,) = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
    assert out.getvalue() == shown
    assert {path.name for path in tmp_path.iterdir()} == {"block.html", "two.html"}


@pytest.mark.slow
def test_the_command_works(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for command in re.findall(r"^\$ graphattn (.*)$", TEXT, re.MULTILINE):
        status, out, err = cli(*command.split())
        assert (status, out, err) == (0, "", "wrote toy.html\n")


def test_links_and_pictures_are_there():
    for target in re.findall(r"\]\(([^)#]+?)\)", TEXT):
        assert target.startswith("https://") or (DOCS / target).is_file(), target
    assert sum(path.stat().st_size for path in DOCS.glob("page-*.png")) < 400_000


@pytest.mark.slow
def test_a_page_is_the_same_each_time():
    assert page(run_of("block")) == page(run_of("block"))


@pytest.mark.slow
def test_sizes():
    """The page of a block, of the toy model; script and style together."""
    from graphattn.dumps.page import _resource
    from graphattn.dumps.page.pack import packed_text
    from graphattn.dumps.page.style import theme_css

    script = len(packed_text(_resource("page.js"))) + len(_resource("loader.js"))
    assert script + len(packed_text(theme_css() + _resource("page.css"))) <= 64_000
    assert len(page(run_of("block")).encode()) <= 80_000
    assert len(page(run_of("toy")).encode()) <= 260_000


@pytest.mark.slow
def test_a_large_page_says_what_it_leaves_out(monkeypatch):
    import graphattn.dumps.page as room

    large = specimen("block", n=64, d=64, heads=4, causal=True).run()
    assert len(page(large).encode()) <= 1_100_000
    monkeypatch.setattr(room, "LARGEST", 300_000)
    assert len(page(large).encode()) <= 460_000
    from graphattn.dumps.page.contents import contents

    (note,) = contents(large, most=100_000).document["notes"]
    assert note.startswith("with all numbers in it the page would be too large; these are computed by the page")
    first, second = contents(large, most=12_000).document["notes"]
    assert "these are left out: X, w_q" in first and "are computed by the page itself" in second


def test_what_is_refused(tmp_path):
    block, other = run_of("block"), run_of("attention")
    for words, act in (
        ("a page shows a trace, got an int", lambda: page(3)),  # type: ignore[arg-type]
        (
            "unknown theme 'darc'; expected auto, light, dark; did you mean 'dark'?",
            lambda: page(block, theme="darc"),
        ),
        ("the two traces are of different graphs, 'block' and 'attention'", lambda: page(block, other)),
        ("a page is held against a trace, got a str", lambda: page(block, "x")),  # type: ignore[arg-type]
        ("height is 3; expected a number of pixels", lambda: block.show(height=3)),
        ("was not written", lambda: write_page(tmp_path / "no" / "x.html", other)),
    ):
        with pytest.raises(GraphError, match=re.escape(words)):
            act()


def test_the_command_refuses(cli):
    told = "graphattn: 'x.txt' is no name of a page; expected one that ends in .html\n"
    assert cli("view", "block", "-o", "x.txt") == (2, "", told)
    Path("block.html").write_text("mine", encoding="utf-8")
    told = "graphattn: 'block.html' is there already; expected -o FILE.html\n"
    assert cli("view", "block") == (2, "", told)
    assert Path("block.html").read_text(encoding="utf-8") == "mine"


@pytest.mark.slow
def test_a_partial_run_shows_what_it_has():
    trace = specimen("block", causal=True).run(keep=["*.weights"])
    document = page(trace)
    assert "graphattn trace 1" in document
    targets = specimen("block", causal=True).run(targets=["norm"])
    assert "graphattn trace 1" in page(targets)


@pytest.mark.parametrize("deficiency", DEFICIENCIES)
@pytest.mark.parametrize("dark", [False, True])
def test_signs_can_be_told_apart_with_each_kind_of_colour_vision(dark, deficiency):
    """The page's deepest tints above and below 0, of shares and of hidden cells; and what is lit."""
    text = (ROOM / "page.css").read_text(encoding="utf-8")
    pairs = re.findall(r"--([\w-]+): ?light-dark\((#\w+), ?(#\w+)\)", text)
    found = {name: pair[dark] for name, *pair in pairs}
    assert {"plus", "minus", "share", "masked", "hatch", "lit"} <= found.keys()
    deep = int(re.search(r"--deep: ?(\d+)%", text)[1]) / 100
    paper = theme("dark" if dark else "light").page
    plus, minus = (seen(mixed(paper, found[sign], deep), deficiency) for sign in ("plus", "minus"))
    zero = seen(paper, deficiency)
    assert min(apart(plus, minus), apart(plus, zero), apart(minus, zero)) > 0.08
    assert apart(seen(found["masked"], deficiency), seen(found["hatch"], deficiency)) > 0.1


def mixed(a: str, b: str, share: float) -> str:
    """As `color-mix(in srgb, …)` mixes."""
    cells = ((int(a[i : i + 2], 16), int(b[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{round(x + (y - x) * share):02X}" for x, y in cells)
