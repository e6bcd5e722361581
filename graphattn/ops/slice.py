"""Part of a tensor, as Python indexes it: slice(x, ":, 1:3") is x[:, 1:3], and slice(x, "0") is x[0].

x: any rank from 1, any kind; at: for each axis from the first on an index, which takes the axis away, or
start:stop:step, each of which may be left out; "..." stands for as many axes as are left. Below 0 counts
from the end. A slice is cut to what there is, as in Python; an index that does not exist is rejected.
Moves numbers.
"""

from __future__ import annotations

import re

from ..core import masks
from ..core.axes import Spec, need_rank
from ..core.cells import Cell
from ..core.errors import Rejected
from ..core.nested import shown
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register

NUMBER = r"\s*(-?\d{1,18})?\s*"
PART = re.compile(rf"{NUMBER}(?:(:){NUMBER}(?::{NUMBER})?)?")


def shape(x: Spec, at: str) -> Spec:
    need_rank(1, x=x)
    kept = [(len(cut), name) for cut, name in zip(_cuts(x, at), x.axes, strict=True) if isinstance(cut, range)]
    return Spec(tuple(size for size, _ in kept), tuple(name for _, name in kept), x.kind)


def _cuts(x: Spec, at: str) -> list[int | range]:
    """For each axis of x the index, or the range of indices, that is taken."""
    if not isinstance(at, str):
        raise Rejected(f'at is {shown(at)}; expected text like "0" or ":, 1:3"')
    parts = [part.strip() for part in at.split(",")]
    if parts.count("...") > 1:
        raise Rejected(f'at is {shown(at)}; expected "..." once at most')
    missing = x.rank - len(parts) + ("..." in parts)
    if missing < 0:
        raise Rejected(f"at is {shown(at)}: {len(parts)} indices for {x.rank} axes; expected as many at most")
    place = parts.index("...") if "..." in parts else len(parts)
    parts[place : place + 1] = [":"] * missing
    return [_cut(part, size, axis) for axis, (part, size) in enumerate(zip(parts, x.shape, strict=True))]


def _cut(part: str, size: int, axis: int) -> int | range:
    found = PART.fullmatch(part)
    if not part or found is None:
        raise Rejected(f"{shown(part)} is no index; expected one like 0, -1, 1:3, ::2 or ...")
    several = found[2] is not None
    start, stop, step = (None if g is None else int(g) for g in (found[1], found[3], found[4]))
    if not several and start is not None:
        if not -size <= start < size:
            expected = f"{-size} to {size - 1}" if size else "no index, since it is empty"
            raise Rejected(f"index {start} does not exist on axis {axis}; expected {expected}")
        return start % size
    if step == 0:
        raise Rejected(f"{shown(part)} has a step of 0; expected another")
    return range(size)[start:stop:step]


def cut(x, cuts):
    """x, each axis cut: an index takes one block, (start, stop, step) takes several."""
    first, rest = cuts[0], cuts[1:]
    if not isinstance(first, tuple):
        return cut(x[first], rest) if rest else x[first]
    start, stop, step = first
    blocks = x[start:stop:step]
    return [cut(block, rest) for block in blocks] if rest else blocks


def kernel(numbers: Numbers, x: Spec, *, at) -> Kernel:
    cuts = [
        (c.start, c.stop if c.stop >= 0 else None, c.step) if isinstance(c, range) else c for c in _cuts(x, at)
    ]
    while len(cuts) > 1 and cuts[-1] == (0, x.shape[len(cuts) - 1], 1):  # whole
        cuts.pop()
    return Kernel(cut, x.rank, cuts=cuts)


def gradient(g, dy, y, x, *, at):
    """dy in the places that were taken, 0 in all others."""
    if not y.spec.size:
        return (g.broadcast(g.constant(0), x.shape),)
    cuts = [range(c, c + 1) if isinstance(c, int) else c for c in _cuts(x.spec, at)]
    dy = g.reshape(dy, tuple(map(len, cuts)), axes=x.axes)
    for place, (taken, size) in enumerate(zip(cuts, x.shape, strict=True)):
        dy = _spread(g, dy, place, taken, size)
    return (dy,)


