"""Each relation is found on constructed pairs over every tensor of the corpus traces, and none on pairs of
numbers that have nothing to do with each other (GRAPHATTN_PAIRS=10000 for the full count)."""

import math
import os
import random
import sys

import pytest
import recorded

from graphattn.core.rounded import FORMATS
from graphattn.insight.compare.constants import Dimensions, meanings
from graphattn.insight.compare.reading import of_dict
from graphattn.insight.compare.recording import Recorded, folded
from graphattn.insight.compare.relations import Context, relations

PAIRS = int(os.environ.get("GRAPHATTN_PAIRS", "600"))
RNG = random.Random(0)


def tensors():
    """(name, sizes, tensor) of every intermediate of the corpus."""
    for path in recorded.PATHS:
        case = recorded.load(path)
        attrs = case["attrs"]
        sizes = Dimensions(attrs["d_head"], attrs["d"], attrs["h"], attrs["n"])
        for tensor in case["trace"]:
            found = of_dict({tensor["name"]: tensor["data"]}, "corpus").tensors[tensor["name"]]
            yield f"{path.stem}:{tensor['name']}", sizes, found


TENSORS = list(tensors())


def like(tensor, rows):
    return Recorded(tensor.name, (*tensor.shape[:-2], len(rows), len(rows[0])), rows)


def each(function):
    return lambda t, sizes: like(t, [[function(x) for x in row] for row in t.rows])


def noisy(x):
    return x * (1 + RNG.uniform(-4e-16, 4e-16))


def by_place(function):
    return lambda t, sizes: like(
        t, [[function(i, j, x) for j, x in enumerate(row)] for i, row in enumerate(t.rows)]
    )


def reordered(t, sizes):
    return like(t, t.rows[::-1])


def swapped_columns(t, sizes):
    return like(t, [[row[-1], *row[1:-1], row[0]] for row in t.rows])


def heads_reversed(t, sizes):
    width = t.width // sizes.h
    return like(t, [[x for i in reversed(range(sizes.h)) for x in row[i * width :][:width]] for row in t.rows])


MADE = {  # relation: (kind that is claimed, how yours is made of the reference)
    "sign": ("sign", each(lambda x: -x)),
    "2": ("factor", each(lambda x: 2 * x)),
    "√d_k": ("factor", lambda t, s: each(lambda x: noisy(x * math.sqrt(s.d_k)))(t, s)),
    "1/√d_model": ("factor", lambda t, s: each(lambda x: noisy(x / math.sqrt(s.d_model)))(t, s)),
    "ln 2": ("factor", each(lambda x: noisy(x * math.log(2)))),
    "1.2345": ("factor", each(lambda x: noisy(x * 1.2345))),
    "offset": ("offset", each(lambda x: x + 1.0)),
    "affine": ("affine", each(lambda x: 1.7 * x + 0.3)),
    "row factor": ("row factor", by_place(lambda i, j, x: x * (1.5 + i))),
    "column factor": ("column factor", by_place(lambda i, j, x: x * (1.5 + j))),
    "row offset": ("row offset", by_place(lambda i, j, x: x + 1.5 + i)),
    "column offset": ("column offset", by_place(lambda i, j, x: x + 1.5 + j)),
    "transpose": ("transpose", lambda t, s: t.transposed()),
    "rows": ("rows permuted", reordered),
    "columns": ("columns permuted", swapped_columns),
    "heads": ("heads permuted", heads_reversed),
    "rows shifted": (
        "rows shifted", lambda t, s: like(t, [*t.rows[1:], [9.0 + 0.77 * j for j in range(t.width)]]),
    ),
    "columns shifted": (
        "columns shifted", lambda t, s: like(t, [[*row[1:], 9.0 + 0.77 * i] for i, row in enumerate(t.rows)]),
    ),
    "reshape": ("reshape", lambda t, s: folded(t.name, (t.size,), t.flat)),
    "one row": ("one row", by_place(lambda i, j, x: 3 * x + 1 if i == 0 else x)),
    "one column": ("one column", by_place(lambda i, j, x: 3 * x + 1 if j == 0 else x)),
    "masked": ("masked cells", by_place(lambda i, j, x: -math.inf if j > i + 1 else x)),
    **{name: ("rounding", each(fmt.round)) for name, fmt in FORMATS.items()},
}  # fmt: skip


def expressible(relation, t, sizes):
    """Whether the relation can be told from all others on a tensor of this shape and these numbers."""
    rows, width, hidden = len(t.rows), t.width, -math.inf in t.flat
    if relation == "heads":  # where heads are one column wide, they are columns
        return sizes.h > 1 and width > sizes.h and width % sizes.h == 0 and not hidden
    if relation == "masked":
        return width > 2
    if relation in ("float16", "bfloat16"):  # of two short numbers nothing can be said
        return t.size > 3
    if width == 1:
        return relation in ("sign", "2", "√d_k", "1/√d_model", "ln 2", "1.2345", "offset", "rows", "reshape",
                            "rows shifted", "one row", "float32")  # fmt: skip
    if relation in ("row factor", "transpose"):  # weights of a few rows have too few cells that are not 0 or 1
        return rows > 3
    if relation == "one column":  # of two rows of one number it is a line through two points
        return rows > 2 or width > 2
    return relation != "columns" or t.rows[0] != t.rows[0][::-1]


@pytest.mark.parametrize("relation", MADE)
def test_each_relation_is_found(relation):
    kind, make = MADE[relation]
    missed, tried = [], 0
    for name, sizes, reference in TENSORS:
        if len(reference.shape) < 2 or not expressible(relation, reference, sizes):
            continue
        yours = make(reference, sizes)
        if yours.rows == reference.rows:
            continue
        tried += 1
        found = relations(reference, yours, Context(sizes, tau=1e-12))
        if kind not in [one.kind for one in found]:
            missed.append((name, reference.shape, [one.kind for one in found]))
    assert tried > 10
    assert len(missed) <= tried // 50, missed


