"""A trained tensor: fed like an input, drawn inside the title of the op that uses it.

shape: its sizes; axes: their names, or None.
"""

from __future__ import annotations

from ..core.axes import Spec
from ..core.op import Op, Reject, find, register


def shape(*, shape: tuple, axes: tuple | None = None) -> Spec:
    return find("input").shape(shape=shape, axes=axes)


register(
    Op(
        name="parameter",
        title="parameter",
        glyph="◆",
        family="source",
        formula="fed with each run, trained",
        level="primitive",
        shape=shape,
        fed=True,
        drawn="inside",
        symbol="{title}",
        cost=lambda **_: 0,
        rejects=(Reject((), {"shape": 3}, "shape is 3; expected a tuple of sizes"),),
    )
)
