"""The order of the loops of `linear`: weights outside and tokens inside, as it is, or the other way round.

    python benchmarks/linear.py

Each row of a matrix is looked at once for all tokens, or once for each. On 3.12 and 3.13 a wide one of 16
tokens takes 0.73 to 0.89 of the other order, small ones as long. Times are CPU seconds, interleaved,
the ratio is the median of per-round ratios; see timing.py. A wide layer is the one of a feed-forward network.
"""

from __future__ import annotations

import random

from timing import build, interleaved, ratio, told

from graphattn.core.numbers import dot
from graphattn.ops.linear import linear

SIZES = ((16, 256, 256), (16, 384, 1536), (16, 768, 3072), (128, 128, 512), (1, 768, 768))
"""Tokens, features in, features out."""


def tokens_outside(x, w, b, dot):
    """The other order."""
    return [[dot(row, weights) for weights in w] for row in x]


def main() -> None:
    print(build())
    draw = random.Random(0)
    for n, d, out in SIZES:
        x, w = ([[draw.gauss(0.0, 1.0) for _ in range(d)] for _ in range(rows)] for rows in (n, out))
        assert linear(x, w, None, dot) == tokens_outside(x, w, None, dot)
        taken = interleaved(
            {
                "weights outside": lambda x=x, w=w: linear(x, w, None, dot),
                "tokens outside": lambda x=x, w=w: tokens_outside(x, w, None, dot),
            },
            4.0,
        )
        mine, other = taken["weights outside"], taken["tokens outside"]
        print(f"{n} × {d} → {out}: {told(min(mine))}, {ratio(mine, other):.2f} of the other order")


if __name__ == "__main__":
    main()
