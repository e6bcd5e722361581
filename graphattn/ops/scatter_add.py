"""y[r, j] = Σ x[…, j] over the places … where ids[…] = r: rows added up by index.

x (…, d), ids (…) of int → y (rows, d): what embedding does, the other way round. An index outside
0 … rows − 1 is an error when it is met. Each sum is one `total` of the number type.
"""

from __future__ import annotations

from math import prod

from ..core import cells
from ..core.axes import Spec, describe, need_kind, need_rank, need_size
from ..core.cells import Apply, Cell, Literal
from ..core.errors import GraphError, Rejected
from ..core.nested import flat, indices
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register


def shape(x: Spec, ids: Spec, *, rows: int) -> Spec:
    need_kind("float", x=x)
    need_kind("int", ids=ids)
    need_rank(1, x=x)
    need_size("rows", rows)
    if x.shape[:-1] != ids.shape:
        raise Rejected(f"x is {describe(x)} and ids is {describe(ids)}; expected one index for each row of x")
    return Spec((rows, x.shape[-1]), (None, x.axes[-1]))


def scatter_add(x, ids, rank, rows, width, total):
    found = [[] for _ in range(rows)]
    for _ in range(rank - 2):
        x = [row for block in x for row in block]
    for index, row in zip(flat(ids), [x] if rank == 1 else x):
        if not 0 <= index < rows:
            raise GraphError(f"index {index} is outside the table; expected 0 to {rows - 1}")
        found[index].append(row)
    return [[total(column) for column in zip(*part)] if part else [total([])] * width for part in found]


def kernel(numbers: Numbers, x: Spec, ids: Spec, *, rows) -> Kernel:
    return Kernel(scatter_add, x.rank, ids.rank, rank=x.rank, rows=rows, width=x.shape[-1], total=numbers.total)


def last_alone(g, x, ids, *, rows):
    """Of rows with one index the last alone counts, as in numpy's y[ids] += x."""
    n = prod(ids.shape)
    x, ids = g.reshape(x, (n, x.shape[-1])), g.reshape(ids, (n,))
    again = g.equal(g.reshape(ids, (n, 1)), g.reshape(ids, (1, n)))
    later = g.logical_and(again, g.logical_not(g.causal_mask(n)))
    one, zero = g.constant(1.0), g.constant(0.0)
    written_over = g.is_positive(g.reduce_max(g.where(later, one, zero)))
    return g.scatter_add(g.where(written_over, zero, x), ids, rows=rows)


def mean(g, x, ids, *, rows):
    """Of rows with one index their mean."""
    one = g.constant(1.0)
    count = g.scatter_add(g.broadcast(one, shape=x.shape), ids, rows=rows)
    return g.divide(g.scatter_add(x, ids, rows=rows), g.where(g.is_positive(count), count, one))


def gradient(g, dy, y, x, ids, *, rows):
    return g.embedding(dy, ids), None


def in_torch(x: Spec, ids: Spec, *, rows):
    return f"{{x}}.new_zeros({rows}, {x.shape[-1]}).index_add(0, {{ids}}, {{x}})" if ids.rank == 1 else ""


def onnx(o, x, ids, *, rows):
    zeros = o.full((rows, x.shape[-1]), 0.0)
    index = o.Reshape(ids, (prod(ids.shape), 1))
    return o.ScatterND(zeros, index, o.Reshape(x, (prod(ids.shape), x.shape[-1])), reduction="add")


def explain(index, x: Spec, ids: Spec, *, rows):
    r, j = index
    return cells.total(
        cells.where(Apply("equal", (Cell(1, place), Literal(r))), Cell(0, (*place, j)), Literal(0))
        for place in indices(ids.shape)
    )


matrix = [[0.5, -1.25], [2.0, 0.75], [1e16, 1.0]]

register(
    Op(
        name="scatter_add",
        title="scatter add",
        glyph="⇶",
        family="function",
        formula="y[r] = Σ x[…] where ids[…] = r",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch=in_torch,
        linear=(("x",),),
        mistakes=(
            Declared("written over", "with rows of one index written over, not summed,", last_alone),
            Declared("mean", "with the mean of rows of one index, not their sum,", mean),
        ),
        gradient=gradient,
        explain=explain,
        cost=lambda x, ids, *, rows: x.size,
        note=lambda x, ids, *, rows: f"{rows} rows",
        samples=(
            Sample((matrix, [2, 0, 2]), {"rows": 4}),
            Sample(([matrix, matrix], [[0, 1, 0], [1, 1, 2]]), {"rows": 3}),
            Sample(([1.5, -2.0], 1), {"rows": 2}),
        ),
        rejects=(
            Reject((Spec((2, 3)), Spec((2,))), {"rows": 2}, "ids holds float; expected int"),
            Reject(
                (Spec((2, 3)), Spec((3,), kind="int")),
                {"rows": 2},
                "x is 2 × 3 and ids is 3 of int; expected one index for each row of x",
            ),
            Reject((Spec((2, 3)), Spec((2,), kind="int")), {"rows": -1}, "rows must be an int of 0 or more"),
        ),
    )
)