def _spread(g, dy, place, taken, size):
    """The blocks along an axis where they were taken, and zeros between them."""
    if taken.step < 0:
        dy, taken = g.slice(dy, ":, " * place + "::-1"), taken[::-1]
    step, count = taken.step, len(taken)
    if step > 1 and count > 1:
        before, after = dy.shape[:place], dy.shape[place + 1 :]
        apart = g.pad(g.reshape(dy, (*before, count, 1, *after)), 0, step - 1, axis=place + 1)
        together = g.reshape(apart, (*before, count * step, *after), axes=dy.axes)
        dy = g.slice(together, ":, " * place + f":{(count - 1) * step + 1}")
    before, behind = taken[0], size - 1 - taken[-1]
    return g.pad(dy, before, behind, axis=place) if before or behind else dy


def onnx(o, x, *, at):
    cuts = _cuts(x.spec, at)
    ranges = [range(c, c + 1) if isinstance(c, int) else c for c in cuts]
    first = -1 - 2**31  # before all, where steps go backwards
    starts = tuple(r.start for r in ranges)
    stops = tuple(r.stop if r.stop >= 0 else first for r in ranges)
    y = o.Slice(x, starts, stops, tuple(range(x.rank)), tuple(r.step for r in ranges))
    single = tuple(place for place, c in enumerate(cuts) if isinstance(c, int))
    return o.Squeeze(y, single) if single else y


def in_torch(x: Spec, *, at):
    """PyTorch has no steps back."""
    backward = any(isinstance(cut, range) and cut.step < 0 for cut in _cuts(x, at))
    return "" if backward else "{x}[{at}]"


def explain(index, x: Spec, *, at):
    left = iter(index)
    return Cell(0, tuple(c if isinstance(c, int) else c[next(left)] for c in _cuts(x, at)))


matrix = [[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0], [11.0, 12.0, 13.0, 14.0, 15.0]]

register(
    Op(
        name="slice",
        title="slice",
        glyph="✂",
        family="move",
        formula="y = x[at]",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        explain=explain,
        gradient=gradient,
        cost=lambda x, *, at: 0,
        masked=masks.moved,
        moves=True,
        note=lambda x, *, at: f"[{at}]",
        samples=(
            Sample((matrix,), {"at": "0"}),
            Sample((matrix,), {"at": ":, 1:3"}),
            Sample((matrix,), {"at": "-1, ::2"}),
            Sample((matrix,), {"at": "::-2, 3:0:-2"}),
            Sample((matrix,), {"at": "..., -2"}),
            Sample(([matrix, matrix],), {"at": "1, ..., 1::3"}),
            Sample((matrix,), {"at": "2:1"}),
            Sample(([0.5, 1.5],), {"at": "1"}),
            Sample(([[True, False], [False, True]],), {"at": "::-1"}),
            Sample(([3, 1, 4],), {"at": "1:100"}),
        ),
        rejects=(
            Reject((Spec((3, 2)),), {"at": "3"}, "index 3 does not exist on axis 0; expected -3 to 2"),
            Reject((Spec((3, 0)),), {"at": "0, 0"}, "expected no index, since it is empty"),
            Reject((Spec((3, 2)),), {"at": "0, 0, 0"}, "3 indices for 2 axes; expected as many at most"),
            Reject((Spec((3, 2)),), {"at": "1:2:0"}, "'1:2:0' has a step of 0; expected another"),
            Reject((Spec((3, 2)),), {"at": "x"}, "'x' is no index; expected one like 0, -1, 1:3, ::2 or ..."),
            Reject((Spec((3, 2)),), {"at": "..., ..."}, 'expected "..." once at most'),
            Reject((Spec((3, 2)),), {"at": 0}, 'at is 0; expected text like "0" or ":, 1:3"'),
            Reject((Spec(()),), {"at": "0"}, "x has rank 0; expected rank 1 or more"),
        ),
    )
)
