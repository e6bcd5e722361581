"""The page: nothing given away, everything in its place, one A4 side; the same as Markdown."""

from __future__ import annotations

import re
import shutil
from functools import cache
from itertools import combinations, pairwise

import pytest
from filled_sheets import WORDS, attention

from graphattn import Graph, GraphError, gradient
from graphattn.builtin import specimen
from graphattn.cli import main
from graphattn.core import nested
from graphattn.core.op import OPS
from graphattn.dumps.letters import text_width
from graphattn.dumps.worksheet.layout import (
    BOTTOM,
    LABEL,
    MARGIN,
    READABLE,
    WIDTH,
    Arrow,
    Grid,
    Words,
    pages,
)
from graphattn.dumps.worksheet.markdown import markdown
from graphattn.dumps.worksheet.page import ANSWER, page
from graphattn.dumps.worksheet.sheet import Box, Sheet, Square, Step
from graphattn.worksheet import worksheet
from graphattn.worksheet.contents import written


def _sheets():
    yield attention(labels=WORDS)
    yield attention(n=4)
    for n, causal in ((3, True), (3, False), (4, False)):  # wider than the paper where both steps share a panel
        yield worksheet(specimen("attention", n=n, d=4, causal=causal).graph, ["weights", "out"], seed=4)
    graph = Graph("norm")
    graph.output(Y=graph.layernorm(graph.input("X", (3, 4), ("token", "feature")), name="Y"))
    yield worksheet(graph, seed=3)
    yield worksheet(gradient(graph, of="Y"), ["backward.*"], seed=3)
    yield worksheet(gradient(specimen("attention", n=3, d=4).graph, of="out"), ["backward.d_*"], seed=3)
    yield worksheet(specimen("block", n=3, d=4, heads=1, projections=False).graph, seed=3)


@cache
def sheets():
    """Those above, made once, by the first test that reads one."""
    return list(_sheets())


def squares(contents):
    for step in contents.steps:
        for box in (*step.parts, step.result):
            yield from (square for row in box.squares for square in row)


@pytest.mark.slow
def test_the_blank_page_gives_nothing_away_and_the_solution_everything():
    for sheet in sheets():
        assert ANSWER not in sheet.html
        count = sum(square.kind == "blank" for square in squares(sheet.contents))
        assert sheet.solution.count(f'fill="{ANSWER}"') >= count > 0
        assert (
            sheet.markdown.count("____")
            == count
            == len(re.findall(r"\| \*\*[^|]+\*\* (?=\|)", _answers(sheet)))
        )


def _answers(sheet):
    """The rows of the solution's tables, without those that name a box."""
    text = re.sub(r"^\| \*\*[^|]+\*\* \|.*\n\| ---.*$", "", sheet.solution_markdown, flags=re.M)
    return re.sub(r" \| (?=\*\*)", " | | ", text)


@pytest.mark.slow
def test_the_solution_is_the_trace():
    for sheet in sheets():
        results = {step.result.name: step.result for step in sheet.contents.steps}
        tables = [table for table in sheet.tables if table.operands is not None]
        assert len(results) == len(tables)
        for box, table in zip(results.values(), tables, strict=True):
            shown = [square.text for row in box.squares for square in row if square.kind != "hidden"]
            mask = nested.flat(table.tensor.mask) if table.tensor.mask else [False] * table.spec.size
            cells = nested.flat(sheet.trace[table.tensor.name])
            assert shown == [written(c) for c, hidden in zip(cells, mask, strict=True) if not hidden]


def test_sums_to_check_by_are_right():
    sheet = attention(labels=WORDS)
    told = dict(sheet.contents.checks)
    assert told["each row of weights adds up to"] == "1"
    assert told["all 12 boxes of out add up to"] == written(sum(nested.flat(sheet.trace["out"])))


def test_the_question_has_one_answer():
    asked = [attention(seed=seed, labels=WORDS) for seed in range(1, 14)]
    for sheet in asked:
        who = re.search("“(.*)”", sheet.contents.question).group(1)
        row = sheet.trace["weights"][WORDS["token"].index(who)]
        assert row.count(max(row)) == 1, (who, row)
    assert any("“cat”" in sheet.contents.question for sheet in asked)
    graph = Graph("even")
    graph.output(A=graph.softmax(graph.input("X", (2, 2)), name="A"))
    even = worksheet(graph, feeds={"X": [[1, 1], [2, 2]]})
    assert "which boxes of A are the largest" in even.contents.question


