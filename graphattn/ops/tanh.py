"""y = tanh x, every cell."""

from ..elementwise import unary
from ..op import register

register(unary("tanh", "tanh", "y = tanh x", lambda numbers: numbers.tanh, range=(-1.0, 1.0)))
