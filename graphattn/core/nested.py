"""Tensors as nested lists: read them, map functions over their axes, look at single cells.

`lift` is the one loop of graphattn: an op states what it does to one block (a cell, a row, a
matrix), and `lift` maps that over the leading axes, stretching axes of size 1 as numpy does.

>>> row_sum = lift(lambda row: [sum(row)], [1], [(2, 3)])
>>> row_sum([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
[[6.0], [15.0]]
>>> shape_of([[1, 2], [3, 4]])
(2, 2)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product, repeat
from operator import countOf
from typing import Any

from .axes import Spec, describe
from .errors import GraphError
from .numbers import FLOAT, Numbers
from .packed import Packed
from .words import shown, sizes, typed

RANK_LIMIT = 32
CELLS = {bool, int, float}
"""What cells mostly are."""


def lift(
    function: Callable[..., Any],
    ranks: Sequence[int],
    shapes: Sequence[tuple[int, ...] | None],
    outputs: int = 1,
    bound: Sequence[Any] = (),
) -> Callable[..., Any]:
    """`function` on blocks of the given ranks, mapped over the axes before them.

    Leading axes are right-aligned and broadcast: an axis that is missing or of size 1 is
    repeated. A shape of None is an operand that is left out: the function gets None. With
    `outputs` > 1 the function returns that many blocks, and the result is a tuple. `bound` are
    further arguments, which are the same at every call.
    """
    leads = [
        () if shape is None else shape[: max(len(shape) - rank, 0)]
        for rank, shape in zip(ranks, shapes, strict=True)
    ]
    depth = max(map(len, leads), default=0)
    if not depth:
        return (lambda *blocks: function(*blocks, *bound)) if bound else function
    lifted, fixed = function, list(map(repeat, bound))
    for place in range(-1, -depth - 1, -1):
        sizes = [lead[place] if len(lead) >= -place else None for lead in leads]
        count = next((size for size in sizes if size not in (None, 1)), 1)
        lifted = _over(lifted, [_feeder(size, count) for size in sizes], fixed, count, outputs)
        fixed = []
    return lifted


def _feeder(size: int | None, count: int) -> Callable[[Any], Any] | None:
    """How one operand is handed out along an axis: None = item by item."""
    if size == count:
        return None
    if size is None:
        return lambda block: repeat(block, count)
    return lambda block: repeat(block[0], count)


def _over(inner: Any, feeders: list[Any], fixed: list[Any], count: int, outputs: int) -> Callable[..., Any]:
    """`inner` along one axis; `fixed` are endless repeats of its further arguments."""
    if outputs > 1:
        if not count:
            return lambda *_: tuple([] for _ in range(outputs))
        single = _over(inner, feeders, fixed, count, 1)
        return lambda *blocks: tuple(map(list, zip(*single(*blocks))))
    if any(feeders):
        return lambda *blocks: list(
            map(inner, *[f(b) if f else b for f, b in zip(feeders, blocks, strict=True)], *fixed)
        )
    # most calls of a run are one of these, row after row, and much quicker for being written out
    match len(feeders), fixed:
        case 1, []:
            return lambda a: list(map(inner, a))
        case 1, [p]:
            return lambda a: list(map(inner, a, p))
        case 2, []:
            return lambda a, b: list(map(inner, a, b))
        case 2, [p]:
            return lambda a, b: list(map(inner, a, b, p))
    return lambda *blocks: list(map(inner, *blocks, *fixed))


def along(function: Callable[[Any], Any], inside: int) -> Callable[[Any], Any]:
    """`function` on rows, applied along the first axis of a block with `inside` axes within.

    >>> along(lambda row: [max(row)], 1)([[1, 5], [3, 4]])
    [[3, 5]]
    """
    if not inside:
        return function
    within = along(function, inside - 1)

    def across(block: Any) -> Any:
        return list(map(list, zip(*map(within, zip(*block, strict=True)), strict=True)))

    return across


def full(shape: Sequence[int], value: Any) -> Any:
    """A tensor whose cells are all `value`."""
    if len(shape) < 2:
        return [value] * shape[0] if shape else value
    return [full(shape[1:], value) for _ in range(shape[0])]


def build(shape: Sequence[int], cell: Callable[..., Any]) -> Any:
    """The tensor whose cell at i, j, … is `cell(i, j, …)`."""
    if not shape:
        return cell()
    return [build(shape[1:], lambda *rest, i=i: cell(i, *rest)) for i in range(shape[0])]


def copied(value: Any) -> Any:
    """Fresh lists of the same cells (what is packed is never written to, and stays)."""
    if not isinstance(value, list):
        return value
    return list(map(copied, value)) if value and isinstance(value[0], list) else value.copy()


def fits(value: Any, shape: Sequence[int]) -> bool:
    """Whether the lists of a tensor have these lengths."""
    if isinstance(value, Packed):
        return value.shape == tuple(shape)
    if not isinstance(value, (list, tuple)) or not shape:
        return not shape and not isinstance(value, (list, tuple))
    return len(value) == shape[0] and (len(shape) == 1 or all(fits(item, shape[1:]) for item in value))


def indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Every index of a tensor, in row-major order."""
    return product(*map(range, shape))


