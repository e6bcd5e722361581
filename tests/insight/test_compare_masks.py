"""What compare takes for masked: by itself, beside its row, and beside the other side."""

import math
import random

import pytest

from graphattn import Graph, run
from graphattn.insight.compare import compare
from graphattn.insight.compare.masked_cells import hidden_cells, masked_in, seen
from graphattn.insight.compare.recording import Recorded

INF = math.inf
FILLS = (-INF, -1e4, -3e4, -6e4, -65504.0, -1e5, -1e9, -1e30, -2.38e38, -3.4028234663852886e38)


def normal(n, m, seed=1):
    draw = random.Random(f"{seed} {n} {m}")
    return [[draw.gauss(0, 1) for _ in range(m)] for _ in range(n)]


def softmax(row):
    top = max(row)
    raised = [math.exp(x - top) for x in row]
    return [x / sum(raised) for x in raised]


def filled(x, see, fill, added):
    """Scores with a mask, and their softmax."""
    scores = [
        [s if v else fill + s * added for s, v in zip(p, q, strict=True)] for p, q in zip(x, see, strict=True)
    ]
    return {"masked": scores, "w": [softmax(row) for row in scores]}


CAUSAL = [[j <= i for j in range(4)] for i in range(4)]
BLIND = [*CAUSAL[:2], [False] * 4, CAUSAL[3]]


@pytest.mark.parametrize("row, masked", [
    ([1.0, -1e9, -INF], [False, True, True]), ([1e9, -1e9, 5e8], [False] * 3),
    ([-1e160, 1e160, -INF], [False, False, True]),
    ([-2e33, 1e33], [False, False]), ([-2e33, 1.0], [True, False]), ([-65504.0, 300.0], [True, False]),
    ([-65504.0, 65504.0], [False, False]), ([-1e9 + 7.0, -1e9 - 3.0], [True, True]),
])  # fmt: skip
def test_what_a_row_masks_by_itself(row, masked):
    assert masked_in(row) == masked


@pytest.mark.parametrize("a, b, masked", [
    ([0.5, -3e4 + 0.7], [0.5, -INF], [[False, True]] * 2),
    ([0.5, -3e4 + 0.7], [0.5, -6e4 + 0.7], [[False, True]] * 2),
    ([0.5, -3e4], [0.5, -1.0], [[False, False]] * 2),                        # visible on one side
    ([0.5, -12034.7], [0.5, -24034.7], [[False, False]] * 2),                # an outlier: no fill is like that
    ([900.0, -3e4], [900.0, -6e4], [[False, False]] * 2),                    # not so far below the others
    ([0.5, -800.0], [0.5, -900.0], [[False, False]] * 2),                    # small, no fill
    ([-3e4, -4e4], [-3e4, -5e4], [[False, False]] * 2),                      # nothing is visible beside them
    ([-INF, -INF], [-3e4 + 0.5, -3e4 - 2.0], [[True, True]] * 2),            # rows that see nothing
    ([-INF, -INF], [-3e4, 1.0], [[True, True], [False, False]]),
])  # fmt: skip
def test_what_is_masked_beside_the_other_side(a, b, masked):
    assert list(hidden_cells(a, b)) == masked and list(hidden_cells(b, a)) == masked[::-1]


def test_fills_do_not_widen_what_is_allowed():
    row = [0.5, -1.5, -3e4 + 0.2, -INF, -1e9]
    assert seen(row) == [0.5, -1.5]
    assert Recorded("s", (5,), [row]).largest == 1.5
    g = Graph("a")
    g.output(y=g.add(g.input("x", (4, 4)), g.input("m", (4, 4)), name="y"))
    mask = [[0.0 if v else -3e4 for v in row] for row in CAUSAL]
    t = run(g, {"x": normal(4, 4), "m": mask})
    wrong = [[v + 0.01 * (v > -1e4) for v in row] for row in t["y"]]
    assert compare(t, {"y": t["y"]}, precision="float32").agrees
    assert not compare(t, {"y": wrong}, precision="float32").agrees


@pytest.mark.parametrize("own", [-INF, -1e4, -3e4, -1e9])
@pytest.mark.parametrize("added", [0, 1])
def test_any_fill_is_any_other(own, added):
    """A mask that is added or filled in, with a graph and without one."""
    x = normal(4, 4)
    g = Graph("added")
    mask = [[0.0 if v else own for v in row] for row in CAUSAL]
    g.output(w=g.softmax(g.add(g.input("x", (4, 4)), g.input("m", (4, 4)), name="masked"), name="w"))
    t = run(g, {"x": x, "m": mask}, allow_nonfinite=True)
    for fill in FILLS:
        theirs = filled(x, CAUSAL, fill, added)
        found = compare(t, {"x": x, **theirs})
        assert found.agrees and not found.harmless, str(found)
        assert compare({"masked": t["masked"], "w": t["w"]}, theirs).agrees
        shown = {**theirs, "masked": [[v if i or j != 1 else 0.25 for j, v in enumerate(row)]
                                      for i, row in enumerate(theirs["masked"])]}  # fmt: skip
        assert compare({"masked": t["masked"]}, {"masked": shown["masked"]}).verdict == "different"


