"""A tensor that each run is fed.

shape: its sizes; axes: their names, or None; kind: float, bool (masks) or int (indices). default: what
each of its cells is in a run that does not feed it (None = it must be fed).
"""

from __future__ import annotations

from ..core.axes import KINDS, Spec, need_size
from ..core.errors import Rejected, suggest
from ..core.op import Op, Reject, register
from ..core.words import shown


def shape(
    *, shape: tuple, axes: tuple | None = None, kind: str = "float", default: float | None = None
) -> Spec:
    if not isinstance(shape, tuple):
        raise Rejected(f"shape is {shown(shape)}; expected a tuple of sizes")
    for place, size in enumerate(shape):
        need_size(f"size {place} of the shape", size)
    if kind not in KINDS:
        raise Rejected(f"kind is {shown(kind)}; expected one of {', '.join(KINDS)}{suggest(kind, KINDS)}")
    if default is not None:
        if kind != "float":
            raise Rejected(f"default is {shown(default)} for an input of {kind}; expected none")
        if isinstance(default, bool) or not isinstance(default, (int, float)):
            raise Rejected(f"default is {shown(default)}; expected a number or None")
    if axes is None:
        return Spec(shape, kind=kind)
    if not isinstance(axes, tuple) or not all(a is None or isinstance(a, str) for a in axes):
        raise Rejected(f"axes is {shown(axes)}; expected a name or None for each axis")
    if len(axes) != len(shape):
        raise Rejected(f"{len(axes)} axis names for {len(shape)} axes; expected as many")
    return Spec(shape, axes, kind)


register(
    Op(
        name="input",
        title="input",
        glyph="▸",
        family="source",
        formula="fed with each run",
        level="primitive",
        shape=shape,
        fed=True,
        symbol="{title}",
        cost=lambda **_: 0,
        rejects=(
            Reject((), {"shape": (2, -1)}, "size 1 of the shape must be an int of 0 or more, got -1"),
            Reject((), {"shape": (2,), "axes": ("a", "b")}, "2 axis names for 1 axes; expected as many"),
            Reject((), {"shape": (2,), "kind": "flaot"}, "did you mean 'float'?"),
            Reject((), {"shape": (2,), "default": "1"}, "default is '1'; expected a number or None"),
            Reject(
                (),
                {"shape": (2,), "kind": "int", "default": 1},
                "default is 1 for an input of int; expected none",
            ),
        ),
    )
)
