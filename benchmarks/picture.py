"""How long a block takes as SVG, PNG and PDF: each is laid out once, in a process of its own, and checked.

    python benchmarks/picture.py

Seconds on the wall, since Graphviz works in another process; the shortest of a few attempts.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from timing import build, told

from graphattn.builtin import specimen
from graphattn.dumps.picture import render

FORMS = ("svg", "png", "pdf")


def seconds(folder: str, times: int = 3) -> dict[str, float]:
    """The shortest time that each format took, in turns."""
    graph = specimen("block").graph
    graph.at("op")
    taken = dict.fromkeys(FORMS, float("inf"))
    for _ in range(times):
        for form in FORMS:
            start = time.perf_counter()
            render(graph, Path(folder) / f"block.{form}")
            taken[form] = min(taken[form], time.perf_counter() - start)
    return taken


if __name__ == "__main__":
    print(build())
    with tempfile.TemporaryDirectory() as folder:
        taken = seconds(folder)
    for form, one in taken.items():
        print(f"{form}  {told(one):>8}   {one / taken['svg']:.2f} of the SVG")
