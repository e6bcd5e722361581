"""y = a and b, cell by cell: two masks at once.

a, b: bools, shapes that broadcast (right-aligned, size 1 stretches).
"""

from ..core.elementwise import logical
from ..core.op import register


def logical_and(a, b):
    return a and b


register(logical("logical_and", "∧", "y = a and b", logical_and, "And", torch="{a} & {b}"))
