"""Calls of ONNX operators as graphs: the same names and arguments, without ONNX.

    trace = Attention(Q, K, V, mask, is_causal=1, qk_matmul_output_mode=3).run()
    trace["Y"], trace["qk_matmul_output"], trace["attention.scaled"]

Each operator is called with its inputs in the schema's order (None = left out) and its attributes by
name, and gives a `Specimen` (a graph and its feeds) whose outputs have the schema's names. Tensors are
nested lists, or anything with `.tolist()`; a tensor with an integer `.dtype` holds integers. Operators
that changed take `opset=`. `model` puts several together.

What ONNX means by its arguments, where others mean something else, is said in `DIFFERENCES`
(`graphattn.conventions`) and nowhere else. Written after opset 25 (onnx 1.23).
"""

from typing import Any

from . import attention, operators
from .model import model
from .operator import OPERATORS, Operator

Attention = attention.Attention


def __getattr__(name: str) -> Any:
    """Every operator by its name in ONNX."""
    if name in OPERATORS:
        return OPERATORS[name]
    raise AttributeError(f"graphattn.conventions.onnx has no operator {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *OPERATORS})


__all__ = ["OPERATORS", "Attention", "Operator", "attention", "model", "operators"]
