"""The contract of the second seed: attention on Values with gradients (`graphattn.scalar` is the reference).

Results and gradients are compared; those of SelfAttention with what the reference gives for the file's own
projections, which it may draw as it likes.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .. import scalar
from .child import values
from .contract import Case, Contract, Function, signature
from .grade import apart

NAMES = vars(scalar)


def contract() -> Contract:
    """Random calls, large scores, one token; causal or not."""
    draw = random.Random("graphattn check scalar")

    def matrix(n: int, d: int, spread: float = 1.0) -> list[list[float]]:
        return [[round(draw.gauss(0, spread), 3) for _ in range(d)] for _ in range(n)]

    shares = [[0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [0.2, 0.3, 0.5]]
    return Contract(
        "scalar",
        (
            _of_values("softmax", ([0.5, -1.25, 2.0],), ([1000.0, 1001.0, 1002.0],), ([3.0],)),
            _of_values("attention_scores", (matrix(3, 4), matrix(3, 4), 4), (matrix(2, 2), matrix(3, 2), 2)),
            Function(
                "causal_mask",
                tuple(Case((n,), want=scalar.causal_mask(n)) for n in (4, 1)),
                signature=signature("causal_mask", scalar.causal_mask),
            ),
            _of_values("apply_attention", (shares, matrix(3, 2)), (shares, matrix(3, 5))),
            Function(
                "SelfAttention",
                tuple(
                    Case((width, x), {"causal": causal}, judge=_as_the_reference(width, x, causal))
                    for width, x, causal in (
                        (4, matrix(3, 4), True),
                        (4, matrix(3, 4), False),
                        (2, matrix(1, 2), True),
                    )
                ),
                "attention",
                signature("SelfAttention", scalar.SelfAttention),
            ),
        ),
    )


def _of_values(name: str, *calls: tuple[Any, ...]) -> Function:
    """A function whose results and gradients are those of the reference."""
    reference = NAMES[name]
    wants = (tuple(values(reference, list(args), {}, NAMES)["value"]) for args in calls)
    cases = tuple(Case(args, want=want) for args, want in zip(calls, wants, strict=True))
    return Function(name, cases, "values", signature(name, reference))


def _as_the_reference(width: int, x: Any, causal: bool) -> Callable[[Any], str | None]:
    """A judge of (result, gradients, projections): the reference with these projections must give the same."""

    def judge(gave: Any) -> str | None:
        out, gradients, projections = gave
        module = scalar.SelfAttention(width)
        for name, (matrix, bias) in zip(("W_q", "W_k", "W_v", "W_o"), projections, strict=True):
            linear = getattr(module, name)
            linear.weight = [[scalar.Value(cell) for cell in row] for row in matrix]
            linear.bias = [scalar.Value(cell) for cell in bias]
        want = values(lambda given: module(given, causal=causal), [x], {}, NAMES)["value"]
        for what, wanted, given in zip(
            ("the output", "the gradient of x"), want, (out, gradients), strict=True
        ):
            problem = apart(wanted, given, f"{what}: ")
            if problem:
                return problem
        return None

    return judge
