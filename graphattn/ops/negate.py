"""y = −x, every cell."""

from ..elementwise import unary
from ..op import register

register(
    unary(
        "negate", "−", "y = −x", lambda numbers: numbers.negate,
        gradient=lambda g, dy, y, x: (-dy,),
    )
)  # fmt: skip