@pytest.mark.slow
def test_everything_is_on_the_paper_and_no_box_on_another():
    for sheet in sheets():
        for side in pages(sheet.contents):
            grids = [item for item in side.items if isinstance(item, Grid)]
            for grid in grids:
                assert grid.x >= 0 and grid.x + grid.width <= WIDTH - MARGIN / 2
                assert grid.y + grid.height <= BOTTOM + 1
            for i, a in enumerate(grids):
                for b in grids[:i]:
                    apart = a.x + a.width <= b.x or b.x + b.width <= a.x
                    assert apart or a.y + a.height <= b.y or b.y + b.height <= a.y, (a.box.name, b.box.name)
            texts = [item for item in side.items if isinstance(item, Words)]
            assert all(0 <= words.x <= WIDTH - MARGIN / 2 for words in texts)
            assert all(words.size >= LABEL for words in texts), "too small to read"
            for words in (w for w in texts if w.role == "name"):
                wide = text_width(words.text, words.size, bold=True)
                struck = [b for b in grids if b.y < words.y and words.y - 8 < b.y + b.height]
                assert all(words.x + wide <= b.x or b.x + b.width <= words.x for b in struck), words.text


@pytest.mark.parametrize("words", ["students attend lectures", "interdisciplinary cat sat", "W" * 30 + " a b"])
def test_no_text_runs_into_another(words):
    graph = specimen("attention", n=3, d=4, causal=True).graph
    sheet = worksheet(graph, seed=2, labels={"token": words.split()})
    for side in pages(sheet.contents):
        texts = [item for item in side.items if isinstance(item, Words) and item.role != "number"]
        assert "…" in "".join(words.text for words in texts)
        for a, b in combinations(texts, 2):
            (left, right, low), (left2, right2, low2) = _place(a), _place(b)
            apart = (
                right <= left2 or right2 <= left or low - a.size * 0.75 >= low2 or low2 - b.size * 0.75 >= low
            )
            assert apart, (a.text, b.text)


def _boxed(name, source=0, rows=3, columns=1):
    squares = [[Square("1", "blank")] * columns] * rows
    return Box(name, f"token {rows} × feature {columns}", squares, source=source)


@pytest.mark.parametrize("name", ["V", "weights", "attention.head0.weights"])
def test_no_arrow_runs_through_a_text(name):
    """Nor through what says where to copy from, which is wider than the box below it."""
    product = Step(2, "a", [], _boxed("made"), _boxed(name, 1), _boxed("K", rows=1), follows=True)
    joined = Step(3, "b", [], _boxed("b"), _boxed(name, 2), _boxed("V", rows=1), follows=True)
    after = Step(4, "c", [], _boxed("c", rows=4), beside=[_boxed("X", rows=4)], follows=True)
    first = Step(1, "z", [], _boxed(name), beside=[_boxed("X")])
    orders = [(product, after), (first, product, joined, after), (after, first, after, product, after)]
    for side in (side for steps in orders for side in pages(Sheet("t", "", steps))):
        _no_arrow_through_a_text(side)


@pytest.mark.slow
def test_no_arrow_of_a_real_sheet_runs_through_a_text():
    for side in (side for sheet in sheets() for side in pages(sheet.contents)):
        _no_arrow_through_a_text(side)


def _no_arrow_through_a_text(side):
    texts = [(_place(item), item) for item in side.items if isinstance(item, Words)]
    ways = [way for item in side.items if isinstance(item, Arrow) for way in pairwise(item.points)]
    for (x, y), (x2, y2) in ways:
        for (left, right, low), words in texts:
            apart = max(x, x2) <= left or right <= min(x, x2)
            assert apart or max(y, y2) <= low - words.size * 0.75 or low <= min(y, y2), words.text


@pytest.mark.slow
def test_numbers_have_one_size_in_a_box_and_can_be_read():
    graph = specimen("multi-head", n=3, d=4).graph
    drawn = page(worksheet(graph, seed=1).contents, solution=True)
    square = r'<rect [^>]*width="(\d+)"[^>]*/>\n<text [^>]*font-size="([^"]+)"[^>]*middle">([^<]+)'
    found = re.findall(square, drawn)
    assert any("." in text for _, _, text in found)  # no small numbers were found
    for side, size, text in found:
        assert float(size) >= READABLE and text_width(text, float(size)) <= float(side) - 3
    box = Grid(0, 0, 20.0, _boxed("x"))
    longer = Grid(0, 0, 20.0, Box("x", "", [[Square("1", "given"), Square("−1.234", "blank")]]))
    assert box.digits == 0.42 * 20 and longer.digits == pytest.approx(16 / text_width("−1.234", 1))


def _place(words):
    wide = text_width(words.text, words.size, bold=words.role in ("title", "name"))
    left = words.x - {"start": 0, "middle": wide / 2, "end": wide}[words.anchor]
    return left, left + wide, words.y


def test_a_product_stands_where_its_operands_meet():
    side = pages(attention().contents)[0]
    grids = {item.box.name: item for item in side.items if isinstance(item, Grid)}
    assert grids["scores"].y == grids["Q"].y and grids["scores"].x == grids["Kᵀ"].x
    assert grids["out"].y == grids["weights"].y and grids["out"].x == grids["V"].x


def test_what_a_user_wrote_is_text():
    labels = {"token": ["<b>", "a|b", '"&']}
    sheet = attention(labels=labels, title="<script>alert(1)</script>")
    assert "<script" not in sheet.html and "<b>" not in sheet.html and "&lt;b&gt;" in sheet.html
    assert "a\\|b" in sheet.markdown and " <script" not in sheet.markdown


