"""How long comparing two traces takes, as a part of the run that made one.

    python benchmarks/compare.py

Of a causal block of (128, 128, 8): equal traces, and one whose every number was rounded to float32 (at most
half a run is wanted, also where all is beyond the tolerance). Of a stack of attention blocks, with another 146
tensors of yours that the reference has not, and with names that say nothing: at most 3 runs. And by layers of
tiny blocks, a run of which takes 8 µs a tensor: it should stay as many runs. Against a graph it takes more
than the one run: square weights are read in two ways, and the first is held against yours. Times are CPU
seconds, interleaved, ratios are medians; see timing.py.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

from contenders import case, graph_of
from timing import build, interleaved, ratio, told

from graphattn import Graph, Trace, run
from graphattn.insight.compare import compare

SIZE = (128, 128, 8)
STACK = (12, 24, 48, 4)
"""Layers, tokens, features, heads."""
EXTRA = 146
LAYERS = (4, 16, 64)
TINY = (4, 8, 2)
"""Tokens, features, heads."""


class Share(NamedTuple):
    """What was compared: seconds to compare, seconds of a run, and the one by the other."""

    pair: str
    seconds: float
    run: float
    share: float


def rounded(trace: Trace) -> Trace:
    """The trace with every number rounded to float32."""

    def short(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], list):
            return [short(item) for item in value]
        return array("f", value).tolist()

    values = {n: short(trace[n]) if trace.spec(n).kind == "float" else trace[n] for n in trace.names}
    return Trace.restore(trace.graph, values)


def stack_of(layers: int, n: int, d: int, heads: int) -> tuple[Graph, dict[str, Any]]:
    """Blocks one after the other, and what to feed them."""
    graph, draw = Graph("stack"), random.Random(0)

    def matrix(rows: int, columns: int) -> list[list[float]]:
        return [[draw.gauss(0.0, columns**-0.5) for _ in range(columns)] for _ in range(rows)]

    x = graph.input("x", (n, d), ("token", "feature"))
    feeds: dict[str, Any] = {"x": [[draw.gauss(0.0, 1.0) for _ in range(d)] for _ in range(n)]}
    for layer in range(layers):
        names = {f"w_{p}": f"layer{layer}.w_{p}" for p in "qkvo"}
        feeds |= {name: matrix(d, d) for name in names.values()}
        weights = {p: graph.parameter(name, (d, d)) for p, name in names.items()}
        x = graph.block(x, **weights, heads=heads, causal=True, name=f"layer{layer}.block")
    graph.output(y=x)
    return graph, feeds


def tensors_of(trace: Trace) -> dict[str, Any]:
    return {name: trace[name] for name in trace.names if trace.spec(name).kind == "float"}


def with_extra(trace: Trace) -> dict[str, Any]:
    """Its tensors, and 146 of the same shapes that it does not hold."""
    draw, made = random.Random(1), tensors_of(trace)
    for i, value in enumerate(list(made.values())[:EXTRA]):
        made[f"cache_{i}"] = [[draw.gauss(0.0, 1.0) for _ in row] for row in value]
    return made


def blank(trace: Trace) -> dict[str, Any]:
    """Its tensors under names that say nothing."""
    return {f"t{hash_of(i)}": value for i, value in enumerate(tensors_of(trace).values())}


def hash_of(i: int) -> str:
    return "".join("abcdefghij"[int(c)] for c in str(7919 * (i + 1)))


def shares(seconds: float = 20.0) -> Iterator[Share]:
    """What comparing takes."""
    one = case(*SIZE)
    graph, feeds = graph_of(one), {"x": one.x}
    mine, same = run(graph, feeds), run(graph, feeds)
    other = rounded(mine)
    yield from _shares(
        {
            "run": lambda: run(graph, feeds),
            "equal": lambda: compare(mine, same),
            "rounded to float32, judged so": lambda: compare(mine, other, precision="float32"),
            "rounded to float32, judged as float64": lambda: compare(mine, other, precision="float64"),
        },
        seconds,
    )
    stack, given = stack_of(*STACK)
    trace = run(stack, given)
    extra, unnamed = with_extra(trace), blank(trace)
    yield from _shares(
        {
            "run": lambda: run(stack, given),
            f"{STACK[0]} layers, yours with {EXTRA} more": lambda: compare(trace, extra),
            f"{STACK[0]} layers, blank names": lambda: compare(trace, unnamed),
        },
        seconds,
    )


def _shares(calls: dict[str, Any], seconds: float) -> Iterator[Share]:
    taken = interleaved(calls, seconds)
    for name in list(calls)[1:]:
        yield Share(name, min(taken[name]), min(taken["run"]), ratio(taken[name], taken["run"]))


def by_layers(seconds: float = 20.0) -> Iterator[Share]:
    """Comparing stacks of more and more layers, as a part of a run of each."""
    for layers in LAYERS:
        graph, feeds = stack_of(layers, *TINY)
        trace, again = run(graph, feeds), run(graph, feeds)
        record = tensors_of(rounded(trace))
        calls = {
            "run": lambda g=graph, f=feeds: run(g, f),
            f"{layers} layers, equal traces": lambda t=trace, a=again: compare(t, a),
            f"{layers} layers, rounded to float32": lambda t=trace, r=record: compare(t, r),
            f"{layers} layers, the same and the graph": lambda g=graph, r=record: compare(g, r),
        }
        yield from _shares(calls, seconds / len(LAYERS))


if __name__ == "__main__":
    print(build())
    for one in (*shares(), *by_layers()):
        print(f"{one.pair:40} {told(one.seconds):>8}   run {told(one.run):>8}   {one.share:.2f} runs")
