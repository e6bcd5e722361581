"""The seven functions of the first seed as one file of their own, standard library only.

It is not a second copy: kernels are cut out of the op files, and `attention`, `multi_head` and
`block` are their ops' expansions, with what the seed does not have (projections, options) left out.
So the file gives the numbers of `graphattn.model`, bit for bit. Of its arguments it checks one thing,
that h divides the dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphattn.dumps.expansion_source import Signature, define_expansion
from graphattn.dumps.function_source import Definitions, Expression

from .. import ops  # noqa: F401  (fills the registry)
from ..core.axes import Spec
from ..core.interpreter import padded
from ..core.numbers import FLOAT
from ..core.op import find

HEAD = '''"""Attention without a library: seven functions on lists of lists, standard library only.

    python3 -c "import model; print(model.softmax([1, 2, 3]))"

A matrix is a list of rows, positions × dimensions. mask[i][j] true: position i can see position j.

Written by graphattn (`graphattn experiments`) from the kernels and expansions of its ops.
"""

import math
'''

SOFTMAX = Signature(
    "softmax",
    {"row": "xs"},
    """exp(x − max) / Σ exp(x − max): sums to 1.

    Taking the maximum off first changes nothing but keeps exp from overflowing.
    """,
)
ATTENTION = Signature(
    "attention",
    {"q": "Q", "k": "K", "v": "V", "mask": "mask"},
    """(out, weights): weights = softmax(Q Kᵀ / √d_k), out = weights V.

    What the mask hides is −∞ before the softmax, so its weight is exactly 0 and the rest sums to 1.
    """,
)
CAUSAL_MASK = Signature(
    "causal_mask", {"n": "n"}, "mask[i][j] is true where j ≤ i: i sees itself and the past."
)
MULTI_HEAD = Signature(
    "multi_head",
    {"q": "Q", "k": "K", "v": "V", "heads": "h", "mask": "mask"},
    """The last dimension in h equal parts, attention on each, the results side by side.

    Each head divides by the √ of its own, smaller dimension. With h = 1 this is attention.
    """,
)
POS_ENCODING = Signature(
    "pos_encoding",
    {"n": "n", "d": "d"},
    "sin and cos in turn of p / 10000^(2i/d), for each position p: in [−1, 1], and all different.",
)
LAYER_NORM = Signature(
    "layer_norm",
    {"row": "row", "eps": "eps"},
    "(row − mean) / √(variance + eps), over the features of one position: mean 0, variance 1.",
)
BLOCK = Signature(
    "block",
    {"x": "X", "heads": "h", "mask": "mask"},
    "X + multi_head(LN(X), …): pre-LN, and a residual through which the gradient reaches the input.",
)


def model_source() -> str:
    """The text of the file: the seven functions, each after what it uses, in the order of the seed's steps."""
    seven = (SOFTMAX, ATTENTION, CAUSAL_MASK, MULTI_HEAD, POS_ENCODING, LAYER_NORM, BLOCK)
    definitions = Definitions(signature.name for signature in seven)
    rows, composites = Spec((2, 2)), {}

    def kernel(signature: Signature, op: str, *specs: Spec, **attributes: Any) -> Callable[[], None]:
        return lambda: _define_kernel(definitions, signature, op, *specs, **attributes)

    def expansion(signature: Signature, op: str) -> Callable[[], None]:
        def define() -> None:
            define_expansion(definitions, find(op), signature, composites, masks=("mask",))
            composites[op] = signature

        return define

    steps = {
        "1. a softmax that does not blow up": kernel(SOFTMAX, "softmax", rows),
        "2. attention, and √d": expansion(ATTENTION, "attention"),
        "3. hide the future": kernel(CAUSAL_MASK, "causal_mask", n=2, n_k=Expression("n")),
        "4. split and join again": expansion(MULTI_HEAD, "multi_head"),
        "5. positions": kernel(POS_ENCODING, "positional_encoding", n=2, d=2),
        "6. LayerNorm": kernel(LAYER_NORM, "layernorm", rows),
        "7. the block": expansion(BLOCK, "block"),
    }
    parts = [HEAD]
    for title, define in steps.items():
        before = len(definitions.texts())
        define()
        parts.append(f"# {'-' * 64} {title}\n")
        parts += [f"{text}\n" for _, text in definitions.texts()[before:]]
    return "\n\n".join(parts)


def _define_kernel(
    definitions: Definitions, signature: Signature, op: str, *specs: Spec, **attributes: Any
) -> None:
    """Add the function of an op's kernel, with the parameters that the signature lists.

    Operands that the specs leave out are None there; what else the kernel binds is put in.
    """
    record = find(op)
    assert record.kernel is not None
    full = padded(record, specs)
    kernel = record.kernel(FLOAT, *full, **{**record.defaults, **attributes})
    left_out = {p.name: None for p, spec in zip(record.operands, full, strict=True) if spec is None}
    fixed = {name: value for name, value in kernel.bound.items() if name not in signature.parameters}
    defaults = {name: record.defaults[name] for name in signature.parameters if record.defaults.get(name)}
    definitions.use(
        kernel.function, {**left_out, **fixed}, signature.name, signature.parameters, signature.doc, defaults
    )
