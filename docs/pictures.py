"""Draws the pictures of README, figures.md, teaching.md and the lessons: `python docs/pictures.py`."""

import contextlib
import os
import re
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
