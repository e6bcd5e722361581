"""The ONNX operators besides Attention, by family: each is a function that composes it of graphattn's ops."""

from . import (
    activations,
    comparisons,
    elementwise,
    indexing,
    losses,
    moves,
    normalization,
    products,
    recurrence,
    reductions,
    rotary,
    selection,
    types,
    windows,
)

__all__ = [
    "activations",
    "comparisons",
    "elementwise",
    "indexing",
    "losses",
    "moves",
    "normalization",
    "products",
    "recurrence",
    "reductions",
    "rotary",
    "selection",
    "types",
    "windows",
]