def at(block: Any, index: Sequence[int]) -> Any:
    """The cell at an index."""
    if hasattr(block, "at"):  # packed: it makes no lists for that
        return block.at(index)
    for i in index:
        block = block[i]
    return block


def flat(block: Any) -> Iterator[Any]:
    """Every cell, in row-major order."""
    if hasattr(block, "tolist"):  # packed
        block = block.tolist()
    if not isinstance(block, (list, tuple)):
        yield block
    elif _holds_cells(block):
        yield from block
    else:
        for item in block:
            yield from flat(item)


def rows(block: Any, rank: int) -> Iterator[tuple[tuple[int, ...], list[Any]]]:
    """Every row (the last axis) with its index; a scalar is one row of one cell."""
    if rank == 0:
        yield (), [block]
    elif rank == 1:
        yield (), block
    else:
        for i, item in enumerate(block):
            for index, row in rows(item, rank - 1):
                yield (i, *index), row


def shape_of(value: Any, what: str = "the tensor") -> tuple[int, ...]:
    """The shape of nested lists; a `GraphError` where they are ragged or nested too deep."""
    if isinstance(value, Packed):
        return value.shape
    shape: list[int] = []
    block = value
    while isinstance(block, (list, tuple)):
        shape.append(len(block))
        if len(shape) > RANK_LIMIT:
            raise GraphError(f"{what} is nested deeper than {RANK_LIMIT} lists")
        if not block:
            break
        block = block[0]
    _rectangular(value, shape, what, "")
    return tuple(shape)


def shape_of_rank(value: Any, what: str, rank: int, expected: str) -> tuple[int, ...]:
    """The shape of nested lists that must not be empty and must have this rank; `expected` says in words
    what the `GraphError` asks for."""
    if not isinstance(value, (list, tuple)):
        raise GraphError(f"{what} is {shown(value)}; expected {expected}")
    if not value:
        raise GraphError(f"{what} is empty; expected {expected}")
    shape = shape_of(value, what)
    if len(shape) != rank:
        raise GraphError(f"{what} has rank {len(shape)}; expected {expected}")
    return shape


def _rectangular(block: Any, shape: Sequence[int], what: str, where: str) -> None:
    if not shape:
        if isinstance(block, (list, tuple)):
            raise GraphError(f"{what}{where} is a list; expected a number there, as in its neighbours")
        return
    if not isinstance(block, (list, tuple)):
        raise GraphError(
            f"{what}{where} is {shown(block)}; expected a list of {shape[0]}, as its neighbours are"
        )
    if len(block) != shape[0]:
        raise GraphError(f"{what}{where} has {len(block)} cells; expected {shape[0]}, as in its neighbours")
    if len(shape) > 1 or not _holds_cells(block):
        for i, item in enumerate(block):
            _rectangular(item, shape[1:], what, f"{where}[{i}]")


def _holds_cells(block: Sequence[Any]) -> bool:
    """Whether a list holds no lists."""
    kinds = set(map(type, block))
    return kinds <= CELLS or not any(issubclass(kind, (list, tuple)) for kind in kinds)


def read(
    value: Any,
    spec: Spec,
    what: str,
    numbers: Numbers = FLOAT,
    allow_nonfinite: bool = False,
) -> Any:
    """Fresh nested lists of the number type, checked cell by cell against `spec`.

    Takes lists, tuples, and anything with `.tolist()`. Raises a `GraphError` that names the first
    cell that is not what was expected. What is `Packed` as it should be goes through as it is.
    """
    if isinstance(value, Packed) and _stays_packed(value, spec, numbers, allow_nonfinite):
        return value
    value = listed(value, what)
    read_cell = _CELL_READERS[spec.kind]
    as_is = _AS_IS.get(spec.kind)
    if spec.kind == "float" and numbers.cell is not None:
        as_is = plain if numbers is FLOAT else _already(numbers)

    def where(index: tuple[int, ...]) -> str:
        return what + "".join(f"[{i}]" for i in index)

    def block(item: Any, depth: int, index: tuple[int, ...]) -> Any:
        if depth == spec.rank:
            return read_cell(item, lambda: where(index), numbers, allow_nonfinite)
        if not isinstance(item, (list, tuple)):
            raise GraphError(
                f"{where(index)} is {_given(item)}; expected a list of {spec.shape[depth]}"
                f" ({what} is {describe(spec)})"
            )
        if len(item) != spec.shape[depth]:
            shape: tuple[int, ...] = () if depth else _regular(value)
            if shape and all(shape) and (len(shape) != spec.rank or shape == spec.shape[::-1]):
                told = sizes(shape) if len(shape) > 1 else f"one row of {len(item)}"
                turned = "; its transpose would fit" if len(shape) == spec.rank else ""
                raise GraphError(f"{what} is {told}; expected {describe(spec)}{turned}")
            raise GraphError(
                f"{where(index)} has {len(item)} {'cells' if depth == spec.rank - 1 else 'rows'};"
                f" expected {spec.shape[depth]} ({what} is {describe(spec)})"
            )
        if as_is and depth == spec.rank - 1 and as_is(item, allow_nonfinite):
            return list(item)
        return [block(inner, depth + 1, (*index, i)) for i, inner in enumerate(item)]

    return block(value, 0, ())


