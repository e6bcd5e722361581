"""What a name of a program stands for while it is read, and tensors of PyTorch as plain numbers."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..core.graph import Tensor
from ..core.packed import LEAST, Packed

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""How far the next number after 1 is: torch.finfo(type).eps."""
FLOATS = tuple(EPS)


@dataclass
class Value:
    """A value of the program. `known`: a tensor or number of PyTorch, where it does not depend on float
    inputs or weights. `make` enters it into the graph, when a step needs it there. `rests_on`: the inputs
    whose values it follows from. `live`: whether `make` leads to an input of the graph, so that it changes
    with what is fed."""

    make: Callable[[], Tensor] | None
    known: Any = None
    rests_on: frozenset[str] = frozenset()
    live: bool = False
    _tensor: Tensor | None = field(default=None, repr=False)

    @property
    def tensor(self) -> Tensor:
        if self._tensor is None:
            assert self.make is not None
            self._tensor = self.make()
        return self._tensor


def of_tensor(tensor: Tensor) -> Value:
    """A value that is in the graph already."""
    return Value(None, _tensor=tensor)


def kind_of(value: Any) -> str:
    """float, int or bool: what the cells of a tensor or a number are."""
    dtype = dtype_of(value)
    if dtype in FLOATS or dtype == "float":
        return "float"
    return "bool" if dtype == "bool" else "int" if "int" in dtype else dtype


def dtype_of(value: Any) -> str:
    """ "float32", "int64", …; of a number its type."""
    return str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")


def cells(value: Any) -> Any:
    """Nested lists of a tensor's numbers, exactly."""
    if kind_of(value) == "float" and hasattr(value, "dtype"):
        return value.detach().double().tolist()
    return value.tolist() if hasattr(value, "tolist") else value


def feed(value: Any) -> Any:
    """What a graph is fed with: nested lists, of large tensors the numbers packed as they are."""
    if kind_of(value) != "float" or value.dim() < 2 or value.numel() < LEAST:
        return cells(value)
    whole = value.detach().to("cpu").contiguous()
    short = dtype_of(whole) != "float64"
    whole = whole.float() if short else whole
    numbers = array("f" if short else "d")
    numbers.frombytes(ctypes.string_at(whole.data_ptr(), whole.numel() * whole.element_size()))
    return Packed(tuple(whole.shape), numbers)
