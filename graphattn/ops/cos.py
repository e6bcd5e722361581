"""y = cos x, every cell, x in radians; NaN at ±∞."""

from ..elementwise import unary
from ..op import register

register(unary("cos", "cos", "y = cos x", lambda numbers: numbers.cos, range=(-1.0, 1.0)))
