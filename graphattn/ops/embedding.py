"""y[…, j] = table[ids[…], j]: rows by index.

table (vocabulary, d), ids (…) of int → y (…, d). Moves numbers. An index outside the table, or
below 0, is an error when it is met.
"""

from __future__ import annotations

from ..core import masks
from ..core.axes import Spec, describe, need_kind
from ..core.cells import Cell
from ..core.errors import GraphError, Rejected
from ..core.numbers import Numbers
from ..core.op import Declared, Kernel, Op, Reject, Sample, register


def shape(table: Spec, ids: Spec) -> Spec:
    need_kind("float", table=table)
    need_kind("int", ids=ids)
    if table.rank != 2:
        raise Rejected(f"table is {describe(table)}; expected a matrix (vocabulary, d)")
    return Spec((*ids.shape, table.shape[1]), (*ids.axes, table.axes[1]))


def embedding(table, index):
    if not 0 <= index < len(table):
        raise GraphError(f"index {index} is outside the table; expected 0 to {len(table) - 1}")
    return table[index]


def kernel(numbers: Numbers, table: Spec, ids: Spec) -> Kernel:
    return Kernel(embedding, 2, 0, by_rows=True)


def padding_index(g, table, ids):
    """Row 0 is 0, as with padding_idx=0."""
    if not table.shape[0]:
        return None
    first, rest = g.slice(table, ":1"), g.slice(table, "1:")
    return g.embedding(g.concat(g.scale(first, multiply=0), rest, axis=0), ids)


def at_most_1(g, table, ids):
    """Rows longer than 1 are made as long as that."""
    rows = g.embedding(table, ids)
    length = g.sqrt(g.reduce_sum(g.multiply(rows, rows)))
    one = g.constant(1)
    return g.divide(rows, g.where(g.is_positive(g.subtract(length, one)), length, one))


def gradient(g, dy, y, table, ids):
    return g.scatter_add(dy, ids, rows=table.shape[0]), None


def onnx(o, table, ids):
    """ONNX counts an index below 0 from the end; it is put behind the end, where it is refused."""
    if o.exact:
        ids = o.Where(o.Less(ids, 0), table.shape[0], ids)
    return o.Gather(table, ids, axis=0)


def explain(index, table: Spec, ids: Spec):
    *at, j = index
    return Cell(0, (Cell(1, tuple(at)), j))


register(
    Op(
        name="embedding",
        title="embedding",
        glyph="▤",
        family="move",
        formula="y[…] = table[ids[…]]",
        level="primitive",
        shape=shape,
        kernel=kernel,
        onnx=onnx,
        torch="{table}[{ids}]",
        explain=explain,
        linear=(("table",),),
        gradient=gradient,
        cost=lambda table, ids: 0,
        masked=masks.moved,
        moves=True,
        mistakes=(
            Declared(
                "padding index", "with row 0 of the table set to 0, as padding_idx=0 does,", padding_index
            ),
            Declared("longest 1", "with no row longer than 1, as max_norm=1 does,", at_most_1, price=1.4),
        ),
        samples=(
            Sample(([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]], [2, 0, 2, 1])),
            Sample(([[0.5, 1.0], [1.5, 2.0]], [[1, 0], [0, 0]])),
            Sample(([[0.5, 1.0], [1.5, 2.0]], 1)),
        ),
        rejects=(
            Reject((Spec((3, 2)), Spec((4,))), {}, "ids holds float; expected int"),
            Reject((Spec((3,)), Spec((4,), kind="int")), {}, "table is 3; expected a matrix (vocabulary, d)"),
        ),
    )
)
