"""Operators that give what they are given: in evaluation, and where only memory changes."""

from __future__ import annotations

from typing import Any

from ...core.graph import Tensor
from ..values import EPS, FLOATS
from .call import Call


def same(c: Call, x: Any, **_: Any) -> Tensor:
    return c.tensor(x)


def dropout(c: Call, input: Any, p: float, train: bool) -> Tensor:
    if train and p:
        c.refuse("dropout is active; expected a module in eval mode")
    return c.tensor(input)


def cast(c: Call, x: Any, dtype: Any = None, **_: Any) -> Tensor:
    """Between float types: the number stays, and a run rounds as its own number type does."""
    name = str(dtype).removeprefix("torch.")
    if dtype is not None and name not in FLOATS:
        c.refuse(f"numbers that are computed become {name}; expected floats to stay floats")
    if c.kind(x) != "float":
        c.refuse(f"computed {c.kind(x)}s become {name}; expected floats")
    if dtype is not None and EPS[name] > EPS.get(c.dtype, 0):
        c.note(f"numbers that become {name} in between are not rounded here")
    return c.tensor(x)


def cast_like(c: Call, x: Any, other: Any, **_: Any) -> Tensor:
    return cast(c, x)


RULES = {
    "dropout.default": dropout,
    "feature_dropout.default": dropout,
    "contiguous.default": same,
    "clone.default": same,
    "alias.default": same,
    "detach.default": same,
    "detach_.default": same,
    "lift_fresh_copy.default": same,
    "positive.default": same,
    "resolve_conj.default": same,
    "resolve_neg.default": same,
    "to.dtype": cast,
    "to.dtype_layout": cast,
    "to.device": cast,
    "to.other": cast_like,
    "type_as.default": cast_like,
    "_to_copy.default": cast,
}
