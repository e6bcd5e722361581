"""Draws the pictures of README, figures.md, teaching.md and the lessons: `python docs/pictures.py`.

Those of worksheets are taken by Chromium (Playwright, extra `test`), and left as they are where there is none.
"""

import shutil
from pathlib import Path
from typing import Any

from graphattn.builtin import specimen
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
    sheet = worksheet(
        specimen("attention", n=3, d=4, causal=True).graph, seed=7, labels={"token": WORDS[:3]}, title=BY_HAND
    )
    photograph({"worksheet": sheet.html, "worksheet-solution": sheet.solution})


BY_HAND = "Attention by hand: 3 tokens, causal"


def photograph(pages: dict[str, str], folder: Path = FOLDER) -> None:
    """Each HTML page as a PNG of A4."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        print("no chromium: the pictures of worksheets stay as they are")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser: Any = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 794, "height": 1119})
        for name, html in pages.items():
            shown.set_content(html)
            shown.screenshot(path=str(folder / f"{name}.png"))
            print(folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
