"""Ops that treat every cell alike: what they share, so that each op's file states only itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import cells, masks, nested
from .axes import Spec, broadcast, describe, need_kind
from .cells import Cell, Expression
from .numbers import Numbers
from .op import Kernel, Op, Reject, Sample


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


def cell_of(slot: int, spec: Spec, index: Sequence[int]) -> Cell:
    """The cell of a broadcast operand that goes into the result's cell at `index`."""
    tail = index[len(index) - spec.rank :]
    return Cell(slot, tuple(0 if size == 1 else i for i, size in zip(tail, spec.shape, strict=True)))


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
    **more: Any,
) -> Op:
    """An op that combines two operands cell by cell, stretching axes of size 1."""

    def kernel(numbers: Numbers, a: Spec, b: Spec) -> Kernel:
        return Kernel(function(numbers), 0, 0)

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
            "shape": paired,
            "kernel": kernel,
            "explain": explain,
            "cost": lambda a, b: paired(a, b).size,
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
                    "a = a (token 2 × feature 3), b = b (token 2 × feature 4): sizes 3 and 4 on axis -1"
                    " do not agree; expected equal sizes, or 1",
                ),
                Reject((Spec((2,)), Spec((2,), kind="bool")), {}, "b holds bool; expected float"),
            ),
            **more,
        }
    )


def both_bool(a: Spec, b: Spec) -> Spec:
    """The result of a logical op on two operands."""
    need_kind("bool", a=a, b=b)
    return Spec(*broadcast(a, b), "bool")


def logical(name: str, glyph: str, formula: str, function: Callable[[Any, Any], Any]) -> Op:
    """An op that combines two bools cell by cell, stretching axes of size 1."""
    matrix, other = [[True, False, True], [True, True, False]], [[True, True, False], [False, True, False]]
    return binary(
        name,
        glyph,
        formula,
        lambda numbers: function,
        title=name.removeprefix("logical_"),
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


__all__ = ["binary", "cell_of", "describe", "logical", "nested", "paired", "same", "unary", "x_like"]
