"""Weights that no softmax gives, which people take for one: each built of ops."""

from __future__ import annotations

from .activations import softplus, squared
from .op import Declared

LONGEST = 64
"""Keys that are taken one after the other, at the most."""


def each_by_itself(g, x, *, axis, empty):
    """σ(x) of every score."""
    return g.sigmoid(x)


def undivided(g, x, *, axis, empty):
    """exp x, never divided by its sum."""
    return g.exp(x)


def without_exp(g, x, *, axis, empty):
    seen = scores(g, x, axis=axis, empty=empty)
    return g.divide(seen, g.reduce_sum(seen, axis=axis))


def by_other_rows(g, x, *, axis, empty):
    """exp x / Σ exp of row j in place of row i, as a sum without keepdims is taken along the rows."""
    if len(x.shape) < 2 or axis not in (-1, len(x.shape) - 1) or x.shape[-1] != x.shape[-2]:
        return None
    raised = g.exp(x)
    return g.divide(raised, g.transpose(g.reduce_sum(raised)))


def in_place_of_exp(function):
    """f(x) / Σ f(x) over what is visible, 0 where nothing is above 0."""

    def build(g, x, *, axis, empty):
        seen = g.where(g.is_visible(x), function(g, scores(g, x, axis=axis, empty=empty)), g.constant(0))
        total = g.reduce_sum(seen, axis=axis)
        return g.divide(seen, g.where(g.is_positive(total), total, g.constant(1)))

    return build


def elu_plus_1(g, x):
    """The feature map of linear attention: x + 1 above 0, exp x below."""
    return g.where(g.is_positive(x), g.add(x, g.constant(1)), g.exp(x))


def of_length_1(power, raised=False):
    """x / Σ |x|, x / √Σ x², or the same of exp x, as `normalize` functions have it."""

    def build(g, x, *, axis, empty):
        seen = g.exp(x) if raised else scores(g, x, axis=axis, empty=empty)
        sizes = g.multiply(seen, seen) if power == 2 else g.add(g.relu(seen), g.relu(g.negate(seen)))
        total = g.reduce_sum(sizes, axis=axis)
        return g.divide(seen, g.sqrt(total) if power == 2 else total)

    return build


def between_least_and_largest(g, x, *, axis, empty):
    least = g.negate(g.reduce_max(g.where(g.is_visible(x), g.negate(x), x), axis=axis))
    span = g.subtract(g.reduce_max(x, axis=axis), least)
    share = g.divide(g.subtract(x, least), g.where(g.is_positive(span), span, g.constant(1)))
    return g.where(g.is_visible(x), share, g.constant(0))


def relu_over_n(g, x, *, axis, empty):
    return g.scale(g.relu(scores(g, x, axis=axis, empty=empty)), divide=max(x.shape[axis], 1))


def of_the_largest(count, normalized=True):
    """Nothing but the largest scores of each row; `normalized`: they sum to 1."""

    def build(g, x, *, axis, empty):
        if x.shape[axis] <= count:
            return None
        rest = x
        for _ in range(count - 1):
            rest = g.mask(rest, g.logical_not(g.one_hot_argmax(rest, axis=axis)))
        see = g.logical_not(g.less(x, g.reduce_max(rest, axis=axis)))
        if normalized:
            return g.softmax(g.mask(x, see), axis=axis, empty=empty)
        return g.where(see, g.softmax(x, axis=axis, empty=empty), g.constant(0))

    return build


def running(top, bottom):
    """Key after key, with the largest score so far taken away, which nothing makes up for when a larger one
    comes: in what is mixed (`top`), in the sum (`bottom`), or in both."""

    def build(g, x, *, axis, empty):
        n = x.shape[axis]
        if not 1 < n <= LONGEST:
            return None
        keys = g.split(x, n, axis=axis)
        peaks = [keys[0]]
        for key in keys[1:]:
            peaks.append(g.where(g.less(peaks[-1], key), key, peaks[-1]))
        parts = [g.concat(*made, axis=axis) for made in (peaks, [peaks[-1]] * n)]
        so_far, last = (g.exp(g.subtract(x, g.where(g.is_visible(p), p, g.constant(0)))) for p in parts)
        return g.divide(so_far if top else last, g.reduce_sum(so_far if bottom else last, axis=axis))

    return build


