"""y = a · b, cell by cell.

a, b: shapes that broadcast (right-aligned, size 1 stretches). Rejected where they do not.
"""

from ..elementwise import binary
from ..op import register

register(binary("multiply", "·", "y = a · b", lambda numbers: numbers.multiply))
