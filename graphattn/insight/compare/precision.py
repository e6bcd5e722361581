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
from collections.abc import Iterable
from sys import byteorder

from ...core.errors import GraphError, suggest
from ...core.graph import Graph, Node, Ref
from ...core.interpreter import padded
from ...core.rounded import FORMATS, Format
from .recording import Recorded, Recording

FLOAT64 = Format("float64", 53, -1022, 1023)
PRECISIONS: dict[str, Format] = {"float64": FLOAT64, **FORMATS}
ORDER = ("bfloat16", "float16", "float32", "float64")
"""From coarse to fine."""
ACCUMULATOR_BITS = 24
SAMPLE = 20_000
"""How many cells are looked at for the digits they need."""
DIGITS = 9
DECIMALS = 7
"""The most decimals that are taken for a printed text's own rounding."""


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
    for tensor in tensors:
        for row in tensor.rows:
            left = [name for name in left if _HOLDERS[name](row)]
            if not left:
                return FLOAT64
            if len(sample) < SAMPLE:
                sample += row
    return next((PRECISIONS[name] for name in left if _needs(PRECISIONS[name], sample)), FLOAT64)


def _needs(fmt: Format, cells: list[float]) -> bool:
    """Whether one in sixteen numbers, or more, would not do with two bits less, as three in four do of
    numbers that were rounded to this format."""
    numbers = [x for x in cells if x and math.isfinite(x)]
    long = sum(not math.ldexp(math.frexp(x)[0], fmt.bits - 2).is_integer() for x in numbers)
    return 16 * long >= len(numbers) > 0


def decimals(tensors: Iterable[Recorded]) -> int | None:
    """How many decimals the numbers were printed with, if they look printed: at most `DECIMALS`, for all."""
    most, seen = 0, 0
    for tensor in tensors:
        for row in tensor.rows:
            for x in row:
                if isinstance(x, bool) or not abs(x) < 1e9:
                    continue
                seen += 1
                while round(x, most) != x:
                    most += 1
                    if most > DECIMALS:
                        return None
    return most if most and seen >= 8 else None


def digits(tensors: Iterable[Recorded]) -> int | None:
    """How many significant digits the numbers were printed with, if they look printed: at most `DIGITS`, for
    all. A float32 that was printed by itself has 9 or fewer, a double has more."""
    most = 1
    for tensor in tensors:
        for row in tensor.rows:
            for x in row:
                if isinstance(x, bool) or not abs(x) < math.inf:
                    continue
                while float(f"{x:.{most}g}") != x:
                    most += 1
                    if most > DIGITS:
                        return None
    return most


def recorded_precision(recording: Recording) -> Format:
    """The precision of a recording: of its trace's number type, else of the numbers themselves."""
    if recording.trace is not None:
        name = recording.trace.numbers.name.partition(":")[0]
        if name in PRECISIONS:
            return PRECISIONS[name]
        return FLOAT64
    return held(recording.tensors.values())


def growth(graph: Graph, fmt: Format) -> dict[Ref, float]:
    """For each output of a graph, its bound in units of the precision."""
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
    longest = _longest(graph, node)
    if node.op.kernel is None:  # a composite: several steps, one after the other
        return 3 * (2.0 + unit * math.sqrt(longest))
    specs = padded(node.op, graph.operand_specs(node.operands))
    size = sum(spec.size for spec in node.outputs)
    flops = node.op.cost(*specs, **node.attributes) if node.op.cost is not None else size
    return 2.0 + (unit * math.sqrt(longest) if flops > size else 0.0)


def _longest(graph: Graph, node: Node) -> int:
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
