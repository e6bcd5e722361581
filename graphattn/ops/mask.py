"""y = x where the mask lets it through, −∞ where it hides.

x (…, n, m); mask, of a shape that broadcasts with x: bool (True = may attend), or float, which is
added and whose −∞ hide exactly as False does, so that nothing behind a mask leaks. An integer
mask is refused, since it could mean either.
"""

from __future__ import annotations

from ..core import nested
from ..core.axes import Spec, broadcast, need_kind
from ..core.cells import Apply, Literal, add, where
from ..core.elementwise import cell_of, unbroadcast
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register

HIDDEN = float("-inf")


def shape(x: Spec, mask: Spec) -> Spec:
    need_kind("float", x=x)
    if mask.kind == "int":
        raise Rejected("an integer mask could mean either; expected bool (True = may attend) or float (added)")
    return Spec(*broadcast(x, mask))


def mask_hiding(row, visible, hidden):
    """What is not visible is −∞."""
    return [v if see else hidden for v, see in zip(row, visible)]


def mask_adding(row, bias, hidden):
    return [hidden if b == hidden else v + b for v, b in zip(row, bias)]


def mask_cell_hiding(v, see, hidden):
    return v if see else hidden


def mask_cell_adding(v, b, hidden):
    return hidden if b == hidden else v + b


def kernel(numbers: Numbers, x: Spec, mask: Spec) -> Kernel:
    by_row, by_cell = (
        (mask_hiding, mask_cell_hiding) if mask.kind == "bool" else (mask_adding, mask_cell_adding)
    )
    hidden = numbers.lift(HIDDEN)
    if x.rank and mask.rank and x.shape[-1] == mask.shape[-1]:
        return Kernel(by_row, 1, 1, hidden=hidden)
    return Kernel(by_cell, 0, 0, hidden=hidden)


def expand(g, x, mask):
    hidden = g.constant(HIDDEN, name="hidden")
    if mask.kind == "bool":
        return g.where(mask, x, hidden, name="chosen")
    biased = g.add(x, mask, name="biased")
    return g.where(g.is_visible(mask, name="visible"), biased, hidden, name="chosen")


def filled(g, x, mask):
    """The same with a large negative number, which hides too, but where nothing is seen."""
    if mask.kind != "bool":
        return None
    return g.where(mask, x, g.constant(-1e9, name="fill"), name="filled")


def added(g, x, mask):
    """The same with a large negative number added, which hides what is not all there is to see."""
    if mask.kind != "bool":
        return None
    return g.add(x, g.where(mask, g.constant(0.0, name="nothing"), g.constant(-1e9, name="much")), name="added")


def plus_number(g, x, mask, number=None):
    """x + number in what is to be hidden: too little to hide it."""
    return g.add(x, g.where(mask, g.constant(0.0), number)) if mask.kind == "bool" else None


def times_infinity(g, x, mask):
    """(1 − mask) · −∞ added: where the mask hides nothing that is 0 · −∞, which is NaN."""
    if mask.kind != "bool":
        return None
    hides = g.where(mask, g.constant(0.0, name="no"), g.constant(1.0, name="yes"), name="hides")
    return g.add(x, g.multiply(hides, g.constant(HIDDEN, name="hidden"), name="much"), name="added")


def gradient(g, dy, y, x, mask):
    """What is hidden depends on nothing."""
    see = mask if mask.kind == "bool" else g.is_visible(mask)
    seen = g.where(see, dy, g.constant(0))
    return unbroadcast(g, seen, x), None if mask.kind == "bool" else unbroadcast(g, seen, mask)


def in_torch(x: Spec, mask: Spec):
    return '{x}.masked_fill(~{mask}, float("-inf"))' if mask.kind == "bool" else "{x} + {mask}"


def onnx(o, x, mask):
    return o.Where(mask, x, HIDDEN) if mask.kind == "bool" else None


def explain(index, x: Spec, mask: Spec):
    see, value = cell_of(1, mask, index), cell_of(0, x, index)
    if mask.kind == "bool":
        return where(see, value, Literal(HIDDEN, "−∞"))
    return where(Apply("is_visible", (see,)), add(value, see), Literal(HIDDEN, "−∞"))


def stated(x: Spec, mask: Spec) -> str:
    visible = "x" if mask.kind == "bool" else "x + mask"
    return f"y = {visible} where visible, −∞ where hidden"


def masked(run, masks, values, x: Spec, mask: Spec):
    hides = (lambda cell: not cell) if mask.kind == "bool" else (lambda cell: cell == HIDDEN)
    before = nested.full(x.shape, False) if masks[0] is None else masks[0]
    return nested.lift(lambda old, cell: old or hides(cell), [0, 0], [x.shape, mask.shape])(before, values[1])


def warn(values, y, x: Spec, mask: Spec) -> list[str]:
    if mask.kind != "float" or not mask.size:
        return []
    found = {cell for _, row in nested.rows(values[1], mask.rank) for cell in set(row)}
    if not found <= {0.0, 1.0} or 1.0 not in found:
        return []
    return ["the float mask holds 0 and 1, which are added; to hide, expected bools, or 0 and −∞"]


matrix = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]

register(
    Op(
        name="mask",
        title="mask",
        glyph="+",
        family="mask",
        formula="y = x where visible, −∞ where hidden",
        stated=stated,
        level="op",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        expand=expand,
        explain=explain,
        gradient=gradient,
        cost=lambda x, mask: shape(x, mask).size if mask.kind == "float" else 0,
        masked=masked,
        guises=(
            Declared("filled with −1e9", "with hidden cells at −1e9", filled),
            Declared("plus −1e9", "with −1e9 added to hidden cells", added),
        ),
        mistakes=(
            Declared(
                "plus a number",
                "with {number} added to hidden cells, which hides little,",
                plus_number,
                price=1.5,
                number=-1.0,
                between=(-1000.0, 0.0),
            ),
            Declared(
                "times infinity",
                "with (1 − mask) · −∞ added",
                times_infinity,
                "0 · −∞ is NaN: take −∞ where the mask hides and x elsewhere, or add (1 − mask) · −1e9.",
                price=1.0,
            ),
        ),
        warn=warn,
        samples=(
            Sample((matrix, [[True, False, True], [True, True, False]])),
            Sample((matrix, [[0.0, HIDDEN, 0.5], [-1e9, 0.0, HIDDEN]])),
            Sample((matrix, [[True], [False]])),
            Sample((matrix, [0.0, -1.0, HIDDEN])),
            Sample(([matrix, matrix], [[True, True, False], [False, True, True]])),
        ),
        rejects=(
            Reject(
                (Spec((2, 2)), Spec((2, 2), kind="int")),
                {},
                "an integer mask could mean either; expected bool (True = may attend) or float (added)",
            ),
            Reject((Spec((2, 2)), Spec((3, 2), kind="bool")), {}, "sizes 2 and 3 on axis -2 do not agree"),
        ),
    )
)
