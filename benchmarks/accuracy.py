"""python benchmarks/accuracy.py [--inputs 1000] [OP ...]: how far each op's result is from the right one.

Each op runs in doubles on its samples and on random inputs (every float of a sample drawn anew from a
normal distribution), and again with mpmath's 50 digits on the very same doubles. Printed are, in ulps
(units in the last place of a double around the right value; a correctly rounded result has 0.5 at most):

    samples   the largest error of a cell on the samples
    random    the largest error of a cell on the random inputs
    of row    the same on the random inputs, in ulps of the largest cell of the cell's row: where terms
              cancel, a cell near 0 has a large error in its own ulps, which no plain sum can avoid

Ops that only move numbers have none and are left out. Below the table stand softmax, layernorm and
attention on inputs of usual sizes.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn import Graph, run
from graphattn.core import nested
from graphattn.core.op import OPS, Op, Sample

USUAL = (
    ("softmax, 16 scores of size 1", "softmax", ((16,),), {}),
    ("softmax, 16 scores of size 5", "softmax", ((16,),), {"spread": 5.0}),
    ("layernorm, 64 features", "layernorm", ((64,), (64,), (64,)), {}),
    ("attention, 8 tokens, d = 8", "attention", ((8, 8), (8, 8), (8, 8)), {}),
    ("attention, 8 tokens, d = 8, v > 0", "attention", ((8, 8), (8, 8), (8, 8)), {"positive": 2}),
)
"""What it is, op, shapes of the operands, and how they are drawn."""


@dataclass
class Errors:
    """The largest errors so far: in ulps of the cell, and of the largest cell of its row."""

    cell: float = 0.0
    row: float = 0.0

    def add(self, graph: Graph, feeds: dict[str, Any]) -> None:
        """Run in doubles and with 50 digits, and enter what differs."""
        got, want = (
            run(graph, feeds, numbers=numbers, allow_nonfinite=True, keep=["y*"])
            for numbers in ("float", "mpmath")
        )
        for name, tensor in graph.outputs.items():
            if tensor.kind != "float":
                continue
            pairs = zip(nested.rows(got[name], len(tensor.shape)), nested.rows(want[name], len(tensor.shape)))
            for (_, mine), (_, right) in pairs:
                self._row(mine, right)

    def _row(self, mine: list[float], right: list[Any]) -> None:
        sizes = [abs(float(cell)) for cell in right if abs(cell) < 1.7e308]
        unit = math.ulp(max(sizes, default=0.0))
        for a, b in zip(mine, right):
            if not math.isfinite(a) or not abs(b) < 1.7e308:
                continue
            error = abs(float(a - b))
            if error:
                self.cell = max(self.cell, error / math.ulp(float(b)))
                self.row = max(self.row, error / unit)


def kind_of(value: Any) -> str:
    kinds = set(map(type, nested.flat(value)))
    return "bool" if kinds == {bool} else "int" if kinds == {int} else "float"


def graph_of(op: Op, sample: Sample) -> tuple[Graph, dict[str, Any]]:
    """The sample as a graph of one node, and its feeds."""
    graph, feeds, operands = Graph("accuracy"), {}, []
    for slot, value in enumerate(sample.operands):
        if value is None:
            operands.append(None)
            continue
        operands.append(graph.input(f"x{slot}", nested.shape_of(value), kind=kind_of(value)))
        feeds[f"x{slot}"] = value
    results = graph.apply(op, *operands, **sample.attributes, name="y")
    several = results if isinstance(results, tuple) else (results,)
    graph.output(**{f"y{i}": tensor for i, tensor in enumerate(several)})
    return graph, feeds


def redrawn(value: Any, dice: random.Random) -> Any:
    """Every float anew; bools and integers as they are."""
    if isinstance(value, (list, tuple)):
        return [redrawn(item, dice) for item in value]
    return dice.gauss(0.0, 1.0) if isinstance(value, float) else value


@dataclass(frozen=True)
class Row:
    """The largest errors of an op."""

    op: str
    samples: float
    random: float
    of_row: float


def table(names: list[str], inputs: int) -> Iterator[Row]:
    """A row for each op that computes floats."""
    for op in OPS.values():
        if op.moves or not op.operands or (names and op.name not in names):
            continue
        graphs = [graph_of(op, sample) for sample in op.samples]
        graphs = [one for one in graphs if any(t.kind == "float" for t in one[0].outputs.values()) and one[1]]
        if not graphs:
            continue
        given, drawn = Errors(), Errors()
        for graph, feeds in graphs:
            given.add(graph, feeds)
        dice = random.Random(op.name)
        for turn in range(inputs):
            graph, feeds = graphs[turn % len(graphs)]
            drawn.add(graph, {name: redrawn(value, dice) for name, value in feeds.items()})
        yield Row(op.name, given.cell, drawn.cell, drawn.row)


def usual(inputs: int) -> Iterator[Row]:
    """Softmax, layernorm and attention on inputs of usual sizes."""
    for title, name, shapes, drawing in USUAL:
        dice, found = random.Random(title), Errors()
        graph = Graph("accuracy")
        tensors = [graph.input(f"x{i}", shape) for i, shape in enumerate(shapes)]
        results = graph.apply(name, *tensors, name="y")
        graph.output(y0=results[0] if isinstance(results, tuple) else results)
        for _ in range(inputs):
            feeds = {
                f"x{i}": nested.build(shape, partial(drawn_cell, dice, i, drawing))
                for i, shape in enumerate(shapes)
            }
            found.add(graph, feeds)
        yield Row(title, 0.0, found.cell, found.row)


def drawn_cell(dice: random.Random, slot: int, drawing: dict[str, Any], *_: int) -> float:
    """A normal number of that spread, or in the slot `positive` one from 0 to 1."""
    if slot == drawing.get("positive"):
        return dice.random()
    return drawing.get("spread", 1.0) * dice.gauss(0.0, 1.0)


def ulps(error: float) -> str:
    return f"{error:10.2f}" if error < 1e6 else f"{error:10.1e}"


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=1000, help="random inputs for each op")
    parser.add_argument("op", nargs="*", help="only these ops")
    options = parser.parse_args(arguments)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding="utf-8")  # pyright: ignore[reportAttributeAccessIssue]
    print(f"Largest errors in ulps; {options.inputs} random inputs each; Python {sys.version.split()[0]}")
    print(f"{'':<20}{'samples':>10}{'random':>10}{'of row':>10}")
    for row in table(options.op, options.inputs):
        print(f"{row.op:<20}{ulps(row.samples)}{ulps(row.random)}{ulps(row.of_row)}", flush=True)
    if not options.op:
        print(f"\n{'':<38}{'random':>10}{'of row':>10}")
        for row in usual(max(options.inputs // 10, 1)):
            print(f"{row.op:<38}{ulps(row.random)}{ulps(row.of_row)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
