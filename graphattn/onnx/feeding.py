"""What the inputs of a model are fed: arrays of the types that it states, given or drawn at random.

Sizes that the model leaves open (`batch`, `sequence`) are told by what is fed, and the same everywhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from ..core import nested
from ..core.errors import GraphError, suggest
from ..core.limits import most_cells
from ..core.words import shown
from .naming import identifier
from .reading import Model, read_model
from .tensors import KINDS, READ, type_name

TOKENS = re.compile(r"seq|token|length|time", re.IGNORECASE)


@dataclass(frozen=True)
class Fed:
    """What an input is fed: as an array, and as the graph takes it."""

    name: str
    array: Any
    kind: str
    axes: tuple[str | None, ...]
    drawn: bool = False

    @property
    def value(self) -> Any:
        return self.array.tolist()


def input_names(source: Any) -> list[str]:
    """The names of what a model is fed. `source` is as for `load`."""
    graph = read_model(source).graph
    stored = {tensor.name for tensor in graph.initializer}
    return [info.name for info in graph.input if info.name not in stored]


def read_feeds(model: Model, feeds: Mapping[str, Any], seed: int = 0) -> dict[str, Fed]:
    """What each input is fed, by name. Raises a `GraphError` where that is not as the model says."""
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = {i.name: i for i in model.graph.input if i.name not in stored or i.name in feeds}
    for name in feeds:
        if name not in inputs:
            known = ", ".join(shown(i) for i in list(inputs)[:8]) or "none"
            raise GraphError(
                f"{model.what} has no input {shown(name)}; expected {known}{suggest(name, inputs)}"
            )
    bound: dict[str, tuple[int, str]] = {}
    given = {name: _given(info, feeds[name], bound) for name, info in inputs.items() if name in feeds}
    dice = random.Random(seed)
    return {name: given.get(name) or _drawn(info, bound, dice) for name, info in inputs.items()}


def _type(info: Any) -> tuple[str, list[int | str | None] | None]:
    """Element type and sizes of an input: a number, the name of an open size, or None; None for any rank."""
    what = f"input {shown(info.name)}"
    if not info.type.HasField("tensor_type"):
        kind = info.type.WhichOneof("value") or "no type"
        raise GraphError(f"{what} is {kind.removesuffix('_type')}; expected a tensor")
    tensor = info.type.tensor_type
    kind = type_name(tensor.elem_type)
    if kind not in READ:
        raise GraphError(f"{what} holds {kind}; expected one of {', '.join(READ)}")
    if not tensor.HasField("shape"):
        return kind, None
    return kind, [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim]


def _given(info: Any, value: Any, bound: dict[str, tuple[int, str]]) -> Fed:
    import numpy

    kind, stated = _type(info)
    what = f"input {shown(info.name)}"
    if not hasattr(value, "dtype") or not hasattr(value, "shape"):
        value = nested.listed(value, what)
        nested.shape_of(value, what)  # ragged lists are told of here
    try:
        array = numpy.asarray(value)
    except Exception as error:
        raise GraphError(f"{what} is no array: {str(error)[:120]}") from None
    found = {"f": "float", "i": "int", "u": "int", "b": "bool"}.get(
        array.dtype.kind, "float" if "float" in array.dtype.name else ""
    )
    wanted = KINDS[kind]
    if wanted == "int" and found == "float" and bool((array == numpy.trunc(array)).all()):
        found = "int"  # tables and recordings of numbers have neither integers nor bools
    if wanted == "bool" and found in ("int", "float") and set(array.reshape(-1).tolist()) <= {0, 1}:
        found = "bool"
    if not found or (found != wanted and not (wanted == "float" and found == "int") and array.size):
        raise GraphError(f"{what} is fed {found or array.dtype}; expected {wanted}, as the model states {kind}")
    _need_sizes(what, stated, array.shape, bound)
    return _fed(info, array, kind, stated)


def _fed(info: Any, array: Any, kind: str, stated: Any) -> Fed:
    from onnx import TensorProto, helper

    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(kind))
    wanted = KINDS[kind]
    if wanted == "float":
        array = array.astype("float64")
    else:
        array = array.astype(dtype)
    return Fed(info.name, array, wanted, _axes(stated or [None] * array.ndim, wanted))


def _need_sizes(what: str, stated: Any, shape: tuple[int, ...], bound: dict[str, tuple[int, str]]) -> None:
    if stated is None:
        return
    told = " × ".join("?" if size is None else str(size) for size in stated) or "a scalar"
    if len(stated) != len(shape):
        raise GraphError(f"{what} is fed {nested_sizes(shape)}; expected {told}")
    for size, got in zip(stated, shape):
        if isinstance(size, str):
            before = bound.setdefault(size, (got, what))
            if before[0] != got:
                raise GraphError(
                    f"{what} is fed {got} as {size!r}, and {before[1]} {before[0]}; expected the same"
                )
        elif size is not None and size != got:
            raise GraphError(f"{what} is fed {nested_sizes(shape)}; expected {told}")


def nested_sizes(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "a scalar"


def _drawn(info: Any, bound: Mapping[str, tuple[int, str]], dice: random.Random) -> Fed:
    """Numbers of a normal distribution; 0 and 1 where integers are asked for; True for bools."""
    import numpy

    kind, stated = _type(info)
    what = f"input {shown(info.name)}"
    sizes: list[Any] = (
        [] if stated is None else [bound[s][0] if isinstance(s, str) and s in bound else s for s in stated]
    )
    if stated is None or any(not isinstance(size, int) for size in sizes):
        told = "of any rank" if stated is None else " × ".join("?" if s is None else str(s) for s in stated)
        raise GraphError(
            f"{what} is {told}, and is not fed: its sizes are open; expected feeds for it"
            f" (load(path, {{{info.name[:40]!r}: …}}), or --feeds FILE with a tensor of that name)"
        )
    if prod(sizes) > most_cells():
        raise GraphError(f"{what} has {prod(sizes):,} cells; expected at most {most_cells():,}")
    count, wanted = prod(sizes), KINDS[kind]
    draw = {"float": lambda: dice.gauss(0.0, 1.0), "int": lambda: dice.randrange(2), "bool": lambda: True}[
        wanted
    ]
    array = numpy.array([draw() for _ in range(count)]).reshape([int(n) for n in sizes if n is not None])
    return replace(_fed(info, array, kind, stated), drawn=True)


def _axes(stated: Any, kind: str) -> tuple[str | None, ...]:
    """Names of axes: those of open sizes; the last of integers (ids, masks) are tokens."""
    axes: list[str | None] = [_axis(size) if isinstance(size, str) else None for size in stated]
    if kind == "int" and len(axes) == 2:
        axes = [axes[0] or "batch", axes[1] or "token"]
    return tuple(axes)


def _axis(name: str) -> str:
    if TOKENS.search(name):
        return "token"
    return "batch" if "batch" in name.lower() else identifier(name)
