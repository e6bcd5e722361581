"""Cells that move: shapes, pieces, repetitions, padding."""

from __future__ import annotations

from math import isfinite, prod
from typing import Any

from ....core.axes import Spec, broadcast, position
from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import flat, shown
from ...call import rank
from ..operator import Cells, Outputs, Static, integers, only, operator, switch, whole
from .places import along, cut, known, nothing


@operator("transposed")
def Transpose(g: Graph, data: Cells, *, perm: list[int] | None = None) -> Outputs:
    """Axis k of the result is axis perm[k]; all axes the other way round where perm is not given."""
    order = tuple(reversed(range(len(data.shape)))) if perm is None else tuple(integers("perm", perm))
    return [g.transpose(data, perm=order)]


@operator("outputs")
def Split(
    g: Graph, input: Cells, split: Static | None = None, *, axis: int = 0, num_outputs: int | None = None,
    outputs: int | None = None,
) -> Outputs:  # fmt: skip
    """Pieces along `axis` (0) of the sizes `split`, or num_outputs pieces, the last of which may be smaller."""
    n = input.shape[position(axis, len(input.shape))]
    if split is None:
        count = whole("num_outputs", outputs if num_outputs is None else num_outputs, 1)
        size = -(-n // count)
        split = [max(0, min(size, n - i * size)) for i in range(count)]
    pieces = g.split(input, tuple(integers("split", split)), axis=axis)
    return pieces if isinstance(pieces, tuple) else [pieces]


@operator("concat_result")
def Concat(g: Graph, *inputs: Cells, axis: int = 1) -> Outputs:
    """The inputs one after another along `axis`."""
    return [g.concat(*inputs, axis=axis)]


@operator("output")
def Trilu(g: Graph, input: Cells, k: Static | None = None, *, upper: int = 1) -> Outputs:
    """What is on or above (upper=0: below) the k-th diagonal; 0 elsewhere."""
    diagonal: Any = 0 if k is None else only(k)
    return [g.trilu(input, k=diagonal, upper=switch("upper", upper))]


@operator("reshaped")
def Reshape(g: Graph, data: Cells, shape: Static | None = None, *, allowzero: int = 0) -> Outputs:
    """The cells in another shape; −1 is what is left, and 0 keeps a size unless allowzero."""
    sizes = [
        data.shape[i] if size == 0 and not allowzero and i < len(data.shape) else size
        for i, size in enumerate([] if shape is None else integers("shape", shape))
    ]
    return [g.reshape(data, tuple(sizes))]


@operator("output")
def Expand(g: Graph, input: Cells, shape: Static | None = None) -> Outputs:
    """The input stretched to what it and `shape` broadcast to."""
    sizes = broadcast(input.spec, Spec(tuple([] if shape is None else integers("shape", shape))))[0]
    return [g.broadcast(input, sizes)]


@operator("output")
def Flatten(g: Graph, input: Cells, *, axis: int = 1) -> Outputs:
    """A matrix: the axes before `axis` are its rows."""
    place = len(input.shape) if axis == len(input.shape) else position(axis, len(input.shape))
    return [g.reshape(input, (prod(input.shape[:place]), prod(input.shape[place:])))]


@operator("expanded")
def Unsqueeze(g: Graph, data: Cells, axes: Static | None = None) -> Outputs:
    """With axes of size 1 put in at these places of the result."""
    given = [] if axes is None else integers("axes", axes)
    total = len(data.shape) + len(given)
    places = {position(axis, total) for axis in given}
    if len(places) != len(given):
        raise GraphError(f"axes is {given}; expected each place once")
    rest = iter(data.shape)
    return [g.reshape(data, tuple(1 if i in places else next(rest) for i in range(total)))]


@operator("squeezed")
def Squeeze(g: Graph, data: Cells, axes: Static | None = None) -> Outputs:
    """Without these axes, or without any axis of size 1."""
    places = [i for i, size in enumerate(data.shape) if size == 1]
    if axes is not None:
        places = [position(axis, len(data.shape)) for axis in integers("axes", axes)]
    return [g.reshape(data, tuple(size for i, size in enumerate(data.shape) if i not in places))]


@operator("output")
def Slice(
    g: Graph, data: Cells, starts: Static | None = None, ends: Static | None = None, axes: Static | None = None,
    steps: Static | None = None,
) -> Outputs:  # fmt: skip
    """data[…, start:end:step, …] on these axes (from the first on), cut to what there is."""
    first, last = integers("starts", starts), integers("ends", ends)
    places = list(range(len(first))) if axes is None else integers("axes", axes)
    by = [1] * len(first) if steps is None else integers("steps", steps)
    if not len(first) == len(last) == len(places) == len(by):
        raise GraphError("starts, ends, axes and steps differ in length; expected one of each for each axis")
    if 0 in by:
        raise GraphError("steps holds 0; expected steps other than 0")
    parts = [":"] * len(data.shape)
    for start, end, axis, step in zip(first, last, places, by):
        place = position(axis, len(data.shape))
        n = data.shape[place]
        parts[place] = cut(range(n)[start:end:step])
    return [g.slice(data, ", ".join(parts))] if parts else [data]


@operator("output")
def Tile(g: Graph, input: Cells, repeats: Static | None = None, axis: Static | None = None) -> Outputs:
    """The input side by side with itself, so many times along each axis (before opset 6: along one)."""
    times = integers("repeats", list(flat(repeats)))
    if axis is not None:
        place = position(int(next(flat(axis))), len(input.shape))
        times = [times[0] if i == place else 1 for i in range(len(input.shape))]
    if len(times) != len(input.shape):
        raise GraphError(f"repeats is {times}; expected one number for each of {len(input.shape)} axes")
    y = input
    for place, count in enumerate(times):
        if count == 0:
            return [nothing(g, input, tuple(n * t for n, t in zip(input.shape, times)))]
        y = y if count == 1 else g.concat(*[y] * count, axis=place)
    return [y]


@operator("output")
def DepthToSpace(g: Graph, input: Cells, *, blocksize: int, mode: str = "DCR") -> Outputs:
    """Channels (b, c, h, w) as squares of blocksize × blocksize; mode DCR: depth outermost, CRD: innermost."""
    rank("input", input, 4)
    b, c, h, w = input.shape
    s = whole("blocksize", blocksize, 1)
    if mode not in ("DCR", "CRD"):
        raise GraphError(f"mode is {shown(mode)}; expected DCR or CRD")
    deep = c // (s * s)
    sizes, perm = ((b, s, s, deep, h, w), (0, 3, 4, 1, 5, 2)) if mode == "DCR" else (
        (b, deep, s, s, h, w), (0, 1, 4, 2, 5, 3)
    )  # fmt: skip
    parts = g.transpose(g.reshape(input, sizes, name="parts"), perm=perm, name="turned")
    return [g.reshape(parts, (b, deep, h * s, w * s))]


@operator("output")
def SpaceToDepth(g: Graph, input: Cells, *, blocksize: int, mode: str = "DCR") -> Outputs:
    """Squares of blocksize × blocksize as channels; mode as for DepthToSpace."""
    rank("input", input, 4)
    b, c, h, w = input.shape
    s = whole("blocksize", blocksize, 1)
    parts = g.reshape(input, (b, c, h // s, s, w // s, s), name="parts")
    if mode not in ("DCR", "CRD"):
        raise GraphError(f"mode is {shown(mode)}; expected DCR or CRD")
    perm = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    turned = g.transpose(parts, perm=perm, name="turned")
    return [g.reshape(turned, (b, c * s * s, h // s, w // s))]


@operator("output")
def Pad(
    g: Graph, data: Cells, pads: Static | None = None, constant_value: Cells | None = None,
    axes: Static | None = None, *, mode: str = "constant", value: float = 0.0,
    paddings: list[int] | None = None,
) -> Outputs:  # fmt: skip
    """pads holds all that comes before, then all that comes after, on these axes (all); below 0 it is cut
    off. mode: constant, reflect (without the edge), edge, wrap."""
    given = integers("pads", list(flat(pads if paddings is None else paddings)))
    rank = len(data.shape)
    places = list(range(rank)) if axes is None else [position(int(a), rank) for a in flat(axes)]
    if len(given) != 2 * len(places):
        raise GraphError(f"pads is {given}; expected two numbers for each of {len(places)} axes")
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise GraphError(f"mode is {shown(mode)}; expected constant, reflect, edge or wrap")
    y = data
    for place, before, after in zip(places, given, given[len(places) :]):
        if mode == "constant":
            y = _filled(g, y, place, before, after, constant_value, value)
        else:
            n = y.shape[place]
            y = along(g, y, [_beyond(i, n, mode) for i in range(-before, n + after)], place)
    return [y]


def _filled(
    g: Graph, x: Tensor, place: int, before: int, after: int, cell: Tensor | None, value: float
) -> Tensor:
    """x with one value before and after, or with parts cut off."""
    n = x.shape[place]
    x = along(g, x, range(max(0, -before), n - max(0, -after)), place)
    front, back = max(0, before), max(0, after)
    if not front and not back:
        return x
    fixed = value if cell is None else next(flat(known(cell)), 0) if known(cell) is not None else None
    if fixed is not None:
        fixed = bool(fixed) if x.kind == "bool" else int(fixed) if x.kind == "int" else float(fixed)
        fixed = str(fixed) if isinstance(fixed, float) and not isfinite(fixed) else fixed
        return g.pad(x, front, back, axis=place, value=fixed)
    assert cell is not None
    cell = g.reshape(cell, (), name="cell") if cell.shape else cell

    def block(count: int) -> list[Tensor]:
        return [g.broadcast(cell, (*x.shape[:place], count, *x.shape[place + 1 :]))] if count else []

    return g.concat(*block(front), x, *block(back), axis=place)


def _beyond(i: int, n: int, mode: str) -> int:
    """The index within n that stands for one outside."""
    if not n:
        raise GraphError(f"mode is {mode} and an axis is empty; expected cells to repeat")
    if mode == "edge":
        return min(max(i, 0), n - 1)
    if mode == "wrap" or n == 1:
        return i % n
    i %= 2 * (n - 1)
    return i if i < n else 2 * (n - 1) - i


@operator("output_data")
def CenterCropPad(g: Graph, input_data: Cells, shape: Static, *, axes: list[int] | None = None) -> Outputs:
    """The middle of the input, or zeros around it, in these sizes."""
    wanted = integers("shape", list(flat(shape)))
    rank, y = len(input_data.shape), input_data
    places = list(range(rank)) if axes is None else [position(a, rank) for a in axes]
    for place, size in zip(places, wanted):
        n = y.shape[place]
        if size < n:
            start = (n - size) // 2
            y = along(g, y, range(start, start + size), place)
        elif size > n:
            before = (size - n) // 2
            y = g.pad(y, before, size - n - before, axis=place, value=False if y.kind == "bool" else 0)
    return [y]
