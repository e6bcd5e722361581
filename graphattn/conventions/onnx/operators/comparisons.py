"""Comparisons, logic, and choices."""

from __future__ import annotations

from ....core.graph import Graph, Tensor
from ..operator import Bools, Cells, Numbers, Outputs, operator, switch
from .elementwise import aligned
from .places import alike


@operator("output")
def Where(g: Graph, condition: Bools, X: Cells, Y: Cells) -> Outputs:
    """X where the condition holds, Y elsewhere."""
    return [g.where(condition, X, Y)]


@operator("C")
def Less(
    g: Graph, A: Numbers, B: Numbers, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A < B."""
    return [g.less(*alike(g, A, aligned(g, A, B, broadcast, axis, opset)))]


@operator("C")
def Greater(
    g: Graph, A: Numbers, B: Numbers, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A > B."""
    return [g.less(*reversed(alike(g, A, aligned(g, A, B, broadcast, axis, opset))))]


@operator("C")
def LessOrEqual(g: Graph, A: Numbers, B: Numbers) -> Outputs:
    """A ≤ B."""
    a, b = alike(g, A, B)
    return [g.logical_or(g.less(a, b, name="less"), g.equal(a, b, name="equal"))]


@operator("C")
def GreaterOrEqual(g: Graph, A: Numbers, B: Numbers) -> Outputs:
    """A ≥ B."""
    return LessOrEqual.build(g, B, A)


@operator("C")
def Equal(
    g: Graph, A: Cells, B: Cells, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A = B."""
    a, b = alike(g, A, aligned(g, A, B, broadcast, axis, opset))
    if a.kind == "bool":
        return [g.logical_not(_either(g, a, b))]
    return [g.equal(a, b)]


def _either(g: Graph, a: Tensor, b: Tensor) -> Tensor:
    """One of the two, and not both."""
    both = g.logical_and(a, b, name="both")
    return g.logical_and(g.logical_or(a, b, name="one"), g.logical_not(both, name="not_both"))


@operator("C")
def And(
    g: Graph, A: Bools, B: Bools, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A and B."""
    return [g.logical_and(A, aligned(g, A, B, broadcast, axis, opset))]


@operator("C")
def Or(
    g: Graph, A: Bools, B: Bools, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """A or B."""
    return [g.logical_or(A, aligned(g, A, B, broadcast, axis, opset))]


@operator("C")
def Xor(
    g: Graph, A: Bools, B: Bools, *, broadcast: int = 0, axis: int | None = None, opset: int | None = None
) -> Outputs:
    """One of A and B, and not both."""
    return [_either(g, A, aligned(g, A, B, broadcast, axis, opset))]


@operator("Y")
def Not(g: Graph, X: Bools) -> Outputs:
    """not X."""
    return [g.logical_not(X)]


@operator("Y")
def IsNaN(g: Graph, X: Tensor) -> Outputs:
    """Whether x is NaN: it does not equal itself."""
    return [g.logical_not(g.equal(X, X))]


@operator("Y")
def IsInf(g: Graph, X: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Outputs:
    """Whether x is an infinity, of the signs that are asked for."""
    found = [
        g.equal(X, g.constant(value), name=name)
        for value, name, wanted in (
            ("inf", "positive", switch("detect_positive", detect_positive)),
            ("-inf", "negative", switch("detect_negative", detect_negative)),
        )
        if wanted
    ]
    if not found:
        return [g.less(X, X)]
    return [found[0] if len(found) == 1 else g.logical_or(*found)]
