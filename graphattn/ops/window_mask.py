"""y[i, j] = (i + offset − left ≤ j ≤ i + offset + right): query i sees the keys near it.

n queries, n_k keys (as many as queries if None) → bool (n, n_k), True = may attend. left and right
are how many keys a query sees before and after its own; None = all of them. A causal sliding window
of w keys (Mistral 7B 2023, 2) is left=w−1, right=0. offset: where the queries begin among the keys.
"""

from __future__ import annotations

from ..core.axes import Spec, need_size
from ..core.cells import Literal
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, find, register


def shape(
    n: int, n_k: int | None = None, *, left: int | None = None, right: int | None = None, offset: int = 0
) -> Spec:
    for what, size in (("left", left), ("right", right)):
        if size is not None:
            need_size(what, size)
    return find("causal_mask").shape(n, n_k, offset=offset)


def window_mask(n, n_k, left, right, offset):
    rows = []
    for p in range(offset, offset + n):
        first = 0 if left is None else p - left
        last = n_k if right is None else p + right
        rows.append([first <= j <= last for j in range(n_k)])
    return rows


def kernel(numbers: Numbers, *, n, n_k, left, right, offset) -> Kernel:
    n_k = n if n_k is None else n_k
    return Kernel(window_mask, n=n, n_k=n_k, left=left, right=right, offset=offset)


def in_torch(*, n, n_k, left, right, offset):
    cut = "" if right is None else f".tril({offset + right or ''})"
    cut += "" if left is None else f".triu({offset - left or ''})"
    return f"torch.ones({n}, {n if n_k is None else n_k}, dtype=torch.bool){cut}"


def explain(index, *, n, n_k, left, right, offset):
    i, j = index
    p = i + offset
    sees = (left is None or p - left <= j) and (right is None or j <= p + right)
    lower = "" if left is None else f"{p} − {left} ≤ "
    upper = "" if right is None else f" ≤ {p} + {right}"
    return Literal(sees, f"{lower}{j}{upper}")


def in_blocks(g, *, n, n_k, left, right, offset):
    """Each query sees its own block of as many keys: no later ones of these where none are to its right."""
    size = (left or 0) + (right or 0) + 1
    if left is None or size == 1 or not n:
        return None
    later, keys = right != 0, range(n if n_k is None else n_k)
    return g.constant(
        [[p // size == j // size and (later or j <= p) for j in keys] for p in range(offset, offset + n)]
    )


def note(*, n, n_k, left, right, offset) -> str:
    reach = "".join(f", {w} {s}" for w, s in (("left", left), ("right", right)) if s is not None)
    return "window" + reach + (f", offset {offset}" if offset else "")


register(
    Op(
        name="window_mask",
        title="M",
        glyph="▱",
        family="constant",
        formula="True where i + offset − left ≤ j ≤ i + offset + right",
        level="primitive",
        shape=shape,
        torch=in_torch,
        kernel=kernel,
        explain=explain,
        cost=lambda **_: 0,
        drawn="beside",
        note=note,
        mistakes=(
            Declared("in blocks", "with a block of so many keys, not those next to each query,", in_blocks),
        ),
        samples=(
            Sample((), {"n": 5, "left": 1, "right": 0}),
            Sample((), {"n": 4, "left": 0, "right": 2}),
            Sample((), {"n": 2, "n_k": 6, "left": 2, "right": 1, "offset": 3}),
            Sample((), {"n": 3, "right": 0}),
            Sample((), {"n": 3, "left": 1, "offset": -1}),
            Sample((), {"n": 2, "n_k": 3}),
            Sample((), {"n": 2, "n_k": 0, "left": 1}),
        ),
        rejects=(
            Reject((), {"n": 3, "left": -1}, "left must be an int of 0 or more, got -1"),
            Reject((), {"n": 3, "right": -2}, "right must be an int of 0 or more, got -2"),
            Reject((), {"n": 3, "left": 1.5}, "left must be an int of 0 or more, got 1.5"),
            Reject((), {"n": -1}, "n must be an int of 0 or more, got -1"),
            Reject((), {"n": 2, "offset": None}, "offset is None; expected an int"),
        ),
    )
)