def _given(item: Any) -> str:
    """What was given where a list was expected."""
    return (
        "a tensor of a graph, which has no value" if hasattr(item, "spec")
        else typed(item) if callable(item)
        else shown(item)
    )  # fmt: skip


def _regular(value: Any) -> tuple[int, ...]:
    """The shape of nested lists; () where they are none, or ragged."""
    try:
        return tuple(shape_of(value))
    except GraphError:
        return ()


def _stays_packed(value: Packed, spec: Spec, numbers: Numbers, allow_nonfinite: bool) -> bool:
    return (
        value.shape == spec.shape
        and (spec.kind, numbers) == ("float", FLOAT)
        and (allow_nonfinite or value.finite)
    )


def lists(value: Any) -> Any:
    """A tensor as nested lists, where it was packed."""
    return value.tolist() if isinstance(value, Packed) else value


def tuples(value: Any) -> Any:
    """A tensor as nested tuples, as attributes hold it, where it was packed or is nested lists."""
    value = lists(value)
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def listed(value: Any, what: str) -> Any:
    """What `.tolist()` of an array gives, or the value itself where it has none."""
    if not hasattr(value, "tolist"):
        return value
    try:
        return value.tolist()
    except Exception as error:  # whatever the library of the array raises
        raise GraphError(f"{what} is {typed(value)} whose tolist() failed: {error}") from error


def plain(row: Sequence[Any], allow_nonfinite: bool = False) -> bool:
    """Whether a row is of floats, all of them finite unless others are allowed: a quick look, which
    may say no to a row that is fine (a sum overflows), but never yes to one that is not."""
    return countOf(map(type, row), float) == len(row) and (allow_nonfinite or math.isfinite(sum(row)))


def _all_of(kind: type) -> Callable[[Sequence[Any], bool], bool]:
    return lambda row, allow_nonfinite: countOf(map(type, row), kind) == len(row)


_AS_IS = {"bool": _all_of(bool), "int": _all_of(int)}
"""Whether the rows of a kind can be taken as they are."""


def _already(numbers: Numbers) -> Callable[[Sequence[Any], bool], bool]:
    """As `plain`, for the cells of another number type, which go through as the very same objects."""

    def plain(row: Sequence[Any], allow_nonfinite: bool) -> bool:
        own = countOf(map(type, row), numbers.cell) == len(row)
        return own and (allow_nonfinite or all(map(numbers.isfinite, row)))

    return plain


def _read_float(cell: Any, where: Callable[[], str], numbers: Numbers, allow_nonfinite: bool) -> Any:
    if isinstance(cell, (bool, str, bytes, bytearray)) or cell is None:
        raise GraphError(f"{where()} is {shown(cell)}; expected a number")
    if isinstance(cell, (list, tuple)):
        raise GraphError(f"{where()} is a list; expected a number")
    try:
        number = numbers.lift(cell)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, GraphError):
            raise GraphError(f"{where()}: {error}") from None
        raise GraphError(f"{where()} is {shown(cell)}; expected a number") from None
    if not allow_nonfinite and not numbers.isfinite(number):
        raise GraphError(f"{where()} is {cell}; expected a finite number (allow_nonfinite=True lets it in)")
    return number


def _read_bool(cell: Any, where: Callable[[], str], numbers: Numbers, allow_nonfinite: bool) -> bool:
    if not isinstance(cell, bool):
        raise GraphError(f"{where()} is {shown(cell)}; expected True or False")
    return cell


def _read_int(cell: Any, where: Callable[[], str], numbers: Numbers, allow_nonfinite: bool) -> int:
    if isinstance(cell, bool) or not isinstance(cell, int):
        raise GraphError(f"{where()} is {shown(cell)}; expected an integer")
    return cell


_CELL_READERS: dict[str, Callable[[Any, Callable[[], str], Numbers, bool], Any]] = {
    "float": _read_float,
    "bool": _read_bool,
    "int": _read_int,
}
