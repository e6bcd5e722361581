"""y = a / b, cell by cell, by IEEE 754: 1/0 = ∞, 0/0 = NaN.

a, b: shapes that broadcast (right-aligned, size 1 stretches). Rejected where they do not.
"""

from ..elementwise import binary
from ..op import register

register(binary("divide", "÷", "y = a / b", lambda numbers: numbers.divide))
