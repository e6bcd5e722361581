"""y[j, i] = x[i, j]; with `perm`, axis k of y is axis perm[k] of x.

x (…, n, m) → y (…, m, n). Moves numbers, no arithmetic. Rejected where perm is not a permutation
of the axes.
"""

from __future__ import annotations

from ..core import masks
from ..core.axes import Spec, need_rank
from ..core.cells import Cell
from ..core.errors import Rejected
from ..core.nested import at, build
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register
from ..core.words import shown


def shape(x: Spec, *, perm: tuple | None = None) -> Spec:
    if perm is None:
        need_rank(2, x=x)
    elif not isinstance(perm, tuple) or any(type(k) is not int for k in perm):
        raise Rejected(f"perm is {shown(perm)}; expected a tuple of axes")
    elif sorted(perm) != list(range(x.rank)):
        raise Rejected(f"perm is {shown(perm)}; expected each axis from 0 to {x.rank - 1} once")
    order = _order(x, perm)
    return Spec(tuple(x.shape[k] for k in order), tuple(x.axes[k] for k in order), x.kind)


def _order(x: Spec, perm: tuple | None) -> tuple[int, ...]:
    return perm if perm is not None else (*range(x.rank - 2), x.rank - 1, x.rank - 2)


def transpose(x):
    return list(map(list, zip(*x)))


def empty(x, rows):
    return [[] for _ in range(rows)]


def permute(x, shape, order):
    return build(shape, lambda *index: at(x, permuted(index, order)))


def permuted(index, order):
    return tuple(i for _, i in sorted(zip(order, index)))


def kernel(numbers: Numbers, x: Spec, *, perm) -> Kernel:
    order = _order(x, perm)
    if order[:-2] == tuple(range(x.rank - 2)) and order[-2:] == (x.rank - 1, x.rank - 2):
        return Kernel(transpose, 2) if x.shape[-2] else Kernel(empty, 2, rows=x.shape[-1])
    return Kernel(permute, x.rank, shape=shape(x, perm=perm).shape, order=order)


def gradient(g, dy, y, x, *, perm):
    return (g.transpose(dy, perm=None if perm is None else permuted(range(len(perm)), perm)),)


def in_torch(x: Spec, *, perm):
    return "{x}.transpose(-2, -1)" if perm is None else "{x}.permute({perm})"


def onnx(o, x, *, perm):
    return o.Transpose(x, perm=_order(x, perm))


def explain(index, x: Spec, *, perm):
    return Cell(0, permuted(index, _order(x, perm)))


LETTERS = "ijklmnop"


def stated(x: Spec, *, perm) -> str:
    if perm is None:
        return "y[j, i] = x[i, j]"
    if x.rank > len(LETTERS):
        return f"axis k of y is axis {perm}[k] of x"
    return f"y[{', '.join(LETTERS[k] for k in perm)}] = x[{', '.join(LETTERS[: x.rank])}]"


register(
    Op(
        name="transpose",
        title="transpose",
        glyph="ᵀ",
        family="move",
        formula="y[j, i] = x[i, j]",
        stated=stated,
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        explain=explain,
        linear=(("x",),),
        gradient=gradient,
        cost=lambda x, **_: 0,
        masked=masks.moved,
        moves=True,
        drawn="inside",
        symbol="{x}ᵀ",
        note=lambda x, *, perm: "" if perm is None else f"perm {perm}",
        samples=(
            Sample(([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],)),
            Sample(([[[1.0, 2.0]], [[3.0, 4.0]]],)),
            Sample(([[[1.0, 2.0]], [[3.0, 4.0]]],), {"perm": (2, 0, 1)}),
            Sample(([1.0, 2.0],), {"perm": (0,)}),
            Sample(([[], []],)),
        ),
        rejects=(
            Reject((Spec((3,)),), {}, "x has rank 1; expected rank 2 or more"),
            Reject((Spec((3, 2)),), {"perm": (1.0, 0)}, "perm is (1.0, 0); expected a tuple of axes"),
            Reject((Spec((3, 2)),), {"perm": (0, 0)}, "perm is (0, 0); expected each axis from 0 to 1 once"),
        ),
    )
)