@pytest.mark.parametrize("factor, meaning", [
    (math.sqrt(6), "√d_k (d_k = 6)"), (1 / math.sqrt(6), "1/√d_k (d_k = 6)"), (6.0, "d_k (d_k = 6)"),
    (math.sqrt(48), "√d_model (d_model = 48)"), (1 / 48, "1/d_model (d_model = 48)"), (5.0, "h (h = 5)"),
    (math.sqrt(5), "√h (h = 5)"), (math.log(2), "ln 2"), (2.0, "2"), (math.log2(math.e), "1/ln 2 = log₂ e"),
    (math.sqrt(47 / 48), "√((d_model − 1) / d_model), an unbiased variance (d_model = 48)"),
])  # fmt: skip
def test_a_factor_is_named(factor, meaning):
    assert meanings(factor, Dimensions(d_k=6, d_model=48, h=5))[0] == meaning


def test_a_factor_without_a_meaning_is_given_none():
    assert meanings(1.2345, Dimensions(6, 48, 5, 7, 7)) == []


def unrelated(rng):
    """A pair of one shape that has nothing in common, with some other tensors."""
    n, m = rng.choice([1, 2, 3, 4, 5, 8]), rng.choice([1, 2, 3, 4, 6, 8])
    scale = rng.choice([1.0, 10.0, 0.01])
    draw = rng.choice([
        lambda: rng.gauss(0.0, scale), rng.random, lambda: rng.choice([0.0, rng.gauss(0.0, 1.0)]),
    ])  # fmt: skip
    made = [folded(f"t{i}", (n, m), [draw() for _ in range(n * m)]) for i in range(6)]
    return made[0], made[1], made[2:], Dimensions(m, 8, 2, n, m)


@pytest.mark.slow
@pytest.mark.parametrize("tau", [1e-12, 1e-5, 6e-2])
def test_nothing_is_claimed_of_unrelated_numbers(tau):
    rng = random.Random(1)
    claimed = []
    for _ in range(PAIRS):
        reference, yours, others, sizes = unrelated(rng)
        if reference.rows == yours.rows:
            continue
        claimed += [
            r for r in relations(reference, yours, Context(sizes, tau, others, others)) if r.kind != "sums"
        ]
    assert claimed == []


def test_a_claim_too_easily_made_would_be_seen(monkeypatch):
    monkeypatch.setattr(
        sys.modules["graphattn.insight.compare.relations.one_number"], "near", lambda pairs, tau: (True, 100)
    )
    rng = random.Random(1)
    reference, yours, others, sizes = unrelated(rng)
    assert relations(reference, yours, Context(sizes, 6e-2, others, others))


def test_zeros_are_not_the_rounding_of_what_is_near_them():
    zeros, tiny = folded("z", (3, 4), [0.0] * 12), folded("z", (3, 4), [1e-12 * (i + 1) for i in range(12)])
    for reference, yours in ((zeros, tiny), (tiny, zeros)):
        assert [r.text for r in relations(reference, yours, Context(tau=1e-12)) if r.kind == "rounding"] == []


def test_relations_beyond_one_tensor():
    q = folded("q", (3, 4), [RNG.gauss(0, 1) for _ in range(12)])
    k = folded("k", (3, 4), [RNG.gauss(0, 1) for _ in range(12)])
    part = folded("head0.q", (3, 2), [x for row in q.rows for x in row[:2]])
    context = Context(others=[k], operands=[q])
    assert [r.text for r in relations(q, k, context)] == ["the reference's k"]
    square = folded("s", (3, 3), q.flat[:9])
    turned = folded("k", (3, 3), k.flat[:9])
    assert [r.text for r in relations(square, turned.transposed(), Context(others=[turned]))] == [
        "the reference's k transposed"
    ]
    reshaped = folded("head0.q", (3, 2), q.flat[:6])
    (found,) = relations(part, reshaped, context)
    assert found.kind == "reshape" and found.text.startswith("cells 0 to 5 of q in row-major order")


def test_a_softmax_of_scaled_scores_and_one_over_the_wrong_axis():
    def softmax(rows):
        return [[math.exp(x) / math.fsum(map(math.exp, row)) for x in row] for row in rows]

    scores = [[RNG.gauss(0, 1) for _ in range(4)] for _ in range(4)]
    reference = of_dict({"w": softmax(scores)}, "the reference").tensors["w"]
    hot = of_dict({"w": softmax([[2 * x for x in row] for row in scores])}, "yours").tensors["w"]
    (found,) = relations(reference, hot, Context(Dimensions(d_k=4), tau=1e-12))
    assert found.kind == "temperature" and found.text.endswith("scores × 2, which is √d_k (d_k = 4)")
    seen = [[2 * x if j <= i + 1 else -math.inf for j, x in enumerate(row)] for i, row in enumerate(scores)]
    (found,) = relations(reference, of_dict({"w": softmax(seen)}, "yours").tensors["w"], Context(tau=1e-12))
    assert found.kind == "temperature" and found.text.endswith("× 2; the masks differ too, in 3 cells")
    columns = [list(c) for c in zip(*softmax(list(map(list, zip(*scores, strict=True)))), strict=True)]
    (found,) = relations(reference, of_dict({"w": columns}, "yours").tensors["w"], Context(tau=1e-12))
    assert (
        found.text == "unlike the reference: its columns sum to 1, where the reference's rows do (another axis)"
    )
