"""y = erf x = 2/√π ∫₀ˣ exp(−t²) dt, every cell."""

from ..elementwise import unary
from ..op import register

register(unary("erf", "erf", "y = erf x", lambda numbers: numbers.erf, range=(-1.0, 1.0)))
