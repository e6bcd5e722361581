"""Convolutions and pooling: windows that slide over the axes after batch and channel.

A window of k cells is k tensors: for each cell of the window, what stands there in every position of the
window. Products and sums of these are ops that exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import shown
from ..operator import Numbers, Outputs, Static, integers, operator, switch, whole
from .elementwise import absolute, largest, summed
from .places import along, cut, floats


@dataclass(frozen=True)
class Windows:
    """How windows of `kernel` cells slide over axes of `sizes`: `begins` and `ends` cells are put before and
    after, `out` positions are taken. `extra` is what ceil_mode puts behind that."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def extra(self) -> tuple[int, ...]:
        reach = (
            (o - 1) * s + (k - 1) * d + 1
            for o, s, k, d in zip(self.out, self.strides, self.kernel, self.dilations)
        )
        padded = (n + b + e for n, b, e in zip(self.sizes, self.begins, self.ends))
        return tuple(max(0, r - p) for r, p in zip(reach, padded))

    def cells(self) -> list[tuple[int, ...]]:
        """The offsets of the cells of a window, row by row."""
        return list(product(*map(range, self.kernel)))

    def places(self, cell: Sequence[int], axis: int) -> list[int]:
        """Where a cell of the window stands along an axis, in each position; from 0 to size − 1 inside."""
        first = cell[axis] * self.dilations[axis] - self.begins[axis]
        return [first + i * self.strides[axis] for i in range(self.out[axis])]


