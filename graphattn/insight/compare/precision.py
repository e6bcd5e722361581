"""Which precision numbers have, and how far two computations of one thing may differ by rounding.

`held` finds the coarsest format that holds every cell, from the numbers alone: a file of float32 that was
written as text still holds float32 numbers. `growth` bounds the rounding of every tensor of a graph, as a
multiple of the largest cell of a row, in units of 2^−bits:

    moved numbers:     that of the operand
    anything else:     √(worst operand² + (2 + √K)²),   K the length of its sums

which is how rounding errors of random signs add up (Higham 2002, section 2.8). Formats shorter than
float32 add in float32, so that √K counts less there.
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from sys import byteorder
from typing import TYPE_CHECKING

from ...core.errors import GraphError, suggest
from ...core.graph import Graph, Node, Ref
from ...core.interpreter import padded
from ...core.rounded import FORMATS, Format
from .masked_cells import FLOOR, is_masked

if TYPE_CHECKING:
    from .recording import Recorded, Recording

FLOAT64 = Format("float64", 53, -1022, 1023)
PRECISIONS: dict[str, Format] = {"float64": FLOAT64, **FORMATS}
ORDER = ("bfloat16", "float16", "float32", "float64")
"""From coarse to fine."""
ACCUMULATOR_BITS = 24
SAMPLE, PIECE = 4096, 512
"""How many cells are looked at for the digits they need, and how many are looked at together."""
MANY = 64
SOME = 4
"""So many cells that need a short format show that they were rounded to it: by themselves, or where the other
side was not."""


def precision_of(name: object) -> Format:
    """The format of that name."""
    if not isinstance(name, str) or name not in PRECISIONS:
        raise GraphError(
            f"unknown precision {name!r}; expected one of {', '.join(PRECISIONS)}" + suggest(name, PRECISIONS)
        )
    return PRECISIONS[name]


def holds(fmt: Format, rows: Iterable[list[float]]) -> bool:
    """Whether every cell of the rows is a number of this format (or not finite)."""
    return all(_HOLDERS[fmt.name](row) for row in rows)


def _row32(row: list[float]) -> bool:
    short = array("f", row)
    back = short.tolist()
    return back == row or all(x == y or x != x for x, y in zip(row, back))


def _row_bfloat16(row: list[float]) -> bool:
    if not _row32(row):
        return False
    data = array("f", row).tobytes()
    low = (data[0::4], data[1::4]) if byteorder == "little" else (data[3::4], data[2::4])
    return not any(map(any, low)) or all(x != x for x in row)


def _row16(row: list[float]) -> bool:
    try:
        back = struct.unpack(f"<{len(row)}e", struct.pack(f"<{len(row)}e", *row))
    except (OverflowError, struct.error):
        return False
    return all(x == y or x != x for x, y in zip(row, back))


_HOLDERS = {"float64": lambda row: True, "float32": _row32, "float16": _row16, "bfloat16": _row_bfloat16}


def held(tensors: Iterable[Recorded]) -> Format:
    """The coarsest format that holds every cell of the tensors, and whose digits they need: numbers like 0.5
    and 12, which any format holds, say nothing, and alone count as float64."""
    left = list(ORDER[:-1])
    sample: list[float] = []
    cells = chain.from_iterable(chain.from_iterable(tensor.rows for tensor in tensors))
    while piece := list(islice(cells, PIECE)):
        if not min(piece) > FLOOR:  # what a mask was filled with says nothing
            piece = [x for x in piece if x > FLOOR or not is_masked(x)]
        left = [name for name in left if _HOLDERS[name](piece)]
        if not left:
            return FLOAT64
        if len(sample) < SAMPLE:
            sample += piece
    return next((PRECISIONS[name] for name in left if _needs(PRECISIONS[name], sample)), FLOAT64)


def _needs(fmt: Format, cells: list[float]) -> bool:
    """Whether one in sixteen numbers, or more, would not do with two bits less, as three in four do of
    numbers that were rounded to this format."""
    numbers = [x for x in cells if x and math.isfinite(x)]
    enough = -(-len(numbers) // 16)
    return enough > 0 and next(islice(_needing(fmt, numbers), enough - 1, None), None) is not None


def needing(fmt: Format, cells: Iterable[float]) -> int:
    """How many cells would not do with two bits less than the format has."""
    return sum(1 for _ in _needing(fmt, cells))


def _needing(fmt: Format, cells: Iterable[float]) -> Iterator[float]:
    return (
        x for x in cells
        if x and math.isfinite(x) and not math.ldexp(math.frexp(x)[0], fmt.bits - 2).is_integer()
    )  # fmt: skip


def format_of(tensor: Recorded, other: Recorded) -> Format:
    """The format of a tensor's cells: that of its type, or what the cells hold. That they are not short by
    chance (exact results of small numbers) is told by how many there are, or by the `other` side of the
    comparison, which is not short then."""
    stated = PRECISIONS.get(tensor.dtype)
    if stated is not None and stated is not FLOAT64:
        return stated
    held_format = held([tensor])
    if held_format.bits >= ACCUMULATOR_BITS:
        return held_format
    count = needing(held_format, set(tensor.flat))
    if count >= MANY or (count >= SOME and not holds(held_format, other.rows)):
        return held_format
    return FLOAT64


def recorded_precision(recording: Recording) -> Format:
    """The precision that a recording looks to have: of its trace's number type, of its arrays' types, or of
    the numbers themselves."""
    if recording.trace is not None:
        name = recording.trace.numbers.name.partition(":")[0]
        return PRECISIONS.get(name, FLOAT64)
    stated = [PRECISIONS[t.dtype] for t in recording.tensors.values() if t.dtype in PRECISIONS]
    finest = max(stated, key=lambda fmt: fmt.bits, default=FLOAT64)
    return finest if finest is not FLOAT64 else held(recording.tensors.values())


def shown_precision(recording: Recording, tensors: Sequence[Recorded], others: Sequence[Recorded]) -> Format:
    """The same, with cells enough to show it; `others` are the counterparts of its tensors."""
    looks = recording.precision
    if recording.trace is not None or looks.bits >= ACCUMULATOR_BITS:
        return looks
    if any(PRECISIONS.get(tensor.dtype) is looks for tensor in tensors):
        return looks
    if sum(needing(looks, set(tensor.flat)) for tensor in tensors) >= MANY:
        return looks
    return looks if any(f is looks for f in map(format_of, tensors, others)) else FLOAT64


def growth(graph: Graph, fmt: Format) -> Mapping[Ref, float]:
    """For each output of a graph, its bound in units of the precision (kept with the graph)."""
    return graph.kept(("growth", fmt.name), lambda: _grown(graph, fmt))


def _grown(graph: Graph, fmt: Format) -> dict[Ref, float]:
    unit = 2.0 ** (fmt.bits - max(fmt.bits, ACCUMULATOR_BITS))
    bounds: dict[Ref, float] = {}
    for node in graph.nodes.values():
        before = max((bounds[ref] for ref in node.operands if ref is not None), default=0.0)
        bound = math.hypot(before, _own(graph, node, unit))
        for port in range(len(node.ports)):
            bounds[Ref(node.name, port)] = bound
    return bounds


def _own(graph: Graph, node: Node, unit: float) -> float:
    """What one step adds; `unit` is what one addition adds."""
    if node.op.moves or node.op.fed or not node.operands:
        return 0.0
    longest = longest_sum(graph, node)
    if node.op.kernel is None:  # a composite: several steps, one after the other
        return 3 * (2.0 + unit * math.sqrt(longest))
    specs = padded(node.op, graph.operand_specs(node.operands))
    size = sum(spec.size for spec in node.outputs)
    flops = node.op.told("cost", node.name, *specs, **node.attributes) if node.op.cost is not None else size
    return 2.0 + (unit * math.sqrt(longest) if flops > size else 0.0)


def longest_sum(graph: Graph, node: Node) -> int:
    """The most cells of an operand that go into one sum: its last axis, or the axis that goes away."""
    sizes = [1]
    for spec in graph.operand_specs(node.operands):
        if spec is not None and spec.rank:
            sizes.append(spec.shape[-1])
            break
    return max(sizes)


def default_bound(tensor: Recorded, fmt: Format) -> float:
    """The bound where there is no graph to derive it from: nine steps with sums of a row's length."""
    unit = 2.0 ** (fmt.bits - max(fmt.bits, ACCUMULATOR_BITS))
    return 3 * (2.0 + unit * math.sqrt(max([1, *tensor.shape[-2:]])))
