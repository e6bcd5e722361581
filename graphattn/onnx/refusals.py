"""What is not read, by operator, and why."""

from __future__ import annotations

import re
from typing import Any

from ..core.errors import GraphError
from .reading import OWN

REFUSED = {
    "control flow": r"If|Loop|Scan",
    "a sequence or an optional": r"Sequence\w*|SplitToSequence|ConcatFromSequence|Optional\w*",
    "an operator on strings": r"String\w*|RegexFullMatch|TfIdfVectorizer",
    "quantised": r"\w*QuantizeLinear|QLinear\w+|\w+Integer",
    "random": r"Random\w+|Multinomial|Bernoulli",
}
"""What an operator is, by a pattern of its name."""
TRAINING = ("ai.onnx.preview.training", "ai.onnx.training")


def refusal(op: str, domain: str, attributes: Any = ()) -> str | None:
    """Why an operator is not read, in a few words; None where it may be."""
    if domain in TRAINING:
        return f"an operator of training ({domain})"
    if domain not in OWN:
        return f"of the domain {domain[:80]!r}, which is not known"
    for what, pattern in REFUSED.items():
        if re.fullmatch(pattern, op):
            return what
    if "training_mode" in attributes and attributes["training_mode"] == 1:
        return "in training mode"
    return None


def need_readable(op: str, domain: str, attributes: Any, told: str) -> None:
    """Refuse a node that is not read, by name."""
    why = refusal(op, domain, attributes)
    if why is not None:
        raise GraphError(
            f"{told} is {why}; expected an operator of ONNX's own that computes tensors of numbers"
        )
