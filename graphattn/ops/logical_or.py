"""y = a or b, cell by cell: what either mask lets through.

a, b: bools, shapes that broadcast (right-aligned, size 1 stretches).
"""

from ..core.elementwise import logical
from ..core.op import register


def logical_or(a, b):
    return a or b


register(logical("logical_or", "∨", "y = a or b", logical_or, "Or", torch="{a} | {b}"))
