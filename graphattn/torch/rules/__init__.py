"""Rules by operator: how a step of a program becomes nodes. One file for each family of operators.

A rule is a function of a `Call` (whose methods are builders) and of the operator's arguments by the names of
PyTorch's schema, `self` as `x`; it gives the tensor, or a tuple of them where the operator has several results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import arithmetic, attention, identities, layers, masks, moves, reductions


class Rule(NamedTuple):
    """How a step is built, and whether it has nodes of its own."""

    build: Callable[..., Any]
    named: bool = True


RULES: dict[str, Rule] = {
    f"aten.{name}": Rule(build, family is not identities)
    for family in (arithmetic, attention, identities, layers, masks, moves, reductions)
    for name, build in family.RULES.items()
}
"""By the name of the operator, overload included: aten.linear.default."""

SKIPPED = frozenset(
    f"aten.{name}"
    for name in (
        "_assert_tensor_metadata.default", "_assert_scalar.default", "_assert_async.msg",
        "sym_constrain_range.default", "sym_constrain_range_for_size.default",
    )
)  # fmt: skip
"""What gives nothing."""

LIVE = frozenset(f"aten.{name}" for name in (*moves.PLAIN, *masks.LOGIC)) & set(RULES)
"""What moves integers and bools of an input, or joins bools: these follow what is fed, and are no constants."""
