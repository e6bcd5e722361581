"""The page in a real browser: what one clicks, types and reads; no request, no complaint."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from browser import Reader, box, cell, formula, launched, violations
from conftest import TOKENS, run_of

from graphattn import Graph, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.dumps.page import link, write_page
from graphattn.dumps.page import page as page_of
from graphattn.insight.why.formula import joined
from graphattn.weights.toy_induction import toy_induction

pytestmark = pytest.mark.slow
WEIGHTS = "attention.head0.weights"


@pytest.fixture(scope="module")
def reader() -> Any:
    yield from launched()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def block(folder: Path) -> Path:
    return write_page(folder / "block.html", run_of("block"))


@pytest.fixture(scope="module")
def toy(folder: Path) -> Path:
    return write_page(folder / "toy.html", run_of("toy"))


@pytest.fixture(scope="module")
def two(folder: Path) -> Path:
    """A run in which one head's scale was forgotten, held against the right one."""
    right = run_of("block")
    wrong = specimen("block", causal=True).run(
        labels=TOKENS, patch={"attention.head1.scaled": right["attention.head1.scores"]}
    )
    return wrong.page(folder / "two.html", reference=right)


def value(page: Any) -> str:
    return page.locator("[data-value]").inner_text()


# ---------------------------------------------------------------- the diagram


def test_a_box_opens_in_place_and_closes(reader: Reader, block: Path):
    with reader.reading(block) as page:
        before = box(page, WEIGHTS).bounding_box()
        page.locator(f'[data-toggle="{WEIGHTS}"]').click()
        inner = box(page, f"{WEIGHTS}.raised")
        inner.wait_for()
        after = box(page, WEIGHTS).bounding_box()
        assert after["y"] == pytest.approx(before["y"], abs=1)
        assert after["x"] + after["width"] / 2 == pytest.approx(before["x"] + before["width"] / 2, abs=1)
        assert box(page, WEIGHTS).get_attribute("aria-expanded") == "true"
        box(page, WEIGHTS).dblclick(position={"x": 120, "y": 10})
        inner.wait_for(state="detached")


def test_what_was_clicked_stays_under_the_pointer(reader: Reader, block: Path):
    """So that the second click of a person, a moment later, finds it."""
    with reader.reading(block) as page:
        page.locator(f'[data-toggle="{WEIGHTS}"]').click()
        inner = box(page, f"{WEIGHTS}.raised")
        inner.wait_for()
        place = box(page, WEIGHTS).bounding_box()
        page.mouse.move(place["x"] + 120, place["y"] + 10)
        page.mouse.down()
        page.mouse.up()
        page.wait_for_timeout(250)
        assert box(page, WEIGHTS).bounding_box() == place
        page.mouse.down(click_count=2)
        page.mouse.up(click_count=2)
        inner.wait_for(state="detached")


def test_levels_steps_and_search(reader: Reader, block: Path):
    with reader.reading(block) as page:
        page.get_by_role("button", name="block", exact=True).click()
        assert box(page, WEIGHTS).count() == 0
        assert not page.get_by_role("button", name="Step back").is_enabled()
        for name in ("norm", "attention", "residual"):
            page.get_by_role("button", name="Next step").click()
            assert page.locator("h2").inner_text() == name
        page.get_by_role("button", name="Step back").click()
        assert page.locator("h2").inner_text() == "attention"
        page.get_by_role("combobox").fill("head1 raised")
        page.keyboard.press("Enter")
        assert page.locator("h2").inner_text() == "attention.head1.weights.raised"
        assert box(page, "attention.head1.weights.raised").get_attribute("aria-pressed") == "true"
        page.get_by_role("button", name="primitive", exact=True).click()
        assert box(page, "norm.deviation").count() == 1


