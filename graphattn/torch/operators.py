"""PyTorch's operators by name: what is called, and what its schema says of its arguments."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from .program import need_torch

NAME = re.compile(r"(?:torch\.ops\.)?aten\.([A-Za-z_0-9]+)\.([A-Za-z_0-9]+)")
NUMBERS: dict[str, Callable[..., Any]] = {
    **{f"_operator.{f.__name__}": f for f in (
        operator.add, operator.sub, operator.mul, operator.floordiv, operator.truediv, operator.mod,
        operator.neg, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge,
    )},
    "math.ceil": math.ceil, "math.floor": math.floor, "math.trunc": math.trunc,
}  # fmt: skip
"""Python's functions of numbers, which stand between the operators where sizes are computed."""


SHARING = frozenset(("reshape", "flatten", "contiguous", "to", "dropout", "type_as", "expand_as", "chunk"))
"""Operators that may give back their input, though their schema does not say so."""


class Operator(NamedTuple):
    """What is called, its arguments with their defaults, and which of them go by position."""

    name: str
    call: Callable[..., Any] | None
    defaults: dict[str, Any]
    positional: tuple[str, ...]
    writes: bool = False
    """Whether it writes to its first argument: `add_` for `add`."""
    shares: bool = False
    """Whether what it gives may share memory with its first argument: views, and what gives back its input."""


class Missing:
    """Stands for a default that is not there."""

    def __repr__(self) -> str:
        return "nothing"


MISSING = Missing()


@cache
def find(target: str) -> Operator | None:
    """The operator of that name ("aten.linear.default", also with torch.ops. in front); None where PyTorch
    has none, or where it is not one of those that compute (aten)."""
    torch = need_torch()
    named = NAME.fullmatch(target)
    if named is None:
        function = NUMBERS.get(target)
        places = () if function is None else tuple("ab"[: 1 if _single(function) else 2])
        return None if function is None else Operator(target, function, dict.fromkeys(places, MISSING), places)
    try:
        call = getattr(getattr(torch.ops.aten, named[1]), named[2])
    except AttributeError:
        return None
    arguments = call._schema.arguments
    return Operator(
        f"aten.{named[1]}.{named[2]}",
        call,
        {a.name: a.default_value if a.has_default_value() else MISSING for a in arguments},
        tuple(a.name for a in arguments if not a.kwarg_only),
        bool(arguments and arguments[0].alias_info and arguments[0].alias_info.is_write),
        named[1] in SHARING or any(r.alias_info is not None for r in call._schema.returns),
    )


def _single(function: Callable[..., Any]) -> bool:
    return function is operator.neg or function.__module__ == "math"


def called(target: Any) -> str:
    """What a node of torch.fx calls, by name."""
    if target in NUMBERS.values():
        return next(name for name, function in NUMBERS.items() if function is target)
    return str(target)
