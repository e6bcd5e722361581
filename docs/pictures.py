"""Draws the pictures of README: `python docs/pictures.py`."""

from pathlib import Path

from graphattn.builtin import specimen

FOLDER = Path(__file__).parent


def main() -> None:
    graph = specimen("block", n=4, d=8, heads=2, causal=True).graph
    print(graph.render(FOLDER / "block.svg"))
    print(graph.render(FOLDER / "block-dark.svg", theme="dark"))


if __name__ == "__main__":
    main()
