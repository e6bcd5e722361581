"""x with cells added along an axis: `before` in front, `after` behind, each of them = value.

x: any rank from 1, any kind; before, after: ints of 0 or more; value: a number or decimal text for
floats, an int for ints, True or False for bools. A −∞ that is added hides, as in a constant. Moves
numbers, and brings in one.
"""

from __future__ import annotations

from math import inf, isfinite

from ..core.axes import Spec, need_rank, need_size, position
from ..core.cells import Cell, Literal
from ..core.errors import Rejected
from ..core.nested import full, lift, shown
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register

EXPECTED = {"float": "a number", "int": "an int", "bool": "True or False"}


def shape(x: Spec, before: int, after: int, *, axis: int = -1, value: float | str | bool = 0) -> Spec:
    need_size("before", before)
    need_size("after", after)
    need_rank(1, x=x)
    place = position(axis, x.rank)
    _value(x, value)
    return Spec((*x.shape[:place], before + x.shape[place] + after, *x.shape[place + 1 :]), x.axes, x.kind)


def _value(x: Spec, value):
    """The value as a cell of x; 0 is False for bools."""
    try:
        if x.kind == "bool" and (isinstance(value, bool) or value == 0):
            return bool(value)
        if x.kind == "int" and isinstance(value, int) and not isinstance(value, bool):
            return value
        if x.kind == "float" and not isinstance(value, bool):
            return float(value)
    except OverflowError:  # an int beyond all floats, which rounds as decimal text does
        return inf if value > 0 else -inf
    except (TypeError, ValueError):
        pass
    raise Rejected(f"value is {shown(value)}; expected {EXPECTED[x.kind]} for {x.kind} cells")


def _cell(x: Spec, value):
    """The value as a cell of x, or as decimal text, which each number type reads to its own precision."""
    return value if isinstance(value, str) else _value(x, value)


def pad(x, before, after, shape, value):
    front = [full(shape, value) for _ in range(before)]
    return front + x + [full(shape, value) for _ in range(after)]


def kernel(numbers: Numbers, x: Spec, *, before, after, axis, value) -> Kernel:
    place = position(axis, x.rank)
    return Kernel(
        pad, x.rank - place, before=before, after=after, shape=x.shape[place + 1 :], value=_value(x, value)
    )


def expand(g, x, *, before, after, axis, value):
    place = position(axis, len(x.shape))
    cell = _cell(x.spec, value)
    for _ in x.shape:
        cell = (cell,)
    parts = [x]
    for name, count in (("front", before), ("back", after)):
        if count:
            filling = g.constant(cell, name=f"{name}_value")
            block = g.broadcast(filling, (*x.shape[:place], count, *x.shape[place + 1 :]), name=name)
            parts.insert(0 if name == "front" else len(parts), block)
    return g.concat(*parts, axis=place, name="joined")


def gradient(g, dy, y, x, *, before, after, axis, value):
    size = x.shape[position(axis, len(x.shape))]
    return (g.split(dy, (before, size, after), axis=axis)[1],)


def in_torch(x: Spec, *, before, after, axis, value):
    around = f"{'0, 0, ' * (x.rank - 1 - position(axis, x.rank))}{before}, {after}"
    cell = _value(x, value)
    told = cell if isfinite(cell) else f'float("{cell}")'
    return f"F.pad({{x}}, ({around}), value={told})"


def onnx(o, x, *, before, after, axis, value):
    place = position(axis, x.rank)
    pads = [0] * (2 * x.rank)
    pads[place], pads[x.rank + place] = before, after
    return o.Pad(x, tuple(pads), _value(x.spec, value))


def explain(index, x: Spec, *, before, after, axis, value):
    place = position(axis, x.rank)
    at = index[place] - before
    if 0 <= at < x.shape[place]:
        return Cell(0, (*index[:place], at, *index[place + 1 :]))
    return Literal(_cell(x, value), str(value) if isinstance(value, (str, float)) else shown(value))


def masked(run, masks, values, x: Spec, *, before, after, axis, value):
    hides = x.kind == "float" and _value(x, value) == float("-inf")
    if masks[0] is None and not (hides and before + after):
        return None
    own = full(x.shape, False) if masks[0] is None else masks[0]
    place = position(axis, x.rank)
    inside = x.shape[place + 1 :]
    return lift(lambda block: pad(block, before, after, inside, hides), [x.rank - place], [x.shape])(own)


register(
    Op(
        name="pad",
        title="pad",
        glyph="⊏",
        family="move",
        formula="x, with cells of one value before and after",
        level="op",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        expand=expand,
        explain=explain,
        linear=lambda x, *, before, after, axis, value: (
            (("x",),) if x.kind == "float" and float(value) == 0.0 else ()
        ),
        gradient=gradient,
        cost=lambda x, **_: 0,
        masked=masked,
        moves=True,
        note=lambda x, *, before, after, axis, value: (
            f"{before} before, {after} after: {value if isinstance(value, str) else shown(value)}"
        ),
        samples=(
            Sample(([[1.0, 2.0], [3.0, 4.0]],), {"before": 1, "after": 2}),
            Sample(([[1.0, 2.0], [3.0, 4.0]],), {"before": 0, "after": 1, "axis": 0, "value": "-inf"}),
            Sample(([[[1.0], [2.0]]],), {"before": 1, "after": 0, "axis": -2, "value": "0.1"}),
            Sample(([True, False],), {"before": 1, "after": 1, "value": True}),
            Sample(([3, 1],), {"before": 2, "after": 0, "value": -1}),
            Sample(([[1.5]],), {"before": 0, "after": 0}),
            Sample(([[], []],), {"before": 0, "after": 2, "value": float("-inf")}),
        ),
        rejects=(
            Reject((Spec((2,)),), {"before": -1, "after": 0}, "before must be an int of 0 or more, got -1"),
            Reject((Spec(()),), {"before": 1, "after": 0}, "x has rank 0; expected rank 1 or more"),
            Reject(
                (Spec((2,)),),
                {"before": 1, "after": 0, "value": True},
                "value is True; expected a number for float cells",
            ),
            Reject(
                (Spec((2,), kind="int"),),
                {"before": 1, "after": 0, "value": 0.5},
                "value is 0.5; expected an int for int cells",
            ),
            Reject(
                (Spec((2,), kind="bool"),),
                {"before": 1, "after": 0, "value": 1},
                "value is 1; expected True or False for bool cells",
            ),
        ),
    )
)
