"""Draws the pictures of README, figures.md, teaching.md and the lessons: `python docs/pictures.py`; with
`pages`, also those of page.md, which needs playwright, chromium and pillow.

Boxes are as wide as their text is in the font of the machine that draws: draw where `fc-match Helvetica` says
DejaVu Sans, the widest of the fonts that readers have, and no text leaves its box anywhere.
"""

import contextlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from graphattn.builtin import specimen
from graphattn.dumps.worksheet.page import picture
from graphattn.dumps.write import write_text
from graphattn.weights.toy_induction import toy_induction
from graphattn.worksheet import worksheet

FOLDER = Path(__file__).parent


WORDS = ["the", "cat", "sat", "down"]


def main() -> None:
    made = specimen("block", n=4, d=8, heads=2, causal=True)
    graph = made.graph
    trace = made.run(labels={"token": WORDS})
    print(trace.figure(["*.masked", "*.weights"], FOLDER / "figure-heads.svg"))
    toy = toy_induction("qmxbzqmxbzqmxbz")
    print(toy.run().figure("*.weights", FOLDER / "figure-layers.svg"))
    small = specimen("block", n=3, d=4, heads=1, causal=True)
    told = small.run(labels={"token": WORDS[:3]})
    print(small.graph.render(FOLDER / "block-values.svg", trace=told))
    print(graph.render(FOLDER / "block.svg"))
    print(graph.render(FOLDER / "block-dark.svg", theme="dark"))
    for name, text in by_hand().items():
        print(write_text(FOLDER / name, text))
    for path in sorted(FOLDER.glob("lessons/[0-9]*.md")):
        for name, text in pictures_of(path).items():
            print(write_text(path.parent / name, text))


CELL = "layer1.attention.head0.weights&c=10,6"
OPEN = "attention,attention.head0,attention.head0.weights"
PAGES = {
    "page-cell.png": ("toy", f"#t={CELL}", "light", ""),
    "page-open.png": ("block", f"#t=attention.head0.weights&c=2,1&o={OPEN}", "dark", ""),
    "page-what-if.png": ("toy", f"#t={CELL}", "light", "0.2"),
}
"""By file: the run, where its page opens, the theme, and a number to put into the cell."""


def pages() -> None:
    """Screenshots of pages, in few colours."""
    sys.path.insert(0, str(FOLDER.parent / "tests" / "page"))
    from browser import launched
    from PIL import Image

    made = specimen("block", n=4, d=8, heads=2, causal=True)
    runs = {"toy": toy_induction("qmxbzqmxbz").run(), "block": made.run(labels={"token": WORDS})}
    with tempfile.TemporaryDirectory() as folder, contextlib.contextmanager(launched)() as reader:
        for name, (run, link, theme, typed) in PAGES.items():
            path = runs[run].page(Path(folder) / f"{name}.html", theme=theme)
            with reader.reading(path, link, viewport={"width": 1280, "height": 800}) as page:
                if typed:
                    page.locator("[data-number]").fill(typed)
                    page.keyboard.press("Enter")
                    page.wait_for_selector(".mark")
                page.screenshot(path=FOLDER / name)
            Image.open(FOLDER / name).convert("RGB").quantize(192, dither=Image.Dither.NONE).save(
                FOLDER / name, optimize=True
            )
            print(FOLDER / name)


def by_hand() -> dict[str, str]:
    """The sheet in teaching.md, blank and filled in, by file name."""
    graph = specimen("attention", n=3, d=4, causal=True).graph
    title = "Attention by hand: 3 tokens, causal"
    sheet = worksheet(graph, seed=7, labels={"token": WORDS[:3]}, title=title).contents
    return {"worksheet.svg": picture(sheet), "worksheet-solution.svg": picture(sheet, solution=True)}


def pictures_of(lesson: Path) -> dict[str, str]:
    """The pictures of a lesson, by file name: those of the `sheet` that its own code makes."""
    names: dict[str, Any] = {"__name__": "lesson"}
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(None):
        os.chdir(folder)
        try:
            for code in re.findall(r"^```python\n(.*?)^```$", lesson.read_text(encoding="utf-8"), re.M | re.S):
                exec(compile(code, lesson.name, "exec"), names)
        finally:
            os.chdir(here)
    sheet = names["sheet"].contents
    return {
        f"{lesson.stem}-sheet.svg": picture(sheet),
        f"{lesson.stem}-solution.svg": picture(sheet, solution=True),
    }


if __name__ == "__main__":
    main()
    if "pages" in sys.argv:
        pages()
