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
    """x, or a value where the mask is True."""
    value = c.known(value, "the value that is filled in")
    if isinstance(mask, Value) and mask.known is not None and value <= LARGE:
        hidden = mask.known
        if value == float("-inf") or not (hidden.dim() and bool(hidden.all(dim=-1).any())):
            if value > float("-inf"):
                c.note(f"masks that fill in {value:.3g} hide: their cells are −∞ here")
            visible = mask.live and c.logical_not(mask, name=c.inner("visible"))
            if not mask.live:
                c.fixed(mask)
                visible = c.constant(cells(~hidden), c.inner("visible"))
            return c.mask(x, visible)
    return c.where(mask, float(value), x)


def where(c: Call, condition: Any, x: Any, other: Any) -> Tensor:
    """x where the condition holds, other elsewhere; a hiding number elsewhere is a mask."""
    plain = other.known if isinstance(other, Value) and other.known is not None else other
    single = not isinstance(plain, Value) and (not hasattr(plain, "numel") or plain.numel() == 1)
    condition_known = isinstance(condition, Value) and condition.known is not None
    if single and condition_known and c.kind(x) == "float" and isinstance(x, Value) and x.known is None:
        number = float(plain.item() if hasattr(plain, "item") else plain)
        visible = condition.known
        blind = visible.dim() and bool((~visible).all(dim=-1).any())
        if number == float("-inf") or (number <= LARGE and not blind):
            if number > float("-inf"):
                c.note(f"masks that fill in {number:.3g} hide: their cells are −∞ here")
            return c.mask(x, condition)
    return c.where(condition, _floats(x), _floats(other))


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
