"""Draws the pictures of README and of figures.md: `python docs/pictures.py`."""

from pathlib import Path

from graphattn.builtin import specimen
from graphattn.weights.toy_induction import toy_induction

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


if __name__ == "__main__":
    main()
