"""Large tensors held compactly: they read as nested lists do, and give the same bits everywhere."""

import copy
import math
import pickle
import random
from array import array

import pytest
from every_op import every_op

from graphattn import Graph, GraphError, run
from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.packed import LEAST, Packed, pack
from graphattn.dumps.graph_json import graph_json, read_graph_json
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.passes.common_subexpressions import common_subexpressions


def matrix(rows, columns, seed=0):
    dice = random.Random(seed)
    return [[dice.gauss(0, 1) for _ in range(columns)] for _ in range(rows)]


WIDE = matrix(128, 130)


def test_it_reads_as_lists_do():
    cube = [[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 8.0], [9.0, -0.0], [math.inf, 0.5]]]
    packed = Packed((2, 3, 2), array("d", nested.flat(cube)))
    assert packed.tolist() == list(packed) == cube and packed[1] == cube[1] and packed[-1] == cube[1]
    assert packed[0:2] == cube and len(packed) == 2
    assert list(nested.flat(packed)) == list(nested.flat(cube))
    assert nested.shape_of(packed) == (2, 3, 2) and nested.fits(packed, (2, 3, 2))
    assert not nested.fits(packed, (3, 2, 2))
    assert all(nested.at(packed, i) == nested.at(cube, i) for i in nested.indices((2, 3, 2)))
    assert not packed.finite
    with pytest.raises(IndexError):
        packed[2]
    with pytest.raises(TypeError):
        packed.cells[0] = 1.0


@pytest.mark.parametrize(
    "shape, cells", [((2, 2), array("d", [1.0])), ((2,), array("i", [1, 2])), ((), array("d", [1.0]))]
)
def test_what_is_no_tensor_is_refused(shape, cells):
    with pytest.raises(GraphError, match="packed cells"):
        Packed(shape, cells)


def test_equal_bits_are_equal():
    ones = [Packed((2,), array(form, [1.5, math.nan])) for form in "dfd"]
    assert ones[0] == ones[1] == ones[2] and len({hash(one) for one in ones}) == 1
    assert ones[0] != Packed((1, 2), array("d", [1.5, math.nan]))
    assert Packed((1,), array("d", [0.0])) != Packed((1,), array("d", [-0.0]))
    assert pickle.loads(pickle.dumps(ones[0])) == copy.deepcopy(ones[0]) == ones[0]


def test_what_is_packed():
    assert pack(WIDE) == pack(tuple(map(tuple, WIDE))) == Packed((128, 130), array("d", nested.flat(WIDE)))
    assert pack([0.0] * (LEAST - 1)) is None and pack([0.0] * LEAST) is not None
    for other in (
        [0] * LEAST,
        [True] * LEAST,
        [[0.0] * LEAST, [0.0]],
        [[], []],
        "text",
        1.0,
        None,
        [0.0, [0.0]],
    ):
        assert pack(other) is None
    np = pytest.importorskip("numpy")
    for kind in (np.float32, np.float64):
        there = np.array(WIDE, dtype=kind)
        assert pack(there).tolist() == there.tolist()
        assert pack(there.T).tolist() == there.T.tolist()
    assert pack(np.zeros((200, 200), dtype=int)) is None


def graph_with(value):
    g = Graph("wide")
    x = g.input("x", (3, 130))
    w = g.constant(value, name="w", axes=("out", "feature"))
    b = g.constant([0.5] * 128, name="b")
    g.output(y=g.linear(x, w, b, name="y"), z=g.matmul(x, w.T, name="z"), s=g.negate(w, name="s"))
    return g


def test_a_constant_is_held_once_and_compactly():
    g = graph_with(WIDE)
    held = g.nodes["w"].attributes["value"]
    assert isinstance(held, Packed) and held.cells.nbytes == 8 * 128 * 130
    trace = run(g, {"x": matrix(3, 130, 1)})
    place = trace.graph.resolve("w")
    assert trace["w"] == WIDE and isinstance(trace["w"], list)
    assert trace.graph.spec(place) == Spec((128, 130), ("out", "feature"))
    trace["w"][0][0] = 99.0
    assert run(g, {"x": matrix(3, 130, 1)})["w"] == WIDE


def test_the_same_bits_come_out():
    feeds = {"x": matrix(3, 130, 1)}
    packed = run(graph_with(WIDE), feeds)
    g = Graph("wide")
    x, w, b = g.input("x", (3, 130)), g.input("w", (128, 130)), g.input("b", (128,))
    g.output(y=g.linear(x, w, b, name="y"), z=g.matmul(x, w.T, name="z"), s=g.negate(w, name="s"))
    fed = run(g, {**feeds, "w": WIDE, "b": [0.5] * 128})
    as_feed = run(g, {**feeds, "w": pack(WIDE), "b": [0.5] * 128})
    for name in "wyzs":
        assert packed[name] == fed[name] == as_feed[name]


def test_a_packed_feed_is_checked():
    g = Graph("a")
    g.input("x", (2, 2))
    with pytest.raises(GraphError, match="expected 2"):
        run(g, {"x": Packed((3, 2), array("d", [0.0] * 6))})
    hole = Packed((2, 2), array("d", [0.0, math.inf, 0.0, 0.0]))
    with pytest.raises(GraphError, match="finite"):
        run(g, {"x": hole})
    assert run(g, {"x": hole}, allow_nonfinite=True)["x"] == hole.tolist()
    assert run(g, {"x": hole}, allow_nonfinite=True, numbers="mpmath")["x"][0][0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("op", every_op(lambda op: op.samples))
def test_every_op_takes_packed_operands(op):
    for sample in op.samples:
        g, feeds, operands = Graph("one"), {}, []
        for i, value in enumerate(sample.operands):
            if value is None:
                operands.append(None)
                continue
            cells = set(map(type, nested.flat(value)))
            kind = "bool" if cells == {bool} else "int" if cells == {int} else "float"
            shape = nested.shape_of(value)
            operands.append(g.input(f"x{i}", shape, kind=kind))
            feeds[f"x{i}"] = value
        made = g.apply(op, *operands, **sample.attributes, name="y")
        made = made if isinstance(made, tuple) else (made,)
        for level in ("block", "op", "primitive"):
            plain = run(g, feeds, level=level, allow_nonfinite=True)
            packed = {
                name: Packed(nested.shape_of(value), array("d", map(float, nested.flat(value))))
                if nested.shape_of(value) and {float} == set(map(type, nested.flat(value)))
                else value
                for name, value in feeds.items()
            }
            other = run(g, packed, level=level, allow_nonfinite=True)
            for tensor in made:
                assert repr(plain[tensor.name]) == repr(other[tensor.name])
            assert plain.warnings == other.warnings
            assert [s.masks for s in plain.steps] == [s.masks for s in other.steps]


def test_texts_read_back():
    g = graph_with(WIDE)
    assert parse_graph(graph_text(g)) == g
    assert read_graph_json(graph_json(g)) == g
    other = graph_with([[cell + 1 for cell in row] for row in WIDE])
    assert other != g and "numbers" not in graph_text(g).splitlines()[2][:200]


def test_equal_constants_are_merged_and_others_are_not():
    g = Graph("two")
    a = g.constant(WIDE, name="a")
    b = g.constant([list(row) for row in WIDE], name="b")
    c = g.constant([[*row[:-1], 0.0] for row in WIDE], name="c")
    g.output(y=g.add(g.add(a, b), c))
    assert {"a", "c"} <= set(common_subexpressions(g).nodes) and "b" not in common_subexpressions(g).nodes
