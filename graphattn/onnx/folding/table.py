"""The table of what is computed while a model is read: an operator's name, and the function that computes it.

Each is called with the inputs of a node as numpy arrays (None where left out) and its attributes by name, and
gives its output, or a tuple of them. One that takes `opset` or `outputs` is told the opset of the model, or how
many outputs the node has.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

FOLDS: dict[str, Callable[..., Any]] = {}


def folds(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a function by its name, which is the operator's."""
    FOLDS[function.__name__] = function
    return function


def computed(op: str, known: Any, attributes: Any, opset: int, outputs: int) -> Any:
    """What an operator gives."""
    function = FOLDS[op]
    taken = inspect.signature(function).parameters
    told = {k: v for k, v in {"opset": opset, "outputs": outputs}.items() if k in taken}
    return function(*known, **{**told, **attributes})


def ints(array: Any) -> list[int]:
    """Sizes or axes, from an array or an attribute."""
    return [int(n) for n in (array.reshape(-1) if hasattr(array, "reshape") else array)]


def number(array: Any) -> int:
    """The one integer of an array."""
    (only,) = ints(array)
    return only
