"""Ops that treat every cell alike: what they share, so that each op's file states only itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from . import cells, masks
from .axes import Spec, broadcast, need_kind
from .cells import Cell, Expression
from .numbers import Numbers
from .op import Kernel, Op, Reject, Sample

PI = "3.14159265358979323846264338327950288419716939937510582097494459"
"""π as decimal text, which each number type reads to its own precision."""


def same(x: Spec) -> Spec:
    """The result is like the operand."""
    need_kind("float", x=x)
    return x_like(x)


def x_like(x: Spec, kind: str = "float") -> Spec:
    """Shape and axes of `x`, without its value."""
    return Spec(x.shape, x.axes, kind)


def paired(a: Spec, b: Spec) -> Spec:
    """The result of an elementwise op on two operands."""
    need_kind("float", a=a, b=b)
    return Spec(*broadcast(a, b))


def numeric(a: Spec, b: Spec) -> Spec:
    """The result of an elementwise op on two operands, floats or (exact, of any size) integers."""
    need_kind(("float", "int"), a=a)
    need_kind(a.kind, b=b)
    return Spec(*broadcast(a, b), a.kind)


def cell_of(slot: int, spec: Spec, index: Sequence[int]) -> Cell:
    """The cell of a broadcast operand that goes into the result's cell at `index`."""
    tail = index[len(index) - spec.rank :]
    return Cell(slot, tuple(0 if size == 1 else i for i, size in zip(tail, spec.shape, strict=True)))


def unbroadcast(g: Any, dy: Any, operand: Any) -> Any:
    """The cotangent of an operand that was stretched to the shape of `dy`: what arrives in all the
    places where a cell went, summed up."""
    lead = len(dy.shape) - len(operand.shape)
    if lead > 1:
        dy, lead = g.reshape(dy, (prod(dy.shape[:lead]), *dy.shape[lead:])), 1
    for place, size in enumerate((1,) * lead + operand.shape):
        if size == 1 != dy.shape[place]:
            dy = g.reduce_sum(dy, axis=place)
    return dy if dy.shape == operand.shape else g.reshape(dy, operand.shape, axes=operand.axes)


def times(g: Any, a: Any, b: Any, name: str | None = None) -> Any:
    """a · b in a rule for gradients, where a cotangent of exactly 0 says that nothing depends on the
    cell: it stays 0, whatever it is multiplied with."""
    return g.multiply(a, b, absorb_zeros=True, name=name)


def over(g: Any, a: Any, b: Any, name: str | None = None) -> Any:
    """a / b in a rule for gradients; as `times`."""
    return g.divide(a, b, absorb_zeros=True, name=name)


def unary(
    name: str,
    glyph: str,
    formula: str,
    function: Callable[[Numbers], Callable[[Any], Any]],
    samples: tuple[Sample, ...] = (),
    **more: Any,
) -> Op:
    """An op that applies one function of the number type to every cell."""

    def kernel(numbers: Numbers, x: Spec) -> Kernel:
        return Kernel(function(numbers), 0)

    def explain(index: tuple[int, ...], x: Spec) -> Expression:
        return cells.Apply(name, (Cell(0, index),))

    own = (
        Sample(([[0.5, -1.25, 2.0], [0.0, 1.0, -3.0]],)),
        Sample(([0.75],)),
        Sample(([[[1.5]], [[-0.5]]],)),
        Sample(([[], []],)),
    )
    return Op(
        **{
            "name": name,
            "title": name,
            "glyph": glyph,
            "family": "function",
            "formula": formula,
            "level": "primitive",
            "shape": same,
            "kernel": kernel,
            "explain": explain,
            "cost": lambda x: x.size,
            "masked": masks.united,
            "samples": samples or own,
            "rejects": (Reject((Spec((2,), kind="bool"),), {}, "x holds bool; expected float"),),
            **more,
        }
    )


def binary(
    name: str,
    glyph: str,
    formula: str,
    function: Callable[[Numbers], Callable[[Any, Any], Any]],
    integers: Callable[[int, int], int] | None = None,
    **more: Any,
) -> Op:
    """An op that combines two operands cell by cell, stretching axes of size 1. With `integers`, the
    function for two of them, the operands may also both be integers (exact, of any size)."""

    def kernel(numbers: Numbers, a: Spec, b: Spec) -> Kernel:
        return Kernel(integers if integers and a.kind == "int" else function(numbers), 0, 0)

    def explain(index: tuple[int, ...], a: Spec, b: Spec) -> Expression:
        return cells.Apply(name, (cell_of(0, a, index), cell_of(1, b, index)))

    matrix, other = [[1.5, -2.0, 0.25], [0.1, 3.0, -0.5]], [[0.5, 4.0, -1.0], [2.0, -0.3, 8.0]]
    return Op(
        **{
            "name": name,
            "title": name,
            "glyph": glyph,
            "family": "function",
            "formula": formula,
            "level": "primitive",
            "shape": numeric if integers else paired,
            "kernel": kernel,
            "explain": explain,
            "cost": lambda a, b: Spec(*broadcast(a, b)).size,
            "masked": masks.united,
            "samples": (
                Sample((matrix, other)),
                Sample((matrix, [0.5, -1.0, 2.0])),
                Sample(([[1.0], [2.0]], matrix)),
                Sample((matrix, 0.3)),
                Sample(([[[1.0, 2.0]], [[3.0, 4.0]]], [[0.5], [-0.25]])),
                Sample(([], [])),
            ),
            "rejects": (
                Reject(
                    (Spec((2, 3), ("token", "feature")), Spec((2, 4), ("token", "feature"))),
                    {},
                    "sizes 3 and 4 on axis -1 do not agree; expected equal sizes, or 1"
                    " (a is token 2 × feature 3; b is token 2 × feature 4)",
                ),
                Reject((Spec((2,)), Spec((2,), kind="bool")), {}, "b holds bool; expected float"),
            ),
            **more,
        }
    )


