"""y[i, j] = Σₖ a[i, k] · b[k, j].

a (…, n, k), b (…, k, m) → y (…, n, m); the axes before broadcast. Each sum is one `dot` of the
number type; rows and columns come to it as tuples, which a number that keeps what it came from can
share. With `absorb_zeros`, a cell that comes out non-finite is computed again without the
factors that are exactly zero, so that what a weight of 0 hides never leaks; without it, 0 · ∞ is
NaN as IEEE 754 says. Rejected where k differs.
"""

from __future__ import annotations

from ..core.axes import Spec, broadcast, need_flag, need_kind, need_rank, unify
from ..core.cells import Cell, absorb, multiply, total
from ..core.elementwise import absorbed, cell_of, unbroadcast
from ..core.errors import Rejected
from ..core.numbers import Numbers
from ..core.op import Kernel, Op, Reject, Sample, find, register
from ..core.packed import Packed


def shape(a: Spec, b: Spec, *, absorb_zeros: bool = False) -> Spec:
    need_flag(absorb_zeros=absorb_zeros)
    need_kind("float", a=a, b=b)
    need_rank(2, a=a, b=b)
    if a.shape[-1] != b.shape[-2]:
        hint = "; b.T would fit" if a.shape[-1] == b.shape[-1] else ""
        hint = hint or ("; a.T would fit" if a.shape[-2] == b.shape[-2] else "")
        raise Rejected(f"a has {a.shape[-1]} columns and b has {b.shape[-2]} rows; expected as many{hint}")
    unify(a.axes[-1], b.axes[-2])
    lead, axes = broadcast(Spec(a.shape[:-2], a.axes[:-2]), Spec(b.shape[:-2], b.axes[:-2]))
    return Spec((*lead, a.shape[-2], b.shape[-1]), (*axes, a.axes[-2], b.axes[-1]))


def matmul(a, b, dot):
    """Rows of a times columns of b."""
    columns = list(zip(*b))
    return [[dot(row, column) for column in columns] for row in map(tuple, a)]


LARGE = 10_000
"""Of so many cells, the columns of b are not all made at once."""


def matmul_large(a, b, dot):
    """As matmul, where b is large: each of its columns is made once, used for all of a, and let go."""
    rows = list(map(tuple, a))
    columns = [[dot(row, column) for row in rows] for column in zip(*b)]
    return list(map(list, zip(*columns))) if columns else [[] for _ in rows]


def matmul_constant(a, b, dot, columns):
    return [[dot(row, column) for column in columns] for row in map(tuple, a)]


def matmul_absorbing(a, b, dot, finite, zero):
    """As matmul, but where a sum is not finite, it is taken again without the factors that are 0."""
    columns = list(zip(*b))
    y = [[dot(row, column) for column in columns] for row in map(tuple, a)]
    for row, results in zip(a, y):
        if not finite(results):
            for j, result in enumerate(results):
                if not finite([result]):
                    kept = [(p, q) for p, q in zip(row, columns[j]) if p != 0 and q != 0]
                    results[j] = dot([p for p, _ in kept], [q for _, q in kept]) if kept else zero
    return y


def matmul_empty(a, b, columns, zero):
    return [[zero] * columns for _ in a]


def kernel(numbers: Numbers, a: Spec, b: Spec, *, absorb_zeros) -> Kernel:
    if not a.shape[-1]:
        return Kernel(matmul_empty, 2, 2, columns=b.shape[-1], zero=numbers.lift(0))
    if absorb_zeros:
        return Kernel(matmul_absorbing, 2, 2, dot=numbers.dot, finite=numbers.finite, zero=numbers.lift(0))
    if b.value is not None and b.rank == 2 and not isinstance(b.value, Packed):
        return Kernel(matmul_constant, 2, 2, dot=numbers.dot, columns=list(zip(*b.value, strict=True)))
    times = matmul_large if b.shape[-2] * b.shape[-1] > LARGE else matmul
    return Kernel(times, 2, 2, by_rows=True, dot=numbers.dot)