@pytest.mark.parametrize("size", [(1280, 800), (390, 844)], ids=str)
@pytest.mark.parametrize(
    ("name", "inputs"), [("block", "X"), ("toy", "ids"), ("heads", "X"), ("attention", "Q K V")]
)
def test_a_page_opens_at_its_start(reader: Reader, folder: Path, name: str, inputs: str, size: tuple[int, int]):
    """The inputs are in sight, the first of them is chosen, and nothing is scrolled past."""
    path = write_page(folder / f"start-{name}.html", run_of(name))
    with reader.reading(path, viewport={"width": size[0], "height": size[1]}) as page:
        area = page.locator(".diagram").bounding_box()
        for wanted in inputs.split():
            place = box(page, wanted).bounding_box()
            assert area["y"] <= place["y"] < area["y"] + area["height"] / 4
            assert area["x"] <= place["x"] and place["x"] + place["width"] <= area["x"] + area["width"]
        assert page.locator("h2").inner_text() == inputs.split()[0]
        assert page.evaluate("scrollY") == 0


def test_from_the_output_to_the_input_by_keyboard(reader: Reader, block: Path):
    """Down the diagram from its end to its beginning, and into a tensor's cells, without a mouse."""
    with reader.reading(block, link(run_of("block"), "residual")) as page:
        for _ in range(40):  # from the top of the page to the diagram
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('box')"):
                break
        seen = []
        for _ in range(40):
            seen.append(page.evaluate("document.activeElement.dataset.name"))
            if seen[-1] == "X":
                break
            page.keyboard.press("ArrowUp")
            page.wait_for_timeout(30)
        assert seen[-1] == "X" and len(seen) > 8 and "attention.concat" in seen
        assert page.locator("h2").inner_text() == "X"
        for _ in range(30):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.dataset.at !== undefined"):
                break
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert page.locator("h3 .head").inner_text() == "X[cat, 1]"


# ---------------------------------------------------------------- the cell


@pytest.mark.parametrize("tensor, index", [(WEIGHTS, (2, 1)), ("norm", (1, 3)), ("attention.q", (0, 5))])
def test_a_cell_says_what_why_says(reader: Reader, block: Path, tensor: str, index: tuple[int, ...]):
    trace = run_of("block")
    first = trace.why(tensor, *index).lines()[0]
    with reader.reading(block, link(trace, tensor, index)) as page:
        expected = [f"= {joined(segment)}" for segment in first.segments]
        told = formula(page)
        assert [line.replace(f" {first.note}", "") if first.note else line for line in told] == expected
        assert value(page) == repr(nested.at(trace[tensor], index))
        assert page.locator(".sources .lit").count() >= 1


def test_walking_back_and_returning(reader: Reader, block: Path):
    trace = run_of("block")
    with reader.reading(block, link(trace, WEIGHTS, (2, 1))) as page:
        page.locator(".formula .source").first.click()
        assert page.locator("h3 .head").inner_text() == "attention.head0.scaled[sat, cat]"
        page.locator(".sources .lit").first.click()
        assert page.locator("h3 .head").inner_text() == "attention.head0.scores[sat, cat]"
        page.locator(".trail button").first.click()
        assert page.locator("h3 .head").inner_text() == f"{WEIGHTS}[sat, cat]"
        page.get_by_role("button", name="÷ divide").click()
        assert "raised[sat, cat]" in formula(page)[0]


def test_a_hidden_cell_says_which_mask_and_why(reader: Reader, block: Path):
    trace = run_of("block")
    (expected,) = trace.why(WEIGHTS, 0, 2).lines()[0].remarks
    assert "does not hold (causal mask)" in expected
    with reader.reading(block, link(trace, WEIGHTS, (0, 2))) as page:
        assert page.locator(".remark").all_inner_texts() == [expected]


def test_links_hold_what_is_looked_at(reader: Reader, block: Path):
    with reader.reading(block) as page:
        page.locator(f'[data-toggle="{WEIGHTS}"]').click()
        box(page, f"{WEIGHTS}.total").click()
        cell(page, 2).click()
        hash_ = page.evaluate("location.hash")
        assert "t=attention.head0.weights.total" in hash_ and "c=2,0" in hash_
    with reader.reading(block, hash_) as page:
        assert page.locator("h3 .head").inner_text() == f"{WEIGHTS}.total[sat, 0]"
        assert box(page, f"{WEIGHTS}.total").count() == 1
        page.evaluate("location.hash = '#t=norm&c=1,1'")
        page.locator("h2", has_text=re.compile("^norm$")).wait_for()
    with reader.reading(block, "#t=nothing&c=9,9,9&o=,,%00&f=77&v=x") as page:
        assert page.locator("h2").inner_text() == "X"


