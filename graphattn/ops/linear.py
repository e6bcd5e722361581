"""y = x Wᵀ + b: y[i, j] = Σₖ x[i, k] · w[j, k] + b[j].

x (…, n, in), w (out, in), b (out) or left out → y (…, n, out). W is stored as PyTorch stores it, one
row for each output feature.
"""

from __future__ import annotations

from math import prod

from ..core.axes import Spec, describe, need_kind, need_rank, unify
from ..core.cells import Cell, add, multiply, total
from ..core.elementwise import unbroadcast
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, register


def shape(x: Spec, w: Spec, b: Spec | None = None) -> Spec:
    need_kind("float", x=x, w=w, b=b)
    need_rank(2, x=x)
    if w.rank != 2:
        raise Rejected(f"w is {describe(w)}; expected a matrix (out, in)")
    if w.shape[1] != x.shape[-1]:
        hint = "; w.T would fit" if w.shape[0] == x.shape[-1] else ""
        raise Rejected(f"x has {x.shape[-1]} features and w takes {w.shape[1]}; expected as many{hint}")
    if b is not None and b.shape != w.shape[:1]:
        raise Rejected(f"b is {describe(b)}; expected one row of {w.shape[0]}")
    unify(x.axes[-1], w.axes[1])
    feature = w.axes[0] if b is None else unify(w.axes[0], b.axes[0])
    return Spec((*x.shape[:-1], w.shape[0]), (*x.axes[:-1], feature))


def linear(x, w, b, dot):
    """Each row of W is looked at once, with all of x: it may be long, and is made a list only here."""
    columns = [[dot(row, weights) for row in x] for weights in w]
    if b is not None:
        columns = [[v + bias for v in column] for column, bias in zip(columns, b)]
    return list(map(list, zip(*columns))) if columns else [[] for _ in x]


def linear_empty(row, w, b):
    return [0.0] * len(w) if b is None else [0.0 + bias for bias in b]


def kernel(numbers: Numbers, x: Spec, w: Spec, b) -> Kernel:
    return (
        Kernel(linear, 2, 2, 1, by_rows=True, dot=numbers.dot) if x.shape[-1] else Kernel(linear_empty, 1, 2, 1)
    )


def expand(g, x, w, b):
    y = g.matmul(x, g.transpose(w, name="w_t"), name="product")
    return y if b is None else g.add(y, b, name="biased")


def gradient(g, dy, y, x, w, b):
    """dx = dy W, dW = dyᵀ x, db = Σ dy, the last two over all rows of all batches."""
    d_x = g.matmul(dy, w, absorb_zeros=True)
    d_w = g.matmul(_rows(g, dy).T, _rows(g, x), absorb_zeros=True)
    return d_x, d_w, None if b is None else unbroadcast(g, dy, b)


def _rows(g, x):
    return x if len(x.shape) == 2 else g.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))


def in_torch(x: Spec, w: Spec, b):
    return f"{{x}} @ {{w}}.{'T' if w.rank == 2 else 'transpose(-2, -1)'}{'' if b is None else ' + {b}'}"


def onnx(o, x, w, b):
    """Gemm takes matrices: the rows of all batches are one."""
    rows = x if x.rank == 2 else o.Reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    y = o.Gemm(rows, w, b, transB=1)
    return y if x.rank == 2 else o.Reshape(y, (*x.shape[:-1], w.shape[0]))


def explain(index, x: Spec, w: Spec, b):
    *lead, j = index
    y = total(multiply(Cell(0, (*lead, k)), Cell(1, (j, k))) for k in range(w.shape[1]))
    return y if b is None else add(y, Cell(2, (j,)))


def cost(x: Spec, w: Spec, b) -> int:
    y = shape(x, w).size
    return 2 * y * w.shape[1] + (y if b is not None else 0)


matrix = [[0.5, -1.25, 2.0], [1.5, 1.0, -3.0]]

register(
    Op(
        name="linear",
        title="linear",
        glyph="⊗",
        family="matmul",
        formula="y = x Wᵀ + b",
        level="op",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        expand=expand,
        explain=explain,
        linear=(("x", "b"), ("w", "b")),
        gradient=gradient,
        cost=cost,
        symbol="{title}",
        samples=(
            Sample((matrix, [[0.5, 1.0, 0.25], [-1.0, 0.0, 2.0]])),
            Sample((matrix, [[0.5, 1.0, 0.25], [-1.0, 0.0, 2.0]], [0.1, -0.2])),
            Sample(([matrix, matrix], [[0.5, 1.0, 0.25]], [0.1])),
        ),
        rejects=(
            Reject(
                (Spec((4, 3), ("token", "feature")), Spec((3, 5))),
                {},
                "x has 3 features and w takes 5; expected as many; w.T would fit",
            ),
            Reject((Spec((4, 3)), Spec((5, 3)), Spec((3,))), {}, "b is 3; expected one row of 5"),
            Reject((Spec((4, 3)), Spec((3,))), {}, "w is 3; expected a matrix (out, in)"),
        ),
    )
)
