"""Masks: what hides scores, whether it is added, filled in, or chosen by a condition.

PyTorch's programs hide with −∞, or with the smallest number of a type (−3.4e38) or −1e9, so that a row of which
nothing is seen has no NaN. Where a known mask is 0 or hides, and hides no whole row, the two are the same to a
softmax, and the mask becomes one of the graph: hidden cells are −∞, are drawn as hidden, and stay hidden.
"""

from __future__ import annotations

from typing import Any

from ...core.graph import Tensor
from ..values import Value, cells, kind_of
from .call import Call

HIDDEN = float("-inf")
LARGE = -1e9
"""What is added to hide is this or smaller."""


def hiding(c: Call, mask: Any) -> Any:
    """Which cells a known float mask lets through (nested bools), or None where it is none: where it is
    something else than 0 in a cell that it does not hide, or where it hides a whole row by a finite number."""
    if not isinstance(mask, Value) or mask.known is None or kind_of(mask.known) != "float":
        return None
    known = mask.known
    if not hasattr(known, "dim") or known.dim() < 2 or not known.numel():
        return None
    hidden = known <= LARGE
    if not bool(hidden.any()) or not bool((hidden | (known == 0)).all()):
        return None
    finite = hidden & (known > float("-inf"))
    if bool(finite.any()) and bool(hidden.all(dim=-1).any()):
        return None
    if bool(finite.any()):
        c.note(f"masks that add {float(known.min()):.3g} hide: their cells are −∞ here")
    return cells(~hidden)


def added(c: Call, x: Any, other: Any) -> Tensor:
    """x + other, where either may be a known mask, which then hides."""
    for scores, mask in ((x, other), (other, x)):
        visible = hiding(c, mask) if _fits(c, scores, mask) else None
        if visible is not None:
            c.fixed(mask)
            return c.mask(scores, c.constant(visible, c.inner("visible")))
    return c.add(x, other)


def _fits(c: Call, scores: Any, mask: Any) -> bool:
    """Whether a mask may be one of these scores, which are computed."""
    own, others = c.shape(scores), c.shape(mask)
    return c.kind(scores) == "float" and len(own) >= len(others) and own[-1:] == others[-1:]


def read(c: Call, mask: Any) -> Any:
    """A mask of attention as an operand: bools, or floats that are added."""
    visible = hiding(c, mask)
    if visible is None:
        return mask
    c.fixed(mask)
    return c.constant(visible, c.inner("visible"))


def masked_fill(c: Call, x: Any, mask: Any, value: Any) -> Tensor:
    """x, or a value where the mask is True; a value that hides makes it a mask of the graph."""
    value = float(c.known(value, "the value that is filled in"))
    hidden = _known(mask)
    if hidden is None or not _hides(c, hidden, value):
        return c.where(mask, value, x)
    if mask.live and value == HIDDEN:
        return c.mask(x, c.logical_not(mask, name=c.inner("visible")))
    c.fixed(mask)
    return c.mask(x, c.constant(cells(~hidden), c.inner("visible")))


def where(c: Call, condition: Any, x: Any, other: Any) -> Tensor:
    """x where the condition holds, other elsewhere; a hiding number elsewhere makes it a mask of the graph."""
    seen, number = _known(condition), _number(other)
    if seen is None or number is None or c.kind(x) != "float" or not _hides(c, ~seen, number):
        return c.where(condition, _floats(x), _floats(other))
    if number > HIDDEN:
        c.fixed(condition)
    return c.mask(x, condition)


def _known(value: Any) -> Any:
    """The tensor of a value that is known, or None."""
    known = value.known if isinstance(value, Value) else None
    return known if hasattr(known, "dim") else None


def _number(value: Any) -> float | None:
    """The number of a tensor of one cell that is known, or of a number; None for any other."""
    known = _known(value)
    if known is not None:
        return float(known.item()) if known.numel() == 1 else None
    return float(value) if isinstance(value, (int, float)) else None


def _hides(c: Call, hidden: Any, number: float) -> bool:
    """Whether a number in the cells that are to be hidden makes a mask: −∞, or one that is large enough where
    it hides no whole row."""
    if number == HIDDEN:
        return True
    if number > LARGE or (hidden.dim() and bool(hidden.all(dim=-1).any())):
        return False
    c.note(f"masks that fill in {number:.3g} hide: their cells are −∞ here")
    return True


def _floats(value: Any) -> Any:
    return float(value) if isinstance(value, (int, float)) else value


def logical_not(c: Call, x: Any) -> Tensor:
    return c.logical_not(_bools(c, x))


def logical_and(c: Call, x: Any, other: Any) -> Tensor:
    return c.logical_and(_bools(c, x), _bools(c, other))


def logical_or(c: Call, x: Any, other: Any) -> Tensor:
    return c.logical_or(_bools(c, x), _bools(c, other))


def _bools(c: Call, value: Any) -> Any:
    if c.kind(value) != "bool":
        c.refuse(f"{c.kind(value)}s are combined bit by bit; expected bools")
    return value


LOGIC = {
    "logical_not.default": logical_not,
    "bitwise_not.default": logical_not,
    "logical_and.default": logical_and,
    "bitwise_and.Tensor": logical_and,
    "__and__.Tensor": logical_and,
    "logical_or.default": logical_or,
    "bitwise_or.Tensor": logical_or,
    "__or__.Tensor": logical_or,
}
RULES = {
    **LOGIC,
    "masked_fill.Scalar": masked_fill,
    "masked_fill.Tensor": masked_fill,
    "where.self": where,
    "where.ScalarOther": where,
    "where.ScalarSelf": where,
    "where.Scalar": where,
}