def windows(
    x: Tensor, kernel: Sequence[int], strides: list[int] | None, pads: list[int] | None,
    dilations: list[int] | None, auto_pad: str, ceil_mode: int = 0,
) -> Windows:  # fmt: skip
    """The windows over a tensor (batch, channel, …)."""
    sizes = x.shape[2:]
    rank = len(sizes)
    if len(kernel) != rank or not all(k > 0 for k in kernel):
        raise GraphError(f"kernel_shape is {list(kernel)}; expected {rank} sizes of 1 or more")
    by = tuple(integers("strides", strides or [1] * rank))
    apart = tuple(integers("dilations", dilations or [1] * rank))
    given = integers("pads", pads or [0] * 2 * rank)
    if not (len(by) == len(apart) == rank and len(given) == 2 * rank and min((*by, *apart), default=1) > 0):
        raise GraphError(
            f"strides is {by}, dilations {apart} and pads {given}; expected numbers for {rank} axes"
        )
    if auto_pad not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise GraphError(f"auto_pad is {shown(auto_pad)}; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER")
    begins, ends, out = [], [], []
    for i, (n, k, s, d) in enumerate(zip(sizes, kernel, by, apart)):
        reach = (k - 1) * d + 1
        if auto_pad.startswith("SAME"):
            count = -(-n // s)
            total = max(0, (count - 1) * s + reach - n)
            less, more = total // 2, total - total // 2
            begin, end = (less, more) if auto_pad == "SAME_UPPER" else (more, less)
        else:
            begin, end = (0, 0) if auto_pad == "VALID" else (given[i], given[rank + i])
            room = n + begin + end - reach
            if room < 0:
                raise GraphError(
                    f"a window of {reach} does not fit into {n + begin + end} cells of axis {i + 2}"
                )
            count = room // s + 1
            if ceil_mode and room % s and (count * s) < n + begin:  # the last window begins inside
                count += 1
        begins.append(begin), ends.append(end), out.append(count)
    return Windows(sizes, tuple(kernel), by, apart, tuple(begins), tuple(ends), tuple(out))


def cells_of(g: Graph, x: Tensor, w: Windows, value: float | str = 0) -> list[Tensor]:
    """For each cell of the window what stands there in each position (batch, channel, …); `value` outside."""
    for axis, (begin, end, extra) in enumerate(zip(w.begins, w.ends, w.extra)):
        if begin or end + extra:
            x = g.pad(x, begin, end + extra, axis=axis + 2, value=value)
    found = []
    for cell in w.cells():
        parts = []
        for axis, (c, d, s, o) in enumerate(zip(cell, w.dilations, w.strides, w.out)):
            taken = range(c * d, c * d + o * s, s)
            parts.append(":" if taken == range(x.shape[axis + 2]) else cut(taken))
        found.append(g.slice(x, ", ".join((":", ":", *parts))) if set(parts) - {":"} else x)
    return found


def _axes_up(x: Tensor, like: Tensor) -> tuple[int, ...]:
    return (*x.shape, *[1] * (len(like.shape) - 2))


# ---------------------------------------------------------------- convolutions


@operator("Y")
def Conv(
    g: Graph, X: Tensor, W: Tensor, B: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: list[int] | None = None, group: int = 1, kernel_shape: list[int] | None = None,
    pads: list[int] | None = None, strides: list[int] | None = None,
) -> Outputs:  # fmt: skip
    """X (b, c, …), W (m, c / group, …): Y[b, m, p] = Σ over channels of the group and cells of the window."""
    w = windows(X, W.shape[2:], strides, pads, dilations, auto_pad)
    batch, channels, many = X.shape[0], X.shape[1], W.shape[0]
    if group < 1 or channels % group or many % group or W.shape[1] != channels // group:
        raise GraphError(
            f"X has {channels} channels, W is {W.shape} and group {group}; expected parts of one size"
        )
    cells, places = prod(w.kernel), prod(w.out)
    patches = g.stack(*cells_of(g, X, w), axis=2, name="windows")
    rows = g.reshape(patches, (batch, group, channels // group * cells, places), name="window_rows")
    weights = g.reshape(W, (group, many // group, channels // group * cells), name="W_rows")
    y = g.reshape(g.matmul(weights, rows, name="products"), (batch, many, *w.out), name="sums")
    return [y if B is None else g.add(y, g.reshape(B, _axes_up(B, X), name="B_by_channel"))]


@operator("Y")
def ConvTranspose(
    g: Graph, X: Tensor, W: Tensor, B: Tensor | None = None, *, auto_pad: str = "NOTSET",
    dilations: list[int] | None = None, group: int = 1, kernel_shape: list[int] | None = None,
    output_padding: list[int] | None = None, output_shape: list[int] | None = None,
    pads: list[int] | None = None, strides: list[int] | None = None,
) -> Outputs:  # fmt: skip
    """What Conv does to X, the other way round: each cell goes to its whole window; W (c, m / group, …)."""
    batch, channels, sizes = X.shape[0], X.shape[1], X.shape[2:]
    rank, kernel, many = len(sizes), W.shape[2:], W.shape[1] * group
    by, apart = tuple(strides or [1] * rank), tuple(dilations or [1] * rank)
    more = tuple(output_padding or [0] * rank)
    if group < 1 or channels % group or W.shape[0] != channels or len(kernel) != rank:
        raise GraphError(
            f"X is {X.shape}, W is {W.shape} and group {group}; expected one row of W for each channel"
        )
    full = [s * (n - 1) + o + (k - 1) * d + 1 for s, n, o, k, d in zip(by, sizes, more, kernel, apart)]
    if output_shape is not None or auto_pad.startswith("SAME"):
        wanted = list(output_shape)[-rank:] if output_shape is not None else [n * s for n, s in zip(sizes, by)]
        total = [f - w for f, w in zip(full, wanted)]
        halves = [max(0, t) // 2 for t in total]
        begins = halves if auto_pad == "SAME_UPPER" else [max(0, t) - half for t, half in zip(total, halves)]
        ends = [t - b for t, b in zip(total, begins)]
    else:
        given = list(pads or [0] * 2 * rank)
        begins, ends = given[:rank], given[rank:]
    out = tuple(f - b - e for f, b, e in zip(full, begins, ends))
    w = Windows(out, tuple(kernel), by, apart, tuple(begins), tuple(ends), tuple(sizes))
    cells, places = prod(kernel), prod(sizes)
    rows = g.reshape(X, (batch, group, channels // group, places), name="X_rows")
    weights = g.reshape(W, (group, channels // group, W.shape[1] * cells), name="W_rows")
    turned = g.transpose(weights, name="W_columns")
    parts = g.reshape(g.matmul(turned, rows, name="products"), (batch, many, cells, *sizes), name="parts")
    y = laid(g, [along(g, parts, [i], 2) for i in range(cells)], w)
    return [y if B is None else g.add(y, g.reshape(B, _axes_up(B, X), name="B_by_channel"))]


def laid(g: Graph, parts: Sequence[Tensor], w: Windows) -> Tensor:
    """The sum of windows that are laid over each other: the other way round from `cells_of`."""
    total = None
    for cell, part in zip(w.cells(), parts):
        y = g.reshape(part, (*part.shape[:2], *w.out))
        for axis, size in enumerate(w.sizes):
            y = _spread(g, y, axis + 2, w.places(cell, axis), size)
        total = y if total is None else g.add(total, y)
    assert total is not None
    return total


def _spread(g: Graph, x: Tensor, axis: int, places: list[int], size: int) -> Tensor:
    """The parts of x along an axis at these places (a row of equal steps) of one of `size`; 0 elsewhere."""
    inside = [i for i, place in enumerate(places) if 0 <= place < size]
    if not inside:
        return g.broadcast(g.constant(0), (*x.shape[:axis], size, *x.shape[axis + 1 :]))
    x = along(g, x, inside, axis)
    step = places[1] - places[0] if len(places) > 1 else 1
    first, count = places[inside[0]], len(inside)
    if step > 1 and count > 1:
        before, after = x.shape[:axis], x.shape[axis + 1 :]
        apart = g.pad(g.reshape(x, (*before, count, 1, *after)), 0, step - 1, axis=axis + 1)
        x = along(g, g.reshape(apart, (*before, count * step, *after)), range((count - 1) * step + 1), axis)
    behind = size - first - x.shape[axis]
    return g.pad(x, first, behind, axis=axis) if first or behind else x


@operator("output")
def Col2Im(
    g: Graph, input: Tensor, image_shape: Static, block_shape: Static, *, dilations: list[int] | None = None,
    pads: list[int] | None = None, strides: list[int] | None = None,
) -> Outputs:  # fmt: skip
    """Windows (b, c · cells, positions) laid over each other: an image (b, c, …)."""
    sizes, kernel = integers("image_shape", list(image_shape)), integers("block_shape", list(block_shape))
    cells, rank = prod(kernel), len(sizes)
    by, apart = strides or [1] * rank, dilations or [1] * rank
    given = pads or [0] * 2 * rank
    out = tuple(
        (n + given[i] + given[rank + i] - (k - 1) * d - 1) // s + 1
        for i, (n, k, d, s) in enumerate(zip(sizes, kernel, apart, by))
    )
    batch, width, places = input.shape
    if not cells or width % cells or places != prod(out):
        raise GraphError(f"input is {input.shape}; expected a multiple of {cells} and {prod(out)} positions")
    w = Windows(
        tuple(sizes), tuple(kernel), tuple(by), tuple(apart), tuple(given[:rank]), tuple(given[rank:]), out
    )
    parts = g.reshape(input, (batch, width // cells, cells, places), name="parts")
    return [laid(g, [along(g, parts, [i], 2) for i in range(cells)], w)]


# ---------------------------------------------------------------- pooling


@operator("Y", "Indices")
def MaxPool(
    g: Graph, X: Numbers, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: list[int] | None = None, pads: list[int] | None = None, storage_order: int = 0,
    strides: list[int] | None = None, outputs: int = 1,
) -> Outputs:  # fmt: skip
    """The largest cell of each window, and where it stands in X, counted row by row (storage_order 1: the last
    two axes the other way round)."""
    w = windows(X, kernel_shape, strides, pads, dilations, auto_pad, switch("ceil_mode", ceil_mode))
    cells = cells_of(g, floats(g, X), w, "-inf")
    if outputs == 1:
        return [largest(g, cells)]
    together = g.stack(*cells, axis=0, name="windows")
    y = g.reshape(g.reduce_max(together, axis=0, name="largest"), together.shape[1:])
    order = [*range(len(w.sizes))][:: -1 if switch("storage_order", storage_order) else 1]
    far = {axis: prod(w.sizes[a] for a in order[i + 1 :]) for i, axis in enumerate(order)}

    def place(cell: Sequence[int], position: Sequence[int]) -> float:
        return float(sum(w.places(cell, axis)[i] * far[axis] for axis, i in enumerate(position)))

    inside = tuple(tuple(place(c, p) for p in product(*map(range, w.out))) for c in w.cells())
    numbers = g.reshape(g.constant(inside, name="places"), (len(cells), 1, 1, *w.out), name="places_shaped")
    first = g.where(g.one_hot_argmax(together, axis=0, name="is_largest"), numbers, g.constant(0), name="place")
    index = g.reshape(g.reduce_sum(first, axis=0), y.shape, name="in_channel")
    batch, channels = X.shape[:2]
    starts = tuple(
        tuple(float((b * channels + c) * prod(w.sizes)) for c in range(channels)) for b in range(batch)
    )
    start = g.reshape(g.constant(starts, name="starts"), (batch, channels, *[1] * len(w.sizes)), name="start")
    return [y, g.add(index, start)]


@operator("Y")
def AveragePool(
    g: Graph, X: Tensor, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    count_include_pad: int = 0, dilations: list[int] | None = None, pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Outputs:  # fmt: skip
    """The mean of each window: of the cells of X in it, or (count_include_pad) those of pads too."""
    w = windows(X, kernel_shape, strides, pads, dilations, auto_pad, switch("ceil_mode", ceil_mode))
    around = switch("count_include_pad", count_include_pad)
    counts = []
    for position in product(*map(range, w.out)):
        inside = 1
        for axis, (k, n) in enumerate(zip(w.kernel, w.sizes)):
            low, high = (-w.begins[axis], n + w.ends[axis]) if around else (0, n)
            places = (w.places([c] * len(w.out), axis)[position[axis]] for c in range(k))
            inside *= sum(low <= place < high for place in places)
        counts.append(float(inside))
    count = g.reshape(g.constant(tuple(counts), name="counts"), w.out, name="counts_shaped")
    return [g.divide(summed(g, cells_of(g, X, w)), count)]


@operator("Y")
def LpPool(
    g: Graph, X: Tensor, *, kernel_shape: list[int], auto_pad: str = "NOTSET", ceil_mode: int = 0,
    dilations: list[int] | None = None, p: int = 2, pads: list[int] | None = None,
    strides: list[int] | None = None,
) -> Outputs:  # fmt: skip
    """(Σ |x|ᵖ)^(1/p) of each window."""
    whole("p", p, 1)
    w = windows(X, kernel_shape, strides, pads, dilations, auto_pad, switch("ceil_mode", ceil_mode))
    far = absolute(g, X)
    power = far
    for _ in range(p - 1):
        power = g.multiply(power, far)
    total = summed(g, cells_of(g, power, w))
    if p <= 2:
        return [total if p == 1 else g.sqrt(total)]
    return [g.exp(g.divide(g.log(total, name="log"), g.constant(p, name="p")))]


def _over_all(g: Graph, op: str, x: Tensor) -> Tensor:
    for axis in range(2, len(x.shape)):
        x = g.apply(op, x, axis=axis)
    return x


@operator("Y")
def GlobalAveragePool(g: Graph, X: Tensor) -> Outputs:
    """The mean of each channel."""
    return [_over_all(g, "reduce_mean", X)]


@operator("Y")
def GlobalMaxPool(g: Graph, X: Tensor) -> Outputs:
    """The largest of each channel."""
    return [_over_all(g, "reduce_max", X)]
