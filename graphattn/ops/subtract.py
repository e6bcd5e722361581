"""y = a − b, cell by cell.

a, b: floats, or integers (exact, of any size); shapes that broadcast (right-aligned, size 1
stretches). Rejected where they do not.
"""

import operator

from ..core.elementwise import binary, unbroadcast
from ..core.op import register

register(
    binary(
        "subtract", "−", "y = a − b", lambda numbers: numbers.subtract, operator.sub, onnx="Sub",
        linear=(("a", "b"),),
        torch="{a} - {b}",
        gradient=lambda g, dy, y, a, b: (unbroadcast(g, dy, a), -unbroadcast(g, dy, b)),
    )
)  # fmt: skip
