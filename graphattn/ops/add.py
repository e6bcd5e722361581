"""y = a + b, cell by cell.

a, b: shapes that broadcast (right-aligned, size 1 stretches). Rejected where they do not.
"""

from ..elementwise import binary
from ..op import register

register(binary("add", "⊕", "y = a + b", lambda numbers: numbers.add, family="add", title="add"))
