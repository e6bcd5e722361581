"""`python benchmarks/encoder.py`: a sentence through an encoder of MiniLM's size, and what is around the run.

Six layers, 384 features, 12 heads, 1536 inner features (10.6 million weights, random), 12 tokens; the
weights are constants of the graph. Against one run that records every number:

    build and plan      nanoseconds for each weight, held once
    masks and warnings  of a second trace, and of the first (which looks at the constants)
    str(trace)          of the whole
    run(keep=…)         of the block of `block.py` at (8, 64, 4), where little is computed
    trace == trace      there too
    trace.step(name)    there too, of every step
    bare products       the same multiply-adds alone, as dots of lists: what no run can go below

`--quick` takes two layers. Ratios are medians over interleaved rounds, of CPU time of this thread.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from statistics import median
from typing import Any

from contenders import case, graph_of
from timing import build, interleaved, once, ratio, told

from graphattn import Graph, run
from graphattn.core.interpreter import plan_of
from graphattn.core.numbers import dot

TOKENS, FEATURES, HEADS, INNER = 12, 384, 12, 1536
SHAPES = {
    "w_q": (FEATURES, FEATURES), "w_k": (FEATURES, FEATURES), "w_v": (FEATURES, FEATURES),
    "w_o": (FEATURES, FEATURES), "w_in": (INNER, FEATURES), "w_out": (FEATURES, INNER),
}  # fmt: skip
Matrix = list[list[float]]


def numbers(rows: int, columns: int, seed: object) -> Matrix:
    dice = random.Random(str(seed))
    return [[dice.random() - 0.5 for _ in range(columns)] for _ in range(rows)]


def encoder(weights: list[dict[str, Matrix]]) -> Graph:
    """The layers, post-norm as BERT has them, their weights constants."""
    g = Graph("encoder")
    x = g.input("x", (TOKENS, FEATURES), ("token", "feature"))
    for i, layer in enumerate(weights):
        with g.scope(f"layer{i}"):
            bound = {name: g.constant(w, name=name) for name, w in layer.items()}
            x = g.encoder_layer(x, heads=HEADS, name="encoder", **bound)
    g.output(y=x)
    return g


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two layers in place of six")
    layers = 2 if parser.parse_args().quick else 6
    print(f"{build()}   CPU time of one thread")
    weights = [{name: numbers(*shape, (name, i)) for name, shape in SHAPES.items()} for i in range(layers)]
    count = layers * sum(rows * columns for rows, columns in SHAPES.values())
    feeds = {"x": numbers(TOKENS, FEATURES, "x")}
    whole(weights, feeds, count)
    small()


def whole(weights: list[dict[str, Matrix]], feeds: dict[str, Any], count: int) -> None:
    graphs: list[Graph] = []

    def made() -> None:
        graphs[:] = [encoder(weights)]
        plan_of(graphs[0].at("op"))

    seconds = min(once(made) for _ in range(3))
    line(f"build and plan, {count / 1e6:.1f} M weights", f"{seconds / count / 1e-9:.0f} ns a weight")
    graph = graphs[0]
    first = once(lambda: run(graph, feeds))
    trace = run(graph, feeds)
    line("a traced run", told(first))
    line("masks and warnings, first trace", f"{once(lambda: trace.warnings) / first:.3f} runs")
    again = run(graph, feeds)
    line("masks and warnings, then", f"{once(lambda: again.warnings) / first:.3f} runs")
    line("str(trace)", f"{once(lambda: str(again)) / first:.2f} runs")
    rows = feeds["x"]
    wide = numbers(TOKENS, INNER, "wide")

    def products() -> None:
        for layer in weights:
            for w in layer.values():
                for row in rows if len(w[0]) == FEATURES else wide:
                    [dot(row, column) for column in w]

    line("a traced run / bare products of lists", f"{first / once(products):.2f}")


def small() -> None:
    one = case(8, 64, 4)
    graph, feeds = graph_of(one), {"x": one.x}
    a, b = run(graph, feeds), run(graph, feeds)
    calls: dict[str, Callable[[], Any]] = {
        "run": lambda: run(graph, feeds),
        'run(keep=["*.weights"])': lambda: run(graph, feeds, keep=["*.weights"]),
        "run, masks and warnings": lambda: run(graph, feeds).warnings,
        "trace == trace": lambda: a == b,
        "trace.step(name) of every step": lambda: [a.step(step.name) for step in a.steps],
    }
    taken = interleaved(calls, 3.0)
    print(f"\nat (n, d, h) = {one.size}")
    for name in calls:
        line(name, f"{ratio(taken[name], taken['run']):.2f} runs ({told(median(taken[name]))})")


def line(title: str, text: str) -> None:
    print(f"{title:42}{text}", flush=True)


if __name__ == "__main__":
    main()