@pytest.mark.parametrize(
    "op",
    [op for op in OPS.values() if op.explain is not None and op.operands and op.samples],
    ids=lambda op: op.name,
)
def test_there_is_a_sheet_of_every_op(op):
    """Pages and Markdown of every op's samples, as far as their results are numbers that can be shown."""
    from op_laws import kind_of

    for sample in op.samples:
        graph, feeds = Graph("one"), {}
        operands = []
        for slot, operand in enumerate(sample.operands):
            if operand is not None:
                shape = nested.shape_of(operand, "x")
                operand = graph.input(f"x{slot}", shape, kind=kind_of(feeds.setdefault(f"x{slot}", operand)))
            operands.append(operand)
        made = graph.apply(op, *operands, **sample.attributes, name="y")
        made = made if isinstance(made, tuple) else (made,)
        cells = [c for t in made for c in nested.flat(graph.run(feeds, allow_nonfinite=True)[t.name])]
        given = [c for f in feeds.values() for c in nested.flat(f)]
        if any(t.kind != "float" or not t.spec.size for t in made) or not all(
            abs(c) < 1e15 for c in (*cells, *given)
        ):
            continue
        sheet = worksheet(graph, [t.name for t in made], feeds=feeds)
        assert page(sheet.contents, True) and markdown(sheet.contents, True)


@pytest.mark.slow
def test_the_command_writes_every_form_and_nothing_over_another(tmp_path, capsys):
    command = ["worksheet", "attention", "--n", "3", "--d", "4", "--seeds", "1..2", "-o", str(tmp_path / "out")]
    pytest.importorskip("xlsxwriter")
    assert _code(command) == 0 and _code(command) == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == sorted(
        f"worksheet-{seed}{end}"
        for seed in (1, 2)
        for end in (".html", "-solution.html", ".md", "-solution.md", ".xlsx")
    )
    (tmp_path / "out" / "worksheet-2.md").write_text("mine", encoding="utf-8")
    assert _code([*command, "--labels", "a,b,c"]) == 2 and "holds something else" in capsys.readouterr().err


@pytest.mark.parametrize(
    "more, words",
    [
        (["--seeds", "3..1"], "expected 1 to 500"),
        (["--seeds", "x"], "expected two whole numbers: 1..30"),
        (["--seeds", "1..3", "--seed", "1"], "expected one of them"),
        (["--blank", "Q"], "Q is not computed"),
    ],
)
def test_a_command_that_cannot_be_done_says_so(more, words, tmp_path, capsys):
    code = _code(["worksheet", "attention", "--n", "3", "--d", "4", "-o", str(tmp_path / "out"), *more])
    assert code == 2 and words in capsys.readouterr().err


@pytest.mark.parametrize("shapes", [((1, 0), (0, 1)), ((1, 1), (1, 1))])
def test_a_square_that_is_all_there_is_to_fill_in_is_not_done_as_an_example(shapes):
    g = Graph("one")
    g.output(y=g.matmul(*(g.input(name, shape) for name, shape in zip("ab", shapes, strict=True)), name="y"))
    sheet = worksheet(g)
    assert [square.kind for square in squares(sheet.contents)] == ["blank"]
    assert sheet.xlsx


def test_a_graph_without_a_square_to_fill_in_is_refused():
    g = Graph("none")
    g.output(y=g.exp(g.input("x", (0, 3)), name="y"))
    h = Graph("hidden")
    h.output(y=h.mask(h.input("x", (1, 2)), h.constant([[False, False]]), name="y"))
    for graph in (g, h):
        with pytest.raises(GraphError, match="no cell that can be seen; expected a square to fill in"):
            worksheet(graph)


@pytest.mark.slow
def test_a_browser_prints_one_side_of_a4(tmp_path):
    """Chromium makes one page of each, of A4's size, and nothing on it is cut off or asked for elsewhere."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("chromium is not installed")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as opened:
        browser = opened.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 794, "height": 1123})
        asked = []
        shown.on("request", lambda request: asked.append(request.url))
        for sheet in sheets():
            for html in (sheet.html, sheet.solution):
                shown.set_content(html)
                data = shown.pdf(prefer_css_page_size=True, print_background=True)
                assert len(re.findall(rb"/Type\s*/Page\b(?!s)", data)) == sheet.sides
                (width, height) = map(float, re.search(rb"/MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", data).groups())
                assert abs(width - 595.3) < 1.5 and abs(height - 841.9) < 1.5
                beyond = "filter(t => t.getBBox().x + t.getBBox().width > 790).map(t => t.textContent)"
                assert shown.evaluate(f"[...document.querySelectorAll('text')].{beyond}") == []
        browser.close()
    assert [url for url in asked if not url.startswith(("about:", "data:"))] == []
    assert [sheet.sides for sheet in sheets()[:3]] == [1, 1, 1]


def _code(words):
    with pytest.raises(SystemExit) as left:
        main(words)
    return left.value.code or 0
