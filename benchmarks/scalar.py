"""`python benchmarks/scalar.py`: forward and backward of an attention block on scalars with gradients.

The causal pre-LN block of `block.py`, its loss the sum of all its results, on

(a) graphattn's Value: the block's graph run with numbers="value", every intermediate recorded;
(b) micrograd's Value (PyPI), with exp added: a learner's loops, one Value for each operation;
(c) graphattn's Value in the same loops as (b), one Value for each operation.

Time is CPU time of this thread, interleaved, with the garbage collector as it is and off; ratios
are medians over rounds. Memory is what tracemalloc sees from the parameters on to the end of
backward. At 64 tokens the loops are out of reach. `pip install micrograd` brings the peer; without it,
ours is told alone. micrograd recurses on depth: the recursion limit is raised for it.
"""

from __future__ import annotations

import argparse
import gc
import math
import platform
import random
import sys
import threading
import tracemalloc
from collections.abc import Callable
from statistics import median
from typing import Any

from contenders import EPS, Case, case
from timing import TURN, once, ratio, told

from graphattn import Graph, run
from graphattn.scalar import Value
from graphattn.scalar.value import total

SIZES = ((4, 8, 2), (8, 64, 4), (64, 64, 4))
LOOPS_UP_TO = 16
"""The most tokens for which loops are run: at 64, micrograd's Values would take gigabytes and minutes."""
OURS, PEER, LOOPS = "(a) graphattn, graph on Values", "(b) micrograd, loops", "(c) graphattn, same loops"
TOLERANCE = 1e-9
Scalars = list[list[Any]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    quick = parser.parse_args().quick
    print(f"Python {platform.python_version()}   CPU time of one thread   medians of per-round ratios")
    for size in SIZES:
        compare(case(*size), rounds=3 if quick else 9)


# ---------------------------------------------------------------- the block, twice


def on_graph(one: Case) -> Callable[[Scalars, dict[str, Scalars]], Scalars]:
    """The block as graphattn evaluates it."""
    graph = Graph("block")
    x = graph.input("x", (one.n, one.d), ("token", "feature"))
    weights = {name: graph.parameter(name, (one.d, one.d)) for name in one.weights}
    graph.output(y=graph.block(x, heads=one.h, causal=True, eps=EPS, name="block", **weights))
    return lambda x, weights: run(graph, {"x": x, **weights}, numbers="value")["y"]


def in_loops(one: Case, exp: Callable[[Any], Any]) -> Callable[[Scalars, dict[str, Scalars]], Scalars]:
    """The block as a learner writes it with scalars."""
    n, d, d_k = one.n, one.d, one.d // one.h

    def dot(p: list[Any], q: list[Any]) -> Any:
        return sum(a * b for a, b in zip(p, q))

    def linear(rows: Scalars, w: Scalars) -> Scalars:
        return [[dot(row, weights) for weights in w] for row in rows]

    def normalized(row: list[Any]) -> list[Any]:
        mean = sum(row) * (1 / d)
        deviations = [v - mean for v in row]
        inverse = (sum(v * v for v in deviations) * (1 / d) + EPS) ** -0.5
        return [v * inverse for v in deviations]

    def weights_of(row: list[Any]) -> list[Any]:
        peak = max(v.data for v in row)
        raised = [exp(v - peak) for v in row]
        inverse = sum(raised) ** -1
        return [v * inverse for v in raised]

    def block(x: Scalars, weights: dict[str, Scalars]) -> Scalars:
        norm = [normalized(row) for row in x]
        q, k, v = (linear(norm, weights[name]) for name in ("w_q", "w_k", "w_v"))
        joined: Scalars = [[] for _ in range(n)]
        for start in range(0, d, d_k):
            part = slice(start, start + d_k)
            for i in range(n):
                scores = [dot(q[i][part], k[j][part]) * (1 / math.sqrt(d_k)) for j in range(i + 1)]
                mixing = weights_of(scores)
                joined[i] += [dot(mixing, [v[j][c] for j in range(i + 1)]) for c in range(start, start + d_k)]
        mixed = linear(joined, weights["w_o"])
        return [[a + b for a, b in zip(row, more)] for row, more in zip(x, mixed)]

    return block


def micrograd() -> tuple[Any, Callable[[Any], Any]] | None:
    """micrograd's Value, and the exp that it lacks; None where it is not installed."""
    try:
        from micrograd.engine import Value as Theirs  # type: ignore[import-not-found]
    except ImportError:
        return None

    def exp(x: Any) -> Any:
        out = Theirs(math.exp(x.data), (x,), "exp")

        def _backward() -> None:
            x.grad += out.data * out.grad

        out._backward = _backward
        return out

    return Theirs, exp


# ---------------------------------------------------------------- what is measured


class Contender:
    """A block on one kind of scalar, with its parameters in place."""

    def __init__(self, one: Case, scalar: Any, block: Any, add_up: Callable[[Any], Any]) -> None:
        self.one, self.scalar, self.block, self.add_up = one, scalar, block, add_up
        self.x, self.weights = self.leaves()

    def leaves(self) -> tuple[Scalars, dict[str, Scalars]]:
        x = [[self.scalar(v) for v in row] for row in self.one.x]
        weights = {name: [[self.scalar(v) for v in row] for row in w] for name, w in self.one.weights.items()}
        return x, weights

    def __call__(self) -> Any:
        """One forward and one backward pass."""
        loss = self.add_up(v for row in self.block(self.x, self.weights) for v in row)
        loss.backward()
        return loss

    def memory(self) -> int:
        """The bytes at the end of backward, parameters included."""
        self.x, self.weights = [], {}
        gc.collect()
        tracemalloc.start()
        self.x, self.weights = self.leaves()
        loss = self()
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        del loss
        return size

    def gradients(self) -> list[float]:
        """Every gradient of one pass."""
        self.x, self.weights = self.leaves()
        self()
        return [v.grad for m in (self.x, *self.weights.values()) for row in m for v in row]


def timed(contenders: dict[str, Contender], rounds: int) -> dict[str, list[float]]:
    """CPU seconds of each, round by round, in shuffled order. What earlier turns left behind (micrograd's
    closures are cycles, which nothing frees while the collector is off) is collected between turns."""
    times = {name: max(1, round(TURN / once(contender))) for name, contender in contenders.items()}
    order = list(contenders)
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    rng = random.Random(0)
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            gc.collect()
            taken[name].append(once(contenders[name], times[name]))
    return taken


def compare(one: Case, rounds: int) -> None:
    contenders = {OURS: Contender(one, Value, on_graph(one), total)}
    peer = micrograd()
    in_reach = one.n <= LOOPS_UP_TO
    if peer and in_reach:
        contenders[PEER] = Contender(one, peer[0], in_loops(one, peer[1]), sum)
    if in_reach:
        contenders[LOOPS] = Contender(one, Value, in_loops(one, Value.exp), sum)
    agree(contenders)
    gc.collect()
    taken = {}
    for collecting in (True, False):
        (gc.enable if collecting else gc.disable)()
        taken[collecting] = timed(contenders, rounds)
        gc.enable()
    memory = {name: contender.memory() for name, contender in contenders.items()}
    print(
        f"\n(n, d, h) = {one.size}"
        + " " * 20
        + "collector on      times (a)  collector off     times (a)     memory   times (a)"
    )
    for name in (OURS, PEER, LOOPS):
        if name not in contenders:
            print(f"{name:36}{'not installed' if in_reach else 'too large'}")
            continue
        line = f"{name:36}"
        for collecting in (True, False):
            times = taken[collecting]
            line += f"{told(median(times[name])):>13}{ratio(times[name], times[OURS]):>15.1f}"
        print(line + f"{memory[name] / 2**20:>9.2f} MiB{memory[name] / memory[OURS]:>10.1f}", flush=True)


def agree(contenders: dict[str, Contender]) -> None:
    """Stop unless all give the same gradients."""
    expected = contenders[OURS].gradients()
    for name, contender in contenders.items():
        apart = max(abs(a - b) for a, b in zip(contender.gradients(), expected, strict=True))
        if not apart <= TOLERANCE:
            raise SystemExit(f"{name}: a gradient is {apart} away from {OURS}; expected at most {TOLERANCE}")


if __name__ == "__main__":
    sys.setrecursionlimit(1_000_000)  # micrograd's backward recurses
    threading.stack_size(512 * 2**20)
    worker = threading.Thread(target=main)
    worker.start()
    worker.join()