@pytest.mark.parametrize("fill", FILLS[1:7])
def test_a_row_that_sees_nothing_has_scores_below_any_fill(fill):
    """Its weights are a convention; its scores are masked on both sides."""
    x = normal(4, 4)
    g = Graph("blind")
    see = g.input("m", (4, 4), kind="bool")
    g.output(w=g.softmax(g.mask(g.input("x", (4, 4)), see, name="masked"), name="w"))
    t = run(g, {"x": x, "m": BLIND})
    for added in (0, 1):
        theirs = {"x": x, "m": BLIND, **filled(x, BLIND, fill, added)}
        found = compare(t, theirs)
        assert found.first.comparison.name == "w" and found.first.comparison.index[0] == 2, str(found)
        assert compare(t, theirs, empty="any").agrees
        assert compare(t, theirs, empty="uniform").agrees is (added == 0)
        assert not compare(t, theirs, empty="zero").agrees


def test_the_cell_that_is_shown_is_one_that_differs():
    x = normal(3, 4)
    own = [[v if j <= i + 1 else -INF for j, v in enumerate(row)] for i, row in enumerate(x)]
    less = [[v * (1 + 1e-16) if j <= i else -INF for j, v in enumerate(row)] for i, row in enumerate(x)]
    for a, b in ((own, less), (less, own)):
        found = compare({"s": a}, {"s": b}).find("s")
        i, j = found.index
        assert math.isinf(a[i][j]) != math.isinf(b[i][j])
    wide = [[1e6, 2e6], [1.0, 2.0]]  # the largest difference is within what its row may
    found = compare({"s": wide}, {"s": [[1e6 + 1e-9, 2e6], [1.0, 2.0 + 1e-7]]}, rtol=1e-12).find("s")
    assert found.index == (1, 1)


def test_large_numbers_are_no_masks():
    g = Graph("large")
    g.output(y=g.scale(g.input("x", (3, 4)), divide=2, name="y"))
    x = [[1e160 * v for v in row] for row in normal(3, 4)]
    t = run(g, {"x": x})
    wrong = [[v * (2 if v < 0 else 1) for v in row] for row in t["y"]]
    assert compare(t, {"x": x, "y": wrong}).verdict == "different"


@pytest.mark.slow
@pytest.mark.parametrize("power", [-1000, -900, -560, -500, 0, 400, 520, 900, 1020])
def test_verdicts_and_relations_are_those_of_numbers_of_any_size(power):
    """Powers of two change neither."""
    size = 2.0**power
    g = Graph("sizes")
    g.output(y=g.scale(g.add(g.input("x", (4, 4)), g.input("z", (4, 4)), name="two"), divide=2, name="y"))
    x, z = ([[size * v for v in row] for row in normal(4, 4, seed)] for seed in (1, 2))
    t = run(g, {"x": x, "z": z})
    kinds = {
        "factor": lambda y: [[1.25 * v for v in row] for row in y],
        "sign": lambda y: [[-v for v in row] for row in y],
        "offset": lambda y: [[v + size / 4 for v in row] for row in y],
        "rows permuted": lambda y: y[::-1],
        "transpose": lambda y: [list(column) for column in zip(*y, strict=True)],
        "row factor": lambda y: [[v * (1 + i / 4) for v in row] for i, row in enumerate(y)],
        "row offset": lambda y: [[v + i * size / 8 for v in row] for i, row in enumerate(y)],
        "some cells": lambda y: [y[0], [y[1][0], 1.5 * y[1][1], *y[1][2:]], *y[2:]],
    }  # fmt: skip
    for kind, change in kinds.items():
        found = compare(t, {"x": x, "z": z, "y": change(t["y"])})
        assert found.first.key == "y" and found.first.relations[0].kind == kind, str(found)
        assert compare({"y": t["y"]}, {"y": change(t["y"])}).first.relations[0].kind == kind
        assert found.first.explanations == [] and found.data() and found._repr_html_()
    noise = [[v * (1 + 2**-52) for v in row] for row in t["y"]]
    assert compare(t, {"x": x, "z": z, "y": noise}).agrees
    for form in ("%.6e", "%.3e", "%.15e"):
        shown = {n: [[float(form % v) for v in row] for row in t[n]] for n in ("x", "z", "y")}
        assert compare(t, shown).agrees
        shown["y"] = [[float(form % (1.5 * v)) for v in row] for row in t["y"]]
        assert compare(t, shown).verdict == "different"
