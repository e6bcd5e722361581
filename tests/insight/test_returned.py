"""Another tensor is returned as the result, often of another shape: both diagnose and compare say which."""

import pytest

from graphattn import Graph, compare, diagnose, run
from graphattn.builtin import specimen


def turned(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def together(rows, divided=1):
    return [sum(column) / divided for column in zip(*rows, strict=True)]


def combined(a, b, divided=1):
    return [[(x + y) / divided for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)]


RETURNED = {
    "transposed": (lambda r: turned(r["Y"]), "with Y transposed"),
    "one head": (lambda r: r["head1.out"], "with head1.out returned, not Y"),
    "weights": (lambda r: r["head0.weights"], "with head0.weights returned, not Y"),
    "the last row": (lambda r: [r["Y"][-1]], "with the last row of Y alone returned"),
    "the first row, as a vector": (lambda r: r["Y"][0], "with the first row of Y alone returned"),
    "the mean of the rows": (lambda r: together(r["Y"], 3), "with the mean of the rows of Y returned"),
    "the sum of the rows": (lambda r: [together(r["Y"])], "with the sum of the rows of Y returned"),
    "heads below each other": (
        lambda r: r["head0.out"] + r["head1.out"], "with head*.out one below the other returned, not Y",
    ),
    "the sum of the heads": (
        lambda r: combined(r["head0.out"], r["head1.out"]), "with the sum of head*.out returned, not Y",
    ),
    "the mean of the heads": (
        lambda r: combined(r["head0.out"], r["head1.out"], 2), "with the mean of head*.out returned, not Y",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def heads():
    given = specimen("multi-head", n=3, d=4, heads=2)
    return given, run(given.graph, given.feeds)


@pytest.mark.parametrize("what", RETURNED)
def test_what_was_returned_is_named(heads, what):
    (given, right), (make, phrase) = heads, RETURNED[what]
    theirs = make(right)
    found = diagnose(given.graph, given.feeds, {"Y": theirs}, pairs=False)
    assert (found.verdict, found.findings[0].phrase) == ("mistake", phrase)
    again = run(found.findings[0].graph, given.feeds)["Y"]
    rows = theirs if isinstance(theirs[0], list) else [theirs]
    again = again if isinstance(again[0], list) else [again]
    assert again == [pytest.approx(row, rel=1e-12) for row in rows]


def test_weights_of_the_same_shape_and_those_that_are_read_on():
    given = specimen("attention", n=4, d=4)
    right = run(given.graph, given.feeds)
    found = diagnose(given.graph, given.feeds, {"weights": right["scores"], "out": right["out"]}, pairs=False)
    assert found.findings[0].phrase == "with scores returned, not weights"
    assert found.verdict == "mistake" and run(found.findings[0].graph, given.feeds)["out"] == right["out"]


@pytest.mark.parametrize("shape", [(12,), (1, 12), (3, 2, 2), (1, 3, 4)])
def test_axes_that_are_cut_or_merged_are_right(heads, shape):
    given, right = heads
    flat = iter([cell for row in right["Y"] for cell in row])

    def build(sizes):
        return [build(sizes[1:]) for _ in range(sizes[0])] if sizes else next(flat)

    assert diagnose(given.graph, given.feeds, {"Y": build(shape)}).verdict == "right"


@pytest.mark.parametrize("make, told", [
    (lambda r: turned(r["Y"]), "the reference transposed"),
    (lambda r: r["head1.out"], "the reference's head1.out"),
    (lambda r: [r["Y"][2]], "row 2 of the reference alone"),
    (lambda r: r["Y"][:2], "rows 0 to 1 of the reference alone"),
    (lambda r: [row[1:] for row in r["Y"]], "columns 1 to 3 of the reference alone"),
    (lambda r: together(r["Y"], 3), "the mean of the rows of the reference"),
    (lambda r: together(r["Y"]), "the sum of the rows of the reference"),
])  # fmt: skip
@pytest.mark.parametrize("fed", [False, True])
def test_compare_says_what_it_is(heads, make, told, fed):
    given, right = heads
    compared = compare(right, {**(given.feeds if fed else {}), "Y": make(right)})
    assert str(compared).startswith("different: Y has another shape\n") and not compared.agrees
    assert f"\n  yours is {told}\n" in str(compared)


def test_compare_says_no_more_of_another_shape_than_holds(heads):
    _, right = heads
    noise = [[0.1 * i + 0.37 * j * j for j in range(4)] for i in range(2)]
    compared = compare(right, {"Y": noise})
    assert "\n  yours is of another shape, 2 × 4\n" in str(compared)


def test_a_scalar_beside_the_result_is_no_row_of_it():
    g = Graph("loss")
    x = g.input("x", (3, 4), ("token", "feature"))
    y = g.relu(x, name="y")
    total = g.reduce_sum(g.reduce_sum(y, axis=-1), axis=-2)
    g.output(y=y, loss=g.reshape(total, shape=(), name="loss"))
    feeds = {"x": [[0.5, -1.0, 2.0, 0.25], [1.5, 0.75, -0.5, 1.0], [-2.0, 0.1, 0.3, 0.7]]}
    theirs = [[cell / (1 + i + j) for j, cell in enumerate(row)] for i, row in enumerate(feeds["x"])]
    assert diagnose(g, feeds, {"y": theirs}, pairs=False).verdict == "unexplained"
