"""x[…] on tensors of a graph is what numpy gives, and so are its gradient and its refusals."""

import itertools

import pytest

from graphattn import Graph, GraphError, run
from graphattn.passes.gradient import gradient

CUTS = [
    0, -1, slice(None), slice(1, 3), slice(None, None, -1), slice(None, None, 2), slice(-2, None),
    slice(3, 0, -2), slice(2, 1), slice(0, 99), slice(-99, 2),
]  # fmt: skip
X = [[[float(100 * i + 10 * j + k) for k in range(4)] for j in range(5)] for i in range(3)]


@pytest.mark.parametrize("first", CUTS, ids=str)
def test_every_pair_of_cuts_is_numpys(first):
    numpy = pytest.importorskip("numpy")
    for rest in (*((cut,) for cut in CUTS), (Ellipsis,), (..., 1), (slice(None), 2), ()):
        at = (first, *rest)
        g = Graph("g")
        part = g.input("x", (3, 5, 4))[at if len(at) > 1 else at[0]]
        g.output(y=part)
        expected = numpy.array(X)[at]
        assert part.shape == expected.shape
        assert run(g, {"x": X})["y"] == expected.tolist()
        if not expected.size:
            continue
        d_y = numpy.arange(1.0, expected.size + 1).reshape(expected.shape)
        found = numpy.zeros((3, 5, 4))
        found[at] = d_y
        backwards = run(gradient(g, of="y"), {"x": X, "d_y": d_y.tolist()} if d_y.size > 1 else {"x": X})
        assert backwards["d_x"] == found.tolist()


def test_names_of_axes_stay_with_their_axes():
    g = Graph("g")
    x = g.input("x", (3, 5), ("token", "feature"))
    assert (x[0].axes, x[:, 1:3].axes, x[..., 0].axes) == (("feature",), ("token", "feature"), ("token",))
    assert str(g.node("slice_x").given) == "{'at': '0'}"


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (5, "index 5 does not exist on axis 0; expected -3 to 2"),
        ((0, 0, 0), "3 indices for 2 axes"),
        ([0, 1], "x is indexed with a list; expected ints, slices and ..."),
        (True, "x is indexed with a bool"),
        (None, "x is indexed with a NoneType"),
        (1.0, "x is indexed with a float"),
        (slice(0, 1, 0), "has a step of 0"),
        (slice(0.5, 1), "x is indexed with a float"),
        ((..., ...), 'expected "..." once at most'),
    ],
)
def test_refusals(at, words):
    x = Graph("g").input("x", (3, 5))
    with pytest.raises(GraphError, match=words.replace("...", r"\.\.\.")):
        x[at]


def test_there_is_still_no_loop_over_a_tensor():
    x = Graph("g").input("x", (3, 5))
    for use in (lambda: list(x), lambda: 1 in x, lambda: next(itertools.chain(x))):
        with pytest.raises(GraphError, match="there is no loop over tensor x"):
            use()
