"""`python benchmarks/engine.py`: what ONNX Runtime as the engine gains over the interpreter.

    blocks      those of `block.py`, every intermediate recorded by both, the weights constants of the graph
    GPT-2       12 layers, 768 features, 12 heads, 16 tokens, 50,257 tokens of vocabulary, random weights:
                seconds to build the graph, for the first run (which writes the model), for each run after

The interpreter and the engine take turns in one process; ratios are medians of per-round ratios of CPU time,
that of all threads. The first run of a graph (expanding, writing the model, opening the
session) stands beside them, and how far the tensors lie apart, relative to the size of each.
`--quick` leaves GPT-2 out. Needs `pip install 'graphattn[onnxruntime]'`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from statistics import median
from time import perf_counter, process_time

from contenders import case, graph_of
from timing import build, ratio, told

from graphattn import Graph, run
from graphattn.core.packed import Packed
from graphattn.core.trace import Trace

SIZES = ((4, 8, 2), (64, 64, 4), (128, 128, 8))
ENGINE = "onnxruntime"
LAYERS, FEATURES, HEADS, TOKENS, VOCABULARY = 12, 768, 12, 16, 50_257


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without GPT-2")
    quick = parser.parse_args().quick
    print(f"{build()}   CPU time   medians of per-round ratios")
    print(f"{'(n, d, h)':18}{'interpreter':>14}{'engine':>14}{'ratio':>9}{'first run':>14}{'apart':>10}")
    for size in SIZES:
        block(size, 1.0 if quick else 5.0)
    if not quick:
        large()


def block(size: tuple[int, int, int], seconds: float) -> None:
    one = case(*size)
    graph, feeds = graph_of(one), {"x": one.x}
    start = process_time()
    theirs = run(graph, feeds, engine=ENGINE)
    first = process_time() - start
    ours, engine = [], []
    while sum(ours) + sum(engine) < seconds or len(ours) < 5:
        ours.append(cpu(lambda: run(graph, feeds)))
        engine.append(cpu(lambda: run(graph, feeds, engine=ENGINE), 5))
    gain = ratio(ours, engine)
    print(
        f"{size!s:18}{told(median(ours)):>14}{told(median(engine)):>14}{gain:9.1f}"
        f"{told(first):>14}{apart(run(graph, feeds), theirs):10.0e}"
    )


def cpu(call: Callable[[], object], times: int = 1) -> float:
    """CPU seconds of all threads for one call."""
    start = process_time()
    for _ in range(times):
        call()
    return (process_time() - start) / times


def apart(mine: Trace, theirs: Trace) -> float:
    """The largest difference of all tensors, relative to the size of each."""
    from graphattn.core.nested import flat

    worst = 0.0
    for name in mine.names:
        cells = list(zip(flat(mine[name]), flat(theirs[name]), strict=True))
        size = max((abs(a) for a, _ in cells if abs(a) < 1e300), default=0.0) or 1.0
        worst = max([worst, *(abs(a - b) / size for a, b in cells if a != b)])
    return worst


# ---------------------------------------------------------------- GPT-2's size


def gpt2() -> Graph:
    """The graph, its random weights packed constants in float32."""
    import numpy as np

    dice = np.random.default_rng(0)

    def weight(*shape: int) -> Packed:
        cells = dice.standard_normal(shape, dtype=np.float32)
        cells *= 0.02
        return Packed(shape, cells.reshape(-1))

    g = Graph("gpt2", "GPT-2's size, random weights")
    d = FEATURES
    table = g.constant(weight(VOCABULARY, d), name="token_table")
    x = g.embedding(table, g.input("ids", (TOKENS,), ("token",), kind="int"), name="tokens")
    shapes = {
        **{f"w_{part}": (d, d) for part in "qkvo"}, **{f"b_{part}": (d,) for part in "qkvo"},
        "w_in": (4 * d, d), "b_in": (4 * d,), "w_out": (d, 4 * d), "b_out": (d,),
        "gamma_1": (d,), "beta_1": (d,), "gamma_2": (d,), "beta_2": (d,),
    }  # fmt: skip
    for i in range(LAYERS):
        with g.scope(f"layer{i}"):
            given = {name: g.constant(weight(*shape), name=name) for name, shape in shapes.items()}
            x = g.encoder_layer(
                x, heads=HEADS, causal=True, norm_first=True, activation="gelu_tanh", name="layer", **given
            )
    x = g.layernorm(x, name="norm")
    g.output(logits=g.linear(x, table, name="head"))
    return g


def large() -> None:
    start = process_time()
    graph = gpt2()
    print(f"\nGPT-2's size, {TOKENS} tokens: {process_time() - start:.1f} s of CPU to build")
    feeds = {"ids": [i * 997 % VOCABULARY for i in range(TOKENS)]}
    for numbers in ("float", "float32"):
        start = process_time()
        trace = run(graph, feeds, engine=ENGINE, numbers=numbers)
        first = process_time() - start
        taken, walls = [], []
        for _ in range(7):
            start, wall = process_time(), perf_counter()
            run(graph, feeds, engine=ENGINE, numbers=numbers)
            taken.append(process_time() - start)
            walls.append(perf_counter() - wall)
        print(
            f"{trace.engine}: {len(trace.names)} tensors, first run {first:.2f} s of CPU,"
            f" then {median(taken):.2f} s ({median(walls):.2f} s by the clock)"
        )


if __name__ == "__main__":
    main()
