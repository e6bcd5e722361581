"""The part of a tensor that is asked for, and which parts of its operands an op makes it from.

A window has, for each axis, one index or None for all of them. Where the cell expression of an op says
that an index of the result is the same index of an operand (a row of a norm, of a sum, of a projection),
the operand is asked for that index alone. The guess is held against the record before it is used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...core import nested
from ...core.axes import Spec
from ...core.cells import Apply, Cell, Expression
from ...core.errors import GraphError, Rejected
from ...core.graph import Node
from ...core.interpreter import function_of
from .flow import Call

Window = tuple[int | None, ...]
CLOSE = 1e-9


def whole(rank: int) -> Window:
    return (None,) * rank


def cut(value: Any, window: Window) -> Any:
    """The cells of a window; each axis stays, with size 1 where one index was asked for."""
    if not window:
        return value
    here, rest = window[0], window[1:]
    rows = value if here is None else [value[here]]
    return [cut(row, rest) for row in rows] if any(i is not None for i in rest) else list(rows)


def cut_spec(spec: Spec, window: Window) -> Spec:
    shape = tuple(size if i is None else 1 for size, i in zip(spec.shape, window, strict=True))
    return replace(spec, shape=shape)


def operand_windows(node: Node, port: int, specs: Sequence[Spec | None], window: Window) -> list[Window | None]:
    """What of each operand goes into a window of a result (None for an operand that is left out)."""
    full = [None if spec is None else whole(spec.rank) for spec in specs]
    if node.op.explain is None or all(i is None for i in window):
        return full
    shape = node.outputs[port].shape
    more = {"port": port} if len(node.ports) > 1 else {}
    read: list[list[set[int]]] = [[set() for _ in spec.shape] if spec else [] for spec in specs]
    for corner in (0, -1):
        index = tuple(size + corner if corner else 0 for size in shape)
        index = tuple(at if i is None else i for i, at in zip(window, index, strict=True))
        for cell in _read(node.op.told("explain", node.name, index, *specs, **node.attributes, **more)):
            for axis, i in enumerate(cell.index):
                read[cell.slot][axis].add(i if isinstance(i, int) else -1)
    asked = {i for i in window if i is not None}
    found: list[Window | None] = []
    for spec, axes in zip(specs, read, strict=True):
        if spec is None:
            found.append(None)
            continue
        found.append(
            tuple(
                next(iter(seen)) if len(seen) == 1 and seen <= asked and size > 1 else None
                for seen, size in zip(axes, spec.shape, strict=True)
            )
        )
    return found


def _read(expression: Expression) -> Iterator[Cell]:
    """The cells that an expression reads; what stands in it several times is looked at once."""
    todo, seen = [expression], set()
    while todo:
        here = todo.pop()
        if isinstance(here, Cell):
            yield here
        elif isinstance(here, Apply) and id(here) not in seen:
            seen.add(id(here))
            todo += here.args


def windowed(
    call: Call, outputs: Sequence[Spec], port: int, window: Window, windows: Sequence[Window | None],
    recorded: Any,
) -> tuple[Call, list[Spec]] | None:  # fmt: skip
    """The call on windows of its operands, and the specs of its results; None where that does not give the
    window of the result that was recorded."""
    specs = tuple(
        None if spec is None or w is None else cut_spec(spec, w)
        for spec, w in zip(call.specs, windows, strict=True)
    )
    values = tuple(
        value if w is None or value is None else cut(value, w)
        for value, w in zip(call.values, windows, strict=True)
    )
    try:
        shapes = call.op.shape(*specs, **call.attributes)
        several = list(shapes.values()) if isinstance(shapes, dict) else [shapes]
        if len(several) != len(outputs) or several[port].shape != cut_spec(outputs[port], window).shape:
            return None
        result = function_of(call.op, specs, call.attributes)(*values)
    except (Rejected, GraphError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    ours = result[port] if len(several) > 1 else result
    close = all(map(_close, nested.flat(ours), nested.flat(cut(recorded, window))))
    return (replace(call, specs=specs, values=values), several) if close else None


def _close(a: float, b: float) -> bool:
    return a == b or abs(a - b) <= CLOSE * max(1.0, abs(b))
