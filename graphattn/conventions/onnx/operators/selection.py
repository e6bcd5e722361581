"""The largest of many, in their order."""

from __future__ import annotations

from ....core.axes import position
from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ..operator import Outputs, Static, only, operator, switch


@operator("Values", "Indices")
def TopK(g: Graph, X: Tensor, K: Static, *, axis: int = -1, largest: int = 1, sorted: int = 1) -> Outputs:
    """The K largest (or smallest) along an axis in their order, and where they stood; of equals the first.

    The rank of a cell is how many come before it; the cell of rank r goes to place r.
    """
    k = only(K)
    place = position(axis, len(X.shape))
    n = X.shape[place]
    if not isinstance(k, int) or not 0 <= k <= n:
        raise GraphError(f"K is {k}; expected 0 to {n}, the size of the axis")
    order = (*(i for i in range(len(X.shape)) if i != place), place)
    x = X if place == len(X.shape) - 1 else g.transpose(X, perm=order, name="X_last")
    own, other = (g.reshape(x, (*x.shape[:-1], *sizes)) for sizes in ((n, 1), (1, n)))
    first, second = (own, other) if switch("largest", largest) else (other, own)
    earlier = g.constant(tuple(tuple(j < i for j in range(n)) for i in range(n)), name="earlier")
    tied = g.logical_and(g.equal(own, other, name="equals"), earlier, name="earlier_equals")
    before = g.logical_or(g.less(first, second, name="beyond"), tied, name="before")
    rank = g.reduce_sum(g.where(before, g.constant(1), g.constant(0)), name="rank")
    ranks = g.reshape(rank, (*x.shape[:-1], 1, n), name="ranks")
    wanted = g.reshape(g.constant(tuple(float(r) for r in range(k)), name="places"), (k, 1), name="places_down")
    chosen = g.equal(ranks, wanted, name="chosen")
    numbers = g.constant(tuple(map(float, range(n))), name="numbers")
    results = []
    for name, cells in (("values", other), ("indices", numbers)):
        y = g.reduce_sum(g.where(chosen, cells, g.constant(0), name=f"chosen_{name}"))
        y = g.reshape(y, (*x.shape[:-1], k), name=name)
        back = (*range(place), len(X.shape) - 1, *range(place, len(X.shape) - 1))
        results.append(y if place == len(X.shape) - 1 else g.transpose(y, perm=back))
    return results