# ---------------------------------------------------------------- what if, check, predict


def test_what_if_gives_what_python_gives(reader: Reader, block: Path):
    trace = run_of("block")
    changed = [list(row) for row in trace[WEIGHTS]]
    changed[2][1] = 0.75
    expected = specimen("block", causal=True).run(labels=TOKENS, patch={WEIGHTS: changed})
    with reader.reading(block, link(trace, WEIGHTS, (2, 1))) as page:
        page.locator("[data-number]").fill("0.75")
        page.keyboard.press("Enter")
        assert value(page) == "0.75"
        assert page.locator(".mark").count() >= 4  # this box and those below
        box(page, "residual").click()
        shown = page.locator(".maps > .map .cell").all_inner_texts()
        for text, number in zip(shown, nested.flat(expected["residual"]), strict=True):
            assert float(text) == pytest.approx(number, rel=1e-3, abs=1e-3)
        assert page.locator(".maps > .map .moved").count() == 8  # one row
        page.keyboard.press("Control+z")
        page.get_by_role("button", name="Undo").wait_for(state="detached")
        assert page.locator(".mark").count() == 0


def shows(page: Any, name: str, expected: Any) -> None:
    """The cells of a tensor as the page shows them are these numbers."""
    box(page, name).click()
    shown = page.locator(".maps > .map .cell").all_inner_texts()
    for text, number in zip(shown, nested.flat(expected), strict=True):
        assert float(text.replace("·\nhidden", "0")) == pytest.approx(number, rel=1e-3, abs=1e-3)


def test_what_if_a_mask_let_a_token_see(reader: Reader, block: Path):
    mask = "attention.head0.visible"
    visible = [list(row) for row in run_of("block")[mask]]
    assert visible[1][3] is False
    visible[1][3] = True
    expected = specimen("block", causal=True).run(labels=TOKENS, patch={mask: visible})
    with reader.reading(block, link(run_of("block"), mask, (1, 3))) as page:
        page.get_by_role("button", name="What if it were true").click()
        assert value(page) == "true"
        shows(page, WEIGHTS, expected[WEIGHTS])
        hidden = page.locator(".maps > .map").first.locator(".hidden")
        assert hidden.count() == 5  # of six that the mask hides
        shows(page, "residual", expected["residual"])
        page.evaluate(f"location.hash = '#t={mask}&c=1,3'")
        page.get_by_role("button", name="What if it were false").click()
        page.get_by_role("button", name="Undo").wait_for(state="detached")
        assert page.locator(".mark").count() == 0


def test_what_if_another_token_stood_there(reader: Reader, toy: Path):
    trace = run_of("toy")
    expected = toy_induction("qmxczqmxbz").run()
    assert [a for a, b in zip(trace["ids"], expected["ids"]) if a != b] == [trace["ids"][4]]
    with reader.reading(toy, link(trace, "ids", (4,))) as page:
        for typed in ("1.5", "-1", "99999"):
            page.locator("[data-number]").fill(typed)
            page.keyboard.press("Enter")
            assert "does not fit; expected a whole number from 0 to" in page.get_by_role("alert").inner_text()
        page.locator("[data-number]").fill(str(expected["ids"][4]))
        page.keyboard.press("Enter")
        page.evaluate("location.hash = '#t=layer1.attention.head0.weights&c=10,6'")
        page.locator("h3 .head", has_text="layer1.attention.head0.weights").wait_for()
        assert float(value(page)) == pytest.approx(expected["layer1.attention.head0.weights"][10][6], rel=1e-9)


def test_the_slider_and_its_undo(reader: Reader, toy: Path):
    trace = run_of("toy")
    with reader.reading(toy, link(trace, "layer1.attention.head0.weights", (9, 6))) as page:
        was = value(page)
        page.locator("[data-slider]").focus()
        page.keyboard.press("ArrowRight")
        page.get_by_role("button", name=re.compile("^Undo \\(was")).wait_for()
        assert value(page) != was
        page.get_by_role("button", name=re.compile("^Undo \\(was")).click()
        assert value(page) == was
        page.locator("[data-number]").fill("much")
        page.get_by_role("button", name="Set").click()
        assert "is no number" in page.get_by_role("alert").inner_text()


