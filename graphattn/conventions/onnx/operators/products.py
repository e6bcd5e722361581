"""Products of matrices."""

from __future__ import annotations

from math import prod

from ....core.errors import GraphError
from ....core.graph import Graph, Tensor
from ....core.nested import indices, shown
from ...call import rank
from ..operator import Outputs, operator, switch
from .places import strides, taken


@operator("Y")
def MatMul(g: Graph, A: Tensor, B: Tensor) -> Outputs:
    """numpy.matmul: a vector on the left is a row, on the right a column, and that axis goes again."""
    for name, x in (("A", A), ("B", B)):
        if not x.shape:
            raise GraphError(f"{name} has rank 0; expected rank 1 or more")
    row, column = len(A.shape) == 1, len(B.shape) == 1
    a = g.reshape(A, (1, *A.shape), name="A_row") if row else A
    b = g.reshape(B, (*B.shape, 1), name="B_column") if column else B
    y = g.matmul(a, b)
    if row or column:
        last = (() if row else y.shape[-2:-1]) + (() if column else y.shape[-1:])
        y = g.reshape(y, (*y.shape[:-2], *last))
    return [y]


@operator("Y")
def Gemm(
    g: Graph, A: Tensor, B: Tensor, C: Tensor | None = None, *, alpha: float = 1.0, beta: float = 1.0,
    transA: int = 0, transB: int = 0, broadcast: int = 0,
) -> Outputs:  # fmt: skip
    """alpha A′B′ + beta C, where ′ transposes if transA, transB say so; C stretches."""
    for name, x in (("A", A), ("B", B)):
        rank(name, x, 2)
    if (switch("transA", transA), switch("transB", transB), alpha) == (False, True, 1) and (
        C is None or (beta == 1 and C.shape == B.shape[:1])
    ):
        return [g.linear(A, B, C)]
    a = g.transpose(A, name="A_t") if switch("transA", transA) else A
    b = g.transpose(B, name="B_t") if switch("transB", transB) else B
    y = g.matmul(a, b, name="product")
    y = y if alpha == 1 else g.scale(y, multiply=alpha, name="product_scaled")
    if C is None:
        return [y]
    c = C if beta == 1 else g.scale(C, multiply=beta, name="C_scaled")
    if len(c.shape) > 2:
        raise GraphError(f"C has rank {len(c.shape)}; expected a shape that stretches to {y.shape}")
    return [g.add(y, c)]


@operator("Output")
def Einsum(g: Graph, *Inputs: Tensor, equation: str) -> Outputs:
    """Products of cells that agree in their letters, summed over letters that the result does not have."""
    terms, result = _letters(equation, [len(x.shape) for x in Inputs])
    done = [_diagonal(g, x, letters) for x, letters in zip(Inputs, terms)]
    while len(done) > 1:
        (a, left), (b, right), *rest = done
        needed = set(result).union(*(letters for _, letters in rest))
        done = [_pair(g, a, left, b, right, needed), *rest]
    y, letters = done[0]
    y, letters = _summed(g, y, letters, set(result))
    if len(result) != len(set(result)):
        raise GraphError(f"equation is {shown(equation)}; expected each letter once in the result")
    return [g.transpose(y, perm=tuple(letters.index(c) for c in result)) if result else y]


def _letters(equation: str, ranks: list[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result; an ellipsis is written out in digits."""
    given, arrow, result = equation.replace(" ", "").partition("->")
    terms = given.split(",")
    if len(terms) != len(ranks):
        raise GraphError(
            f"equation is {shown(equation)} and there are {len(ranks)} inputs; expected as many terms"
        )
    free = "0123456789"
    widths = [rank - len(t.replace("...", "")) for t, rank in zip(terms, ranks)]
    most = max((w for w, t in zip(widths, terms) if "..." in t), default=0)
    if most > len(free):
        raise GraphError(f"equation is {shown(equation)}; expected at most {len(free)} axes for an ellipsis")
    terms = [t.replace("...", free[most - w : most] if w > 0 else "") for t, w in zip(terms, widths)]
    if not arrow:
        every = "".join(terms)
        result = free[:most] + "".join(sorted(c for c in set(every) if every.count(c) == 1 and c not in free))
    result = result.replace("...", free[:most])
    for term, count in zip(terms, ranks):
        if len(term) != count:
            raise GraphError(f"equation is {shown(equation)}; expected one letter for each axis")
    if not set(result) <= set("".join(terms)):
        raise GraphError(f"equation is {shown(equation)}; expected letters of the inputs in the result")
    return terms, result


def _diagonal(g: Graph, x: Tensor, letters: str) -> tuple[Tensor, str]:
    """x with each letter once: where one stands twice, the cells whose indices there agree."""
    once = "".join(dict.fromkeys(letters))
    if once == letters:
        return x, letters
    sizes, far = dict(zip(letters, x.shape)), strides(x.shape)
    shape = [sizes[c] for c in once]
    steps = [sum(s for c, s in zip(letters, far) if c == letter) for letter in once]
    places = [sum(i * s for i, s in zip(where, steps)) for where in indices(shape)]
    return taken(g, x, places, shape), once


def _summed(g: Graph, x: Tensor, letters: str, needed: set[str]) -> tuple[Tensor, str]:
    """x summed over the letters that nobody needs."""
    for place, letter in enumerate(letters):
        if letter not in needed:
            x = g.reduce_sum(x, axis=place)
    kept = "".join(c for c in letters if c in needed)
    return (x if kept == letters else g.reshape(x, tuple(
        size for size, c in zip(x.shape, letters) if c in needed
    ))), kept  # fmt: skip


def _pair(g: Graph, a: Tensor, left: str, b: Tensor, right: str, needed: set[str]) -> tuple[Tensor, str]:
    """Two operands as one product of matrices: letters that both have and someone needs are batches,
    those that nobody needs are summed over."""
    a, left = _summed(g, a, left, needed | set(right))
    b, right = _summed(g, b, right, needed | set(left))
    sizes = dict(zip(right, b.shape))
    for c, size in zip(left, a.shape):
        sizes[c] = max(size, sizes.get(c, 1)) if size and sizes.get(c, 1) else 0
    both = [c for c in left if c in right and c in needed]
    inner = [c for c in left if c in right and c not in needed]
    rows, columns = ([c for c in own if c not in other] for own, other in ((left, right), (right, left)))

    def matrix(x: Tensor, letters: str, first: list[str], second: list[str]) -> Tensor:
        wide = (
            g.broadcast(x, tuple(sizes[c] for c in letters))
            if x.shape != tuple(sizes[c] for c in letters)
            else x
        )
        order = (*both, *first, *second)
        turned = g.transpose(wide, perm=tuple(letters.index(c) for c in order)) if order else wide
        lead = tuple(sizes[c] for c in both)
        return g.reshape(turned, (*lead, prod(sizes[c] for c in first), prod(sizes[c] for c in second)))

    y = g.matmul(matrix(a, left, rows, inner), matrix(b, right, inner, columns))
    letters = "".join((*both, *rows, *columns))
    return g.reshape(y, tuple(sizes[c] for c in letters)), letters
