"""The laws of gradients, as functions that return problems; see `op_laws.py`, whose samples they use."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

from op_laws import Call, call, calls, mapped, same_bits

from graphattn import run
from graphattn.core import nested
from graphattn.core.op import Op, Sample
from graphattn.passes.check_gradients import GradientReport, check_gradients
from graphattn.passes.gradient import differentiate


def ruled(op: Op) -> Iterator[str]:
    """An op through which floats flow has a gradient, or an expansion that has one. Bools and
    integers have no derivative, and what is fed or known before a run depends on nothing."""
    if op.gradient is None and op.expand is None and any(map(differentiable, calls(op))):
        yield f"{op.name} has neither a gradient nor an expansion that has one"


def differentiable(c: Call) -> bool:
    """Whether floats go in and floats come out."""
    into = any(spec is not None and spec.kind == "float" for spec in c.specs)
    return into and any(tensor.kind == "float" and tensor.spec.size for tensor in c.outputs)


def first_order(op: Op) -> Iterator[str]:
    """The gradient is what differences of values say, with 50 digits: of every sample at random
    numbers and, where no corner is near, at its own."""
    for c in points(op):
        yield from _wrong(c, first(c))


def second_order(op: Op) -> Iterator[str]:
    """So is the gradient of the gradient, with respect to operands and cotangents."""
    for c in tame(op):
        yield from _wrong(c, second(c))


def one_cell(op: Op) -> Iterator[str]:
    """The gradient of one cell of a result: 1 where no cotangent is fed; 2 doubles each number."""
    for c in tame(op):
        result = next(tensor for tensor in c.outputs if tensor.kind == "float" and tensor.spec.size)
        at = ", ".join(["-1:"] * result.spec.rank)
        last = c.graph.slice(result, at, name="cell") if at else result
        once = differentiate(c.graph, last.name, _names(c)[1])
        (seed,) = once.cotangents.values()
        shape = once.graph.nodes[seed].outputs[0].shape
        unfed, one, two = (
            run(
                once.graph,
                {**c.feeds, **({seed: nested.full(shape, fed)} if fed else {})},
                allow_nonfinite=True,
            )
            for fed in (None, 1.0, 2.0)
        )
        for name in once.gradients.values():
            if not same_bits(unfed[name], one[name]):
                yield f"{c.what}: {name} is {unfed[name]} where no cotangent is fed, and {one[name]} with 1"
            if two[name] != mapped(lambda x: 2.0 * x, one[name]):
                yield f"{c.what}: {name} is {two[name]} with 2 as cotangent, and {one[name]} with 1"


def _wrong(c: Call, report: GradientReport) -> Iterator[str]:
    if not report.slopes:
        yield f"{c.what}: nothing was tried"
    yield from (f"{c.what}: {slope}" for slope in report.slopes if not slope.ok)


def first(c: Call) -> GradientReport:
    return check_gradients(c.graph, c.feeds, *_names(c), numbers="mpmath", directions=1)


def second(c: Call) -> GradientReport:
    of, wrt = _names(c)
    once = differentiate(c.graph, of, wrt)
    dice = random.Random(c.what)
    fed = {
        name: nested.build(once.graph.nodes[name].outputs[0].shape, lambda *_: dice.gauss(0.0, 1.0))
        for name in once.cotangents.values()
    }
    return check_gradients(
        once.graph, {**c.feeds, **fed}, once.gradients.values(), [*wrt, *fed], numbers="mpmath", directions=1
    )


def _names(c: Call) -> tuple[list[str], list[str]]:
    """The float results and the float operands."""
    wrt = [r.node for r, s in zip(c.node.operands, c.specs, strict=False) if r and s and s.kind == "float"]
    return [tensor.name for tensor in c.outputs if tensor.kind == "float"], wrt


def points(op: Op) -> Iterator[Call]:
    """Every sample that has a derivative, at random numbers, and at its own."""
    yield from tame(op)
    for c in calls(op):
        if differentiable(c) and smooth(c):
            yield c


def tame(op: Op) -> Iterator[Call]:
    """Every sample with random floats between 0.3 and 1.7 in size, of either sign where the op takes
    any: away from corners and overflow."""
    for i, sample in enumerate(op.samples):
        for low in (-1, 1):
            dice = random.Random(f"{op.name} {i}")

            def other(cell: Any, dice: random.Random = dice, low: int = low) -> Any:
                return cell if type(cell) in (bool, int) else dice.choice((low, 1)) * dice.uniform(0.3, 1.7)

            operands = tuple(None if value is None else mapped(other, value) for value in sample.operands)
            made = call(op, Sample(operands, sample.attributes), f"{op.name}, sample {i} tame")
            if not differentiable(made):
                break
            trace = run(made.graph, made.feeds)
            if not any(cell != cell for name in made.names for cell in nested.flat(trace[name])):
                yield made
                break


def smooth(c: Call) -> bool:
    """Whether a sample's own numbers are fit for differences: neither huge nor tiny, except for what
    is hidden, and no two of them alike (where a maximum has its corner)."""
    cells = [v for x in c.values if x is not None for v in nested.flat(x) if type(v) is float]
    return all(1e-3 < abs(v) < 50 or v == -math.inf for v in cells) and len(set(cells)) == len(cells)


LAWS = (ruled, first_order, second_order, one_cell)
