"""A tensor that is part of the graph.

value: a number or nested lists of numbers, bools or integers. Decimal text ("1e-05") is a number
too, which each number type reads exactly. axes: names, or None. A −∞ in it hides the cell, as in
a float mask.
"""

from __future__ import annotations

import math

from ..core import nested
from ..core.axes import Spec
from ..core.cells import Literal
from ..core.errors import GraphError, Rejected
from ..core.numbers import FLOAT, Numbers
from ..core.op import Kernel, Op, Reject, Sample, register
from ..core.packed import Packed
from ..core.words import shown, spelled


def shape(value: float | str | tuple, *, axes: tuple | None = None) -> Spec:
    try:
        sizes = nested.shape_of(value, "value")
    except GraphError as error:
        raise Rejected(str(error)) from None
    kinds = {float} if isinstance(value, Packed) else set(map(type, nested.flat(value)))
    for kind in sorted(kinds - {bool, int, float, str}, key=str):
        raise Rejected(f"value holds a {kind.__name__}; expected numbers, bools or decimal text")
    if bool in kinds and len(kinds) > 1:
        raise Rejected("value mixes kinds; expected numbers alone, or bools alone")
    kind = _kind(kinds, sizes)
    if kind == "float" and kinds != {float}:
        for cell in nested.flat(value):
            _number(cell)
    if axes is not None and len(axes) != len(sizes):
        raise Rejected(f"{len(axes)} axis names for {len(sizes)} axes; expected as many")
    return Spec(sizes, axes or (), kind)


def _kind(kinds: set[type], sizes: tuple[int, ...]) -> str:
    return "bool" if kinds == {bool} else "int" if kinds == {int} and sizes else "float"


def _number(cell: float | str) -> float:
    try:
        return float(cell)
    except OverflowError:
        raise Rejected("value holds an integer that no float holds; expected a smaller one") from None
    except ValueError:
        raise Rejected(f"value holds the text {shown(cell)}; expected decimal text like '1e-05'") from None


def constant(value):
    return value


def kernel(numbers: Numbers, *, value, axes) -> Kernel:
    if isinstance(value, Packed) and numbers is FLOAT:
        return Kernel(constant, value=value)
    sizes = nested.shape_of(value)
    kind = _kind(set(map(type, nested.flat(value))), sizes)
    lift = numbers.lift if kind == "float" else constant
    return Kernel(constant, value=nested.lift(lift, [0], [sizes])(value))


def in_torch(*, value, axes):
    if isinstance(value, (list, tuple)):
        return ""
    return str(value) if math.isfinite(float(value)) else f'float("{value}")'


def explain(index, *, value, axes):
    cell = nested.at(value, index)
    return Literal(cell, spelled(cell) if isinstance(cell, int) else str(cell))


def masked(run, masks, values, *, value, axes):
    if (isinstance(value, Packed) and value.finite) or not any(map(_hides, nested.flat(value))):
        return None
    return nested.lift(_hides, [0], [nested.shape_of(value)])(value)


def _hides(cell) -> bool:
    return isinstance(cell, (float, str)) and float(cell) == float("-inf")


def note(*, value, axes) -> str:
    return "" if isinstance(value, (tuple, Packed)) else str(value)


register(
    Op(
        name="constant",
        title="constant",
        glyph="c",
        family="constant",
        formula="part of the graph",
        level="primitive",
        shape=shape,
        torch=in_torch,
        kernel=kernel,
        explain=explain,
        cost=lambda **_: 0,
        masked=masked,
        moves=True,
        drawn="beside",
        note=note,
        samples=(
            Sample((), {"value": 2}),
            Sample((), {"value": "1e-05"}),
            Sample((), {"value": ((0.5, -1.0), (2.0, 0.25)), "axes": ("token", "feature")}),
            Sample((), {"value": ((True, False), (True, True))}),
            Sample((), {"value": (3, 1, 2)}),
            Sample((), {"value": (0.5, "-inf")}),
        ),
        rejects=(
            Reject((), {"value": (1.0, True)}, "value mixes kinds; expected numbers alone, or bools alone"),
            Reject((), {"value": ((1.0,), (1.0, 2.0))}, "value[1] has 2 cells; expected 1"),
            Reject(
                (), {"value": (0.5, None)}, "value holds a NoneType; expected numbers, bools or decimal text"
            ),
            Reject(
                (), {"value": 10**400}, "value holds an integer that no float holds; expected a smaller one"
            ),
            Reject((), {"value": "one"}, "value holds the text 'one'; expected decimal text like '1e-05'"),
        ),
    )
)