def by_halves(normalized):
    """Two blocks of keys, put together wrongly: each with a maximum of its own that nothing makes up for, or
    each a softmax by itself."""

    def build(g, x, *, axis, empty):
        n = x.shape[axis]
        if n < 2:
            return None
        halves = g.split(x, (n // 2, n - n // 2), axis=axis)
        if normalized:
            return g.concat(*(g.softmax(half, axis=axis) for half in halves), axis=axis)
        raised = []
        for half in halves:
            peak = g.reduce_max(half, axis=axis)
            peak = g.where(g.is_visible(peak), peak, g.constant(0))
            raised.append(g.exp(g.subtract(half, peak)))
        whole = g.concat(*raised, axis=axis)
        return g.divide(whole, g.reduce_sum(whole, axis=axis))

    return build


def scores(g, x, *, axis, empty):
    return g.where(g.is_visible(x), x, g.constant(0))


def uniform(g, x, *, axis, empty):
    return g.softmax(g.where(g.is_visible(x), g.constant(0), x), axis=axis, empty=empty)


def largest(g, x, *, axis, empty):
    return g.where(g.one_hot_argmax(x, axis=axis), g.constant(1), g.constant(0))


WEIGHTS: tuple[Declared, ...] = (
    Declared("sigmoid", "with a sigmoid of each score by itself", each_by_itself),
    Declared(
        "exp alone",
        "with exp alone, never divided by its sum,",
        undivided,
        "exp is divided by the sum of the exponentials of its row, so that the row sums to 1.",
    ),
    Declared("no exp", "with each score divided by the sum of its row, without exp,", without_exp, price=1.3),
    Declared("scores", "with the scores themselves as weights, 0 where hidden,", scores, price=1.3),
    Declared(
        "sums of other rows",
        "with the sums as a row, not a column (as without keepdims),",
        by_other_rows,
        price=1.3,
    ),
    *(
        Declared(
            name,
            f"with {name} of each score divided by the sum of its row",
            in_place_of_exp(f),
            price=p,
        )
        for name, f, p in (
            ("relu", lambda g, x: g.relu(x), 1.3),
            ("relu²", squared, 1.45),
            ("the square", lambda g, x: g.multiply(x, x), 1.4),
            ("a sigmoid", lambda g, x: g.sigmoid(x), 1.4),
            ("softplus", softplus, 1.45),
            ("elu + 1", elu_plus_1, 1.45),
        )
    ),
    Declared("relu / n", "with relu of each score divided by the number of keys", relu_over_n, price=1.45),
    Declared("Σ |x|", "with each score divided by Σ |x| of its row", of_length_1(1), price=1.4),
    Declared("√Σ x²", "with each score divided by √Σ x² of its row", of_length_1(2), price=1.4),
    Declared(
        "exp / √Σ exp²",
        "with exp divided by √Σ exp² of its row",
        of_length_1(2, raised=True),
        price=1.5,
    ),
    Declared(
        "min-max",
        "with (x − min) / (max − min) of each row",
        between_least_and_largest,
        price=1.4,
    ),
    *(
        Declared(f"top {k}", f"with the {k} largest of each row alone", of_the_largest(k), price=1.45)
        for k in (2, 3)
    ),
    Declared(
        "2 largest weights",
        "with the 2 largest weights of each row alone, which do not sum to 1,",
        of_the_largest(2, normalized=False),
        price=1.5,
    ),
    *(
        Declared(
            f"running {what}",
            f"with the largest score so far taken away, key after key, and {what} rescaled",
            running(top, bottom),
            price=1.45,
        )
        for what, top, bottom in (
            ("the sum alone", True, False),
            ("the mix alone", False, True),
            ("nothing", True, True),
        )
    ),
    Declared(
        "halves apart",
        "with each half of the row normalized by itself",
        by_halves(normalized=True),
        "Blocks of keys are put together by their maxima and sums; each alone sums to 1.",
        price=1.4,
    ),
    Declared(
        "halves not rescaled",
        "with another maximum taken away in each half of the row",
        by_halves(normalized=False),
        "When a block has a larger maximum, what was summed up before is rescaled.",
        price=1.4,
    ),
    Declared("uniform", "with the same weight for every visible cell", uniform, price=1.3),
    Declared(
        "largest",
        "with weight 1 for the largest score of each row, 0 for the others,",
        largest,
        price=1.3,
    ),
)
