"""Backward passes written by hand on lists of floats, right, or wrong as engines are.

    head(feeds, wrong=None) -> {"d_X": …}          plain Python, which shares nothing with graphattn
    intended(hides) -> Graph                       the same head as a graph

One head: h = tanh(X W + b), scores h hᵀ / √d − X E, softmax of what is visible, y = X + weights · h. `wrong` is
an id of mistakes.json. `hides` leaves one row with nothing to see.
"""

import math
from random import Random

from graphattn import Graph

N, D = 4, 4
LEAVES = ("X", "W", "b", "E")


def feeds_of(seed=0):
    random = Random(seed)
    shapes = {"X": (N, D), "W": (D, D), "E": (D, N), "d_y": (N, D)}
    fed = {
        name: [[round(random.gauss(0, 1), 3) for _ in range(c)] for _ in range(r)]
        for name, (r, c) in shapes.items()
    }
    return {**fed, "b": [round(random.gauss(0, 1), 3) for _ in range(D)]}


def visible(hides):
    return [[j <= i and not (hides and i == 2) for j in range(N)] for i in range(N)]


def intended(hides=False):
    g = Graph("one_head")
    x, w = g.input("X", (N, D), ("token", "feature")), g.parameter("W", (D, D))
    b, e = g.parameter("b", (D,)), g.parameter("E", (D, N))
    h = g.tanh(g.add(g.matmul(x, w, name="xw"), b, name="moved"), name="h")
    scores = g.scale(g.matmul(h, h.T, name="raw"), sqrt=D, name="scaled")
    scores = g.subtract(scores, g.matmul(x, e, name="bias"), name="scores")
    see = g.constant(visible(hides), name="visible")
    weights = g.softmax(g.mask(scores, see, name="masked"), name="weights")
    g.output(y=g.add(x, g.matmul(weights, h, absorb_zeros=True, name="mixed"), name="residual"))
    return g


class Tensor:
    """A matrix, and for each tensor that it is computed from what its gradient hands to that."""

    def __init__(self, rows, *sources):
        self.rows, self.sources, self.grad = rows, sources, None


def T(m):
    return [list(column) for column in zip(*m, strict=True)]


def mm(a, b):
    return [[sum(p * q for p, q in zip(row, column, strict=True)) for column in T(b)] for row in a]


def by_cell(function, *matrices):
    return [[function(*cells) for cells in zip(*rows, strict=True)] for rows in zip(*matrices, strict=True)]


def product(a, b):
    return Tensor(mm(a.rows, b.rows), (a, lambda dy: mm(dy, T(b.rows))), (b, lambda dy: mm(T(a.rows), dy)))


def weighted(a, nan):
    """Softmax of the rows; what sees nothing is 0, or what 0/0 gives."""
    rows = []
    for row in a.rows:
        peak = max(row)
        raised = (
            [math.exp(v - peak) for v in row] if peak > -math.inf else [math.nan if nan else 0.0] * len(row)
        )
        rows.append([v / (sum(raised) or 1.0) for v in raised])

    def back(dy):
        inner = [sum(p * q for p, q in zip(*pair, strict=True)) for pair in zip(rows, dy, strict=True)]
        return [
            [y * (d - t) for y, d in zip(*pair, strict=True)] for *pair, t in zip(rows, dy, inner, strict=True)
        ]

    return Tensor(rows, (a, back))


def head(fed, wrong=None, hides=False):
    """The gradients of the leaves, for the cotangent d_y."""
    x, w, e = (Tensor(fed[name]) for name in ("X", "W", "E"))
    b = Tensor([fed["b"]] * N)
    xw = product(x, w)
    moved = Tensor(by_cell(lambda p, q: p + q, xw.rows, b.rows), (xw, _same), (b, _same))
    h = Tensor(by_cell(math.tanh, moved.rows))
    h.sources = ((moved, lambda dy: by_cell(lambda d, v: d * (1 - v * v), dy, h.rows)),)
    turned = Tensor(T(h.rows), (h, T))
    raw = product(h, turned)
    half = math.sqrt(D)
    scaled = Tensor(by_cell(lambda v: v / half, raw.rows), (raw, lambda dy: by_cell(lambda d: d / half, dy)))
    bias = product(x, e)
    sign = 1 if wrong == "B9" else -1
    scores = Tensor(
        by_cell(lambda p, q: p - q, scaled.rows, bias.rows), (scaled, _same),
        (bias, lambda dy: by_cell(lambda d: sign * d, dy)),
    )  # fmt: skip
    see = visible(hides)
    hide = lambda m, by: by_cell(lambda v, s: v if s else by, m, see)  # noqa: E731
    masked = Tensor(hide(scores.rows, -math.inf), (scores, lambda dy: hide(dy, 0.0)))
    if wrong == "B11":  # 0 · NaN, and a mask that was added
        masked.sources = ((scores, _same),)
    weights = weighted(masked, nan=wrong == "B11")
    y = Tensor(fed["X"], (x, _same), *product(weights, h).sources)
    y.grad = fed["d_y"]
    backward(y, wrong)
    if wrong == "B3":  # called a second time
        for leaf in (x, w, b, e):
            leaf.grad = by_cell(lambda v: 2 * v, leaf.grad)
    d_b = b.grad if wrong == "B7" else [sum(column) for column in T(b.grad)]
    return {"d_X": x.grad, "d_W": w.grad, "d_b": d_b, "d_E": e.grad}


def _same(dy):
    return dy


def backward(y, wrong):
    if wrong == "B2":
        return too_early(y)
    for tensor in reversed(ordered(y)):
        for source, hand in tensor.sources:
            given = hand(tensor.grad)
            if source.grad is None or wrong == "B1":
                source.grad = given
            else:
                source.grad = by_cell(lambda p, q: p + q, source.grad, given)


def too_early(y):
    """Each hands on all that it has so far, whenever something arrives."""
    for source, hand in y.sources:
        given = hand(y.grad)
        source.grad = given if source.grad is None else by_cell(lambda p, q: p + q, source.grad, given)
        too_early(source)


def ordered(y):
    done, order = set(), []

    def visit(tensor):
        if id(tensor) not in done:
            done.add(id(tensor))
            for source, _ in tensor.sources:
                visit(source)
            order.append(tensor)

    visit(y)
    return order


MISTAKES = ("B1", "B2", "B3", "B7", "B9", "B11")