def test_check_counts_what_is_the_same(reader: Reader, toy: Path):
    with reader.reading(toy) as page:
        page.get_by_role("button", name="Check").click()
        told = page.locator(".message").inner_text()
        cells, same = (int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", told)[:2])
        assert 10_000 < same <= cells and cells - same < 200, told
        assert "differ by more" not in told


def test_predict_keeps_numbers_back(reader: Reader, block: Path):
    trace = run_of("block")
    number = trace[WEIGHTS][2][1]
    with reader.reading(block, link(trace, WEIGHTS, (2, 1))) as page:
        page.get_by_role("button", name="Predict").click()
        everything = page.locator("#page").inner_html()
        for secret in (
            repr(number),
            f"{number:.4f}",
            f"{trace[WEIGHTS][1][0]:.4f}",
            f"{number:.6f}",
            "2.301987",
        ):
            assert secret not in everything.replace(page.locator("#data").inner_html(), ""), secret
        assert cell(page, 9).inner_text() == "?"
        guess = page.locator("[data-guess]")
        for typed, verdict in (
            ("0.4", "Not right: it is smaller."), ("0.3", "Right, to 1 decimal."),
            ("0.301", "Right, to 3 decimals."), ("0.302", "Not right: it is smaller."),
            ("x", "“x” is no number; expected one like 0.25."),
        ):  # fmt: skip
            guess.fill(typed)
            page.keyboard.press("Enter")
            assert page.locator(".verdict").inner_text() == verdict
        page.get_by_role("button", name="Show", exact=True).click()
        assert value(page) == repr(number)
        assert cell(page, 8).inner_text() == "?"


# ---------------------------------------------------------------- two runs, taking away, paper


def test_two_runs_and_where_they_part(reader: Reader, two: Path):
    with reader.reading(two) as page:
        page.get_by_role("button", name="First difference").click()
        assert page.locator("h2").inner_text() == "attention.head1.scaled"
        assert "the first to differ, though what goes into it agrees" in page.locator(".panel").inner_text()
        assert "yours is the reference × 2, which is √d_k" in page.locator(".panel").inner_text()
        assert "the first to differ" in box(page, "attention.head1.scaled").get_attribute("aria-label")
        assert "differs" not in box(page, "attention.head0.scaled").get_attribute("aria-label")
        yours = page.locator(".maps > .map .cell").first.inner_text()
        page.get_by_role("button", name="the reference", exact=True).click()
        theirs = page.locator(".maps > .map .cell").first.inner_text()
        assert float(yours) == pytest.approx(2 * float(theirs), rel=1e-3)
        page.get_by_role("button", name="difference", exact=True).click()
        assert float(page.locator(".maps > .map .cell").first.inner_text()) == pytest.approx(
            float(theirs), rel=1e-3
        )


def test_rounding_is_no_difference(reader: Reader, folder: Path):
    """The page decides as `compare` does: by the precision of both, and what rounding can do."""
    right = run_of("block")
    shaken = [[x * (1 + 2**-51) for x in row] for row in right["attention.head1.scaled"]]
    wrong = specimen("block", causal=True).run(labels=TOKENS, patch={"attention.head1.scaled": shaken})
    path = wrong.page(folder / "near.html", reference=right)
    with reader.reading(path, "#t=attention.head1.scaled") as page:
        assert page.get_by_role("button", name="First difference").count() == 0
        assert page.locator(".mark").count() == 0
        told = page.locator(".panel").inner_text()
        assert "largest difference" in told and "within the tolerance" in told


def test_taking_away(reader: Reader, block: Path):
    trace = run_of("block")
    with reader.reading(block, link(trace, WEIGHTS, (2, 1))) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        for name in ("Python", "NumPy", "CSV"):
            page.get_by_text("Take away").click()
            page.get_by_role("button", name=f"Copy the tensor as {name}").click()
            page.locator(".message", has_text=f"is copied as {name}").wait_for()
            text = page.evaluate("navigator.clipboard.readText()")
            if name == "CSV":
                rows = [list(map(float, line.split(","))) for line in text.splitlines()]
                assert rows == trace[WEIGHTS]
            else:
                names: dict[str, Any] = {}
                exec(text.replace("import numpy as np", "").replace("np.array", ""), names)
                assert names["attention_head0_weights"] == trace[WEIGHTS]
        page.get_by_text("Take away").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download all numbers (JSON)").click()
        data = json.loads(Path(download.value.path()).read_text(encoding="utf-8"))
        assert data["tensors"][WEIGHTS]["values"] == list(nested.flat(trace[WEIGHTS]))
        page.get_by_text("Take away").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Download the diagram (SVG)").click()
        drawn = Path(download.value.path()).read_text(encoding="utf-8")
        assert "softmax" in drawn and 'fill="rgb(' in drawn and "var(" not in drawn


def test_on_paper_without_scripts_and_on_a_phone(reader: Reader, block: Path):
    with reader.reading(block, link(run_of("block"), WEIGHTS, (2, 1))) as page:
        page.emulate_media(media="print")
        assert not page.locator(".tools").is_visible() and page.locator(".formula").is_visible()
        assert len(page.pdf()) > 10_000
    with reader.reading(block, java_script_enabled=False) as page:
        assert "pre-LN self-attention" in page.locator("h1").inner_text()
        assert page.locator(".still svg text", has_text="LayerNorm").count() == 1
        label = page.locator(
            ".still svg text", has_text="norm "
        ).first  # the blank before it keeps it off its arrow
        assert label.evaluate("text => getComputedStyle(text).whiteSpace") == "pre"
        assert "graphattn trace 1" in page.locator("pre").inner_text()
    for width, height in ((390, 800), (320, 256)):
        with reader.reading(
            block, link(run_of("block"), WEIGHTS, (2, 1)), viewport={"width": width, "height": height}
        ) as page:
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            cell(page, 5).click()
            assert page.locator("h3 .head").inner_text() == f"{WEIGHTS}[cat, cat]"


def test_large_tensors_are_images_with_a_cursor(reader: Reader, folder: Path):
    trace = specimen("attention", n=64, d=4, causal=True, projections=False).run()
    path = write_page(folder / "large.html", trace)
    with reader.reading(path, link(trace, "weights", (60, 3))) as page:
        pixels = page.locator("[data-pixels]").first
        pixels.focus()
        page.keyboard.press("ArrowRight")
        assert page.locator(".readout").first.inner_text().startswith("weights[60, 4] = 0.0")
        page.keyboard.press("Enter")
        assert page.locator("h3 .head").inner_text() == "weights[60, 4]"
        assert page.locator(".near td.cell").count() >= 25


def test_a_notebook_shows_it_in_a_frame(reader: Reader, folder: Path):
    path = folder / "notebook.html"
    shown = run_of("attention").show(theme="dark")._repr_html_()
    path.write_text(
        f"<!DOCTYPE html><title>n</title><script>document.documentElement.dataset.ready=1</script>{shown}"
    )
    with reader.reading(path) as page:
        inner = page.frame_locator("iframe")
        inner.locator("html[data-ready]").wait_for(state="attached")
        inner.locator('.box[data-name="weights"]').first.click()
        assert inner.locator("h2").inner_text() == "weights"
        assert inner.locator("html").get_attribute("data-theme") == "dark"


# ---------------------------------------------------------------- hostile texts, and everybody


HOSTILE = [
    "</script><script>alert(1)</script>",
    '<img src=x onerror="alert(1)">',
    "a\u2028b",
    "שלום \u202eabc",
    "x" * 10_000,
]


def test_hostile_texts_are_texts(reader: Reader, folder: Path):
    graph = Graph("g", HOSTILE[0] + HOSTILE[1] + "]]><!--" + "\u202e")
    x = graph.input("x", (5, 2), ("token", "feature"), title=HOSTILE[1])
    graph.output(y=graph.softmax(graph.matmul(x, x.T, title=HOSTILE[0]), name="y", title=HOSTILE[4]))
    trace = run(graph, {"x": [[0.5, -1.0]] * 5}, labels={"token": HOSTILE})
    text = page_of(trace)
    assert "<script>alert" not in text and "<img" not in text and "\u2028" not in text
    path = write_page(folder / "hostile.html", trace)
    with reader.reading(path, link(trace, "y", (1, 0))) as page:
        page.on("dialog", lambda dialog: pytest.fail("a label ran as a script"))
        assert page.locator("img").count() == 0 and page.locator("script").count() == 3
        assert "onerror" in page.locator("h3 .head").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        page.get_by_role("button", name="Check").click()
    with reader.reading(path, java_script_enabled=False) as page:
        assert page.locator("img").count() == 0 and "<img" in page.locator("h1").inner_text()


def _start(page: Any) -> None: ...


def _cell(page: Any) -> None:
    page.evaluate(f"location.hash = '#t={WEIGHTS}&c=2,1&o=attention,attention.head0,attention.head0.weights'")
    page.wait_for_selector(".formula p")


def _edited(page: Any) -> None:
    page.locator("[data-number]").fill("0.75")
    page.keyboard.press("Enter")
    page.wait_for_selector(".mark")


def _flipped(page: Any) -> None:
    page.evaluate("location.hash = '#t=attention.head0.visible&c=1,3'")
    page.get_by_role("button", name="What if it were true").click()


def _numbers(page: Any) -> None:
    page.get_by_role("button", name="The others side by side").click()


def _walked(page: Any) -> None:
    page.locator(".formula .source").first.click()
    page.wait_for_selector(".trail li")


def _predicting(page: Any) -> None:
    page.get_by_role("button", name="Predict").click()


def _searching(page: Any) -> None:
    page.get_by_role("combobox").fill("head")
    page.wait_for_selector("[role=option]")


def _menu(page: Any) -> None:
    page.keyboard.press("Escape")
    page.get_by_text("Take away").click()
    page.get_by_role("button", name="Check").click()


STATES = (_start, _cell, _edited, _numbers, _walked, _flipped, _predicting, _searching, _menu)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(reader: Reader, block: Path, two: Path, scheme: str):
    """In the light theme by all rules, in the dark by the one that looks at colours."""
    rules = ("color-contrast",) if scheme == "dark" else ()
    with reader.reading(block, color_scheme=scheme, bypass_csp=True) as page:
        for state in STATES:
            state(page)
            assert violations(page, *rules) == [], state.__name__
    with reader.reading(two, "#v=difference", color_scheme=scheme, bypass_csp=True) as page:
        assert violations(page, *rules) == []


def test_with_forced_colours(reader: Reader, block: Path):
    with reader.reading(block, link(run_of("block"), WEIGHTS, (2, 1)), forced_colors="active") as page:
        assert page.evaluate("matchMedia('(forced-colors: active)').matches")
        widths = page.evaluate("getComputedStyle(document.querySelector('.cell')).borderTopWidth")
        assert widths == "1px"
        for shape in ("rect", "text"):  # whatever a box is, open or closed: the reader's two colours
            asked = f"[...document.querySelectorAll('.picture {shape}')].map((e) => getComputedStyle(e).fill)"
            assert len(found := set(page.evaluate(asked))) == 1, found


# ---------------------------------------------------------------- test the tester


@pytest.mark.parametrize(
    "planted",
    [
        "<script>console.error('x')</script>",
        "<script>null.x</script>",
        '<script>fetch("https://example.invalid/x").catch(() => 0)</script>',
        '<img src="other.png" alt="">',
    ],
)
def test_a_planted_complaint_is_seen(reader: Reader, folder: Path, planted: str):
    path = folder / "planted.html"
    path.write_text(f"<!DOCTYPE html><html data-ready=1><title>t</title>{planted}", encoding="utf-8")
    with pytest.raises(AssertionError), reader.reading(path) as page:
        page.wait_for_timeout(100)


def test_a_planted_violation_is_seen(reader: Reader, block: Path):
    with reader.reading(block, bypass_csp=True) as page:
        page.evaluate("document.querySelector('.box').removeAttribute('aria-label')")
        page.evaluate("document.querySelector('h1').style.color = '#dddddd'")
        assert any(found.startswith("color-contrast") for found in violations(page))