def absorbing(
    name: str,
    glyph: str,
    formula: str,
    function: Callable[[Numbers], Callable[[Any, Any], Any]],
    row: Callable[..., Any],
    cell: Callable[..., Any],
    explained: str,
    integers: Callable[[int, int], int] | None = None,
    **more: Any,
) -> Op:
    """A binary op with the attribute `absorb_zeros`: what a factor of exactly 0 hides never leaks.
    `row` and `cell` compute it where that is asked for."""

    def shape(a: Spec, b: Spec, *, absorb_zeros: bool = False) -> Spec:
        return numeric(a, b) if integers and not absorb_zeros else paired(a, b)

    def kernel(numbers: Numbers, a: Spec, b: Spec, *, absorb_zeros: bool) -> Kernel:
        if integers and a.kind == "int":
            return Kernel(integers, 0, 0)
        if not absorb_zeros:
            return Kernel(function(numbers), 0, 0)
        rank = 1 if a.rank and b.rank else 0
        return Kernel(
            row if rank else cell, rank, rank,
            pair=function(numbers), finite=numbers.finite, zero=numbers.lift(0),
        )  # fmt: skip

    def explain(index: tuple[int, ...], a: Spec, b: Spec, *, absorb_zeros: bool) -> Expression:
        return cells.Apply(explained if absorb_zeros else name, (cell_of(0, a, index), cell_of(1, b, index)))

    op = binary(
        name, glyph, formula, function, integers, shape=shape, kernel=kernel, explain=explain,
        cost=lambda a, b, *, absorb_zeros: Spec(*broadcast(a, b)).size, **more,
    )  # fmt: skip
    zeros, wild = [[0.0, -0.0, 2.0]], [[float("inf"), float("nan"), float("inf")]]
    more_samples = (
        Sample((zeros, wild), {"absorb_zeros": True}),
        Sample((wild, zeros), {"absorb_zeros": True}),
        Sample((zeros, zeros), {"absorb_zeros": True}),
        Sample(([[0.0], [1.0]], [[0.5, -1.0, float("nan")]]), {"absorb_zeros": True}),
        Sample((0.0, [[float("inf")]]), {"absorb_zeros": True}),
    )
    return replace(op, samples=(*op.samples, *more_samples))


def absorbed(o: Any, y: Any, *factors: Any) -> Any:
    """y in ONNX, with 0 where it is not finite and a factor is exactly 0; y, which is said, where that is
    not asked for."""
    if not o.absorbs:
        o.say("infinity and NaN beside a factor of exactly 0 give NaN, not 0")
        return y
    hides = o.Equal(factors[0], 0.0)
    for factor in factors[1:]:
        hides = o.Or(hides, o.Equal(factor, 0.0))
    return o.Where(o.And(hides, o.Or(o.IsInf(y), o.IsNaN(y))), 0.0, y)


def both_bool(a: Spec, b: Spec) -> Spec:
    """The result of a logical op on two operands."""
    need_kind("bool", a=a, b=b)
    return Spec(*broadcast(a, b), "bool")


def logical(
    name: str, glyph: str, formula: str, function: Callable[[Any, Any], Any], operator: str, torch: str
) -> Op:
    """An op that combines two bools cell by cell, stretching axes of size 1; ONNX calls it `operator`."""
    matrix, other = [[True, False, True], [True, True, False]], [[True, True, False], [False, True, False]]
    return binary(
        name,
        glyph,
        formula,
        lambda numbers: function,
        title=name.removeprefix("logical_"),
        onnx=operator,
        torch=torch,
        family="mask",
        shape=both_bool,
        cost=lambda a, b: 0,
        masked=None,
        samples=(
            Sample((matrix, other)),
            Sample((matrix, [True, True, False])),
            Sample(([[True], [False]], matrix)),
            Sample(([[matrix]], [[[True]], [[False]]])),
            Sample((matrix, False)),
        ),
        rejects=(
            Reject((Spec((2,), kind="bool"), Spec((2,))), {}, "b holds float; expected bool"),
            Reject((Spec((2,), kind="int"), Spec((2,), kind="bool")), {}, "a holds int; expected bool"),
            Reject(
                (Spec((2, 3), kind="bool"), Spec((2, 4), kind="bool")),
                {},
                "sizes 3 and 4 on axis -1 do not agree; expected equal sizes, or 1",
            ),
        ),
    )