def gradient(g, dy, y, a, b, *, absorb_zeros):
    d_a = g.matmul(dy, transposed(g, b), absorb_zeros=True)
    d_b = g.matmul(transposed(g, a), dy, absorb_zeros=True)
    return unbroadcast(g, d_a, a), unbroadcast(g, d_b, b)


def summed(g, *products, absorb_zeros):
    """Σ a b over several products is one: [a₀ a₁ …] times b₀, b₁, … below each other."""
    left, right = zip(*products, strict=True)
    if any(a.shape[:-1] != left[0].shape[:-1] for a in left) or any(
        (*b.shape[:-2], b.shape[-1]) != (*right[0].shape[:-2], right[0].shape[-1]) for b in right
    ):
        return None
    return g.matmul(g.concat(*left, axis=-1), g.concat(*right, axis=-2), absorb_zeros=absorb_zeros)


def transposed(g, x):
    """xᵀ; where x is the transpose of a tensor, that tensor."""
    node = x.node
    if node.op is find("transpose") and node.attributes["perm"] is None:
        return g.tensor(g.tensor_name(node.operands[0]))
    return x.T


def onnx(o, a, b, *, absorb_zeros):
    y = o.MatMul(a, b)
    if not absorb_zeros:
        return y
    if not o.absorbs:
        return absorbed(o, y)
    left, right = o.Unsqueeze(a, (-1,)), o.Unsqueeze(b, (-3,))
    kept = absorbed(o, o.Mul(left, right), left, right)
    total = o.ReduceSum(kept, (-2,), keepdims=0)
    return o.Where(o.Or(o.IsInf(y), o.IsNaN(y)), total, y)


def explain(index, a: Spec, b: Spec, *, absorb_zeros):
    *lead, i, j = index
    at_a = cell_of(0, Spec(a.shape[:-2]), lead).index
    at_b = cell_of(1, Spec(b.shape[:-2]), lead).index
    times = absorb if absorb_zeros else multiply
    return total(times(Cell(0, (*at_a, i, k)), Cell(1, (*at_b, k, j))) for k in range(a.shape[-1]))


register(
    Op(
        name="matmul",
        title="matmul",
        glyph="⊗",
        family="matmul",
        formula="y[i, j] = Σₖ a[i, k] · b[k, j]",
        level="primitive",
        nonfinite=("absorb_zeros",),
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="{a} @ {b}",
        explain=explain,
        linear=(("a",), ("b",)),
        gradient=gradient,
        summed=summed,
        cost=lambda a, b, **_: 2 * shape(a, b).size * a.shape[-1],
        samples=(
            Sample(([[1.0, 2.0], [3.0, 4.0], [0.5, -1.0]], [[0.1, 0.2, 0.3], [-1.0, 2.0, 0.7]])),
            Sample(([[1.5]], [[-2.0]])),
            Sample(([[[1.0, 2.0]], [[0.3, -0.4]]], [[0.5], [0.25]])),
            Sample(([[0.0, 1.0], [0.5, 0.5]], [[float("inf"), 1.0], [2.0, 3.0]]), {"absorb_zeros": True}),
            Sample(([[0.25, 0.75]], [[1.0, 2.0], [3.0, 4.0]]), {"absorb_zeros": True}),
            Sample(([[1.0, 2.0]], [[], []])),
        ),
        rejects=(
            Reject(
                (Spec((4, 8), ("token", "feature")), Spec((4, 8), ("token", "feature"))),
                {},
                "a has 8 columns and b has 4 rows; expected as many; b.T would fit"
                " (a is token 4 × feature 8; b is token 4 × feature 8)",
            ),
            Reject(
                (Spec((2, 2)), Spec((2, 2))), {"absorb_zeros": 1}, "absorb_zeros is 1; expected True or False"
            ),
            Reject((Spec((3,)), Spec((3, 2))), {}, "a has rank 1; expected rank 2 or more"),
            Reject((Spec((2, 2)), Spec((2, 2), kind="bool")), {}, "b holds bool; expected float"),
        ),
    )
)
