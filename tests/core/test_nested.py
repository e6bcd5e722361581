"""Nested lists, axes and cells: the small parts that everything stands on."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphattn.core import nested
from graphattn.core.axes import (
    Spec,
    broadcast,
    describe,
    need_kind,
    need_rank,
    need_size,
    noting,
    position,
    unify,
)
from graphattn.core.cells import FUNCTIONS, Apply, Cell, Literal, add, evaluate, sources, total
from graphattn.core.errors import GraphError, Rejected, suggest
from graphattn.core.numbers import of

SHAPES = st.lists(st.integers(0, 3), max_size=4).map(tuple)


def says(words, function, *args, error=GraphError, **kwargs):
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    assert str(caught.value) == words


def numbered(shape):
    """A tensor whose cells are 0.0, 1.0, 2.0, … in row-major order."""
    counter = iter(range(10**6))
    return nested.build(shape, lambda *_: float(next(counter)))


# ---------------------------------------------------------------- nested lists


@given(SHAPES)
def test_shape_index_and_order(shape):
    block = numbered(shape)
    cells = list(nested.flat(block))
    assert len(cells) == math.prod(shape)
    assert cells == [nested.at(block, index) for index in nested.indices(shape)] == sorted(cells)
    assert sum(len(row) for _, row in nested.rows(block, len(shape))) == len(cells)
    if 0 not in shape[:-1]:
        assert nested.shape_of(block) == shape
    assert nested.read(block, Spec(shape), "x") == block


@given(SHAPES, st.integers(0, 3))
def test_lift_is_a_loop_over_the_leading_axes(shape, rank):
    if len(shape) < rank:
        return
    seen = []

    def count(block):
        seen.append(block)
        return block

    block = numbered(shape)
    assert nested.lift(count, [rank], [shape])(block) == block
    lead = shape[: len(shape) - rank]
    assert len(seen) == math.prod(lead)
    assert [list(nested.flat(part)) for part in seen] == [
        list(nested.flat(nested.at(block, index))) for index in nested.indices(lead)
    ]


@given(st.lists(st.sampled_from([1, 2, 3]), min_size=1, max_size=3), st.data())
def test_lift_stretches_as_broadcast_says(full, data):
    def worn(shape):
        """The shape with some sizes 1 and some leading axes gone."""
        worn = [1 if data.draw(st.booleans()) else size for size in shape]
        return tuple(worn[data.draw(st.integers(0, len(worn))) :])

    a, b = worn(full), worn(full)
    shape, _ = broadcast(Spec(a), Spec(b))
    got = nested.lift(lambda p, q: (p, q), [0, 0], [a, b])(numbered(a), numbered(b))
    for index in nested.indices(shape):

        def cell(of):
            tail = index[len(index) - len(of) :]  # noqa: B023
            return nested.at(numbered(of), [0 if size == 1 else i for i, size in zip(tail, of)])

        assert nested.at(got, index) == (cell(a), cell(b))


def test_lift_with_several_outputs_and_left_out_operands():
    both = nested.lift(lambda v: (v, -v), [0], [(2, 2)], outputs=2)
    assert both([[1, 2], [3, 4]]) == ([[1, 2], [3, 4]], [[-1, -2], [-3, -4]])
    assert nested.lift(lambda v: (v, -v), [0], [(0,)], outputs=2)([]) == ([], [])
    maybe = nested.lift(lambda v, w: (v, w), [0, 1], [(2,), None])
    assert maybe([1, 2], None) == [(1, None), (2, None)]


@given(st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple), st.data())
def test_along_runs_along_an_axis(shape, data):
    place = data.draw(st.integers(0, len(shape) - 1))
    block = numbered(shape)
    inside = len(shape) - place - 1
    summed = nested.lift(nested.along(lambda row: [sum(row)], inside), [inside + 1], [shape])(block)
    for index in nested.indices((*shape[:place], 1, *shape[place + 1 :])):
        line = [nested.at(block, (*index[:place], k, *index[place + 1 :])) for k in range(shape[place])]
        assert nested.at(summed, index) == sum(line)


def test_what_is_ragged_is_told_by_its_place():
    shape_of = nested.shape_of
    says("the tensor[1] has 1 cells; expected 2, as in its neighbours", shape_of, [[1, 2], [3]])
    says("w[1] is 3; expected a list of 2, as its neighbours are", shape_of, [[1, 2], 3], "w")
    says("w[1] is a list; expected a number there, as in its neighbours", shape_of, [1, [2]], "w")
    says("w[0][1] has 0 cells; expected 1, as in its neighbours", shape_of, [[[1], []]], "w")
    deep = 1
    for _ in range(40):
        deep = [deep]
    says("the tensor is nested deeper than 32 lists", shape_of, deep)
    loop = []
    loop.append(loop)
    says("w is nested deeper than 32 lists", shape_of, loop, "w")
    assert shape_of(3) == () and shape_of([]) == (0,) and shape_of([[], []]) == (2, 0)
    assert shape_of(((1,), (2,))) == (2, 1)


# ---------------------------------------------------------------- axes


def test_descriptions():
    assert describe(Spec((3, 4), ("token", None))) == "token 3 × 4"
    assert describe(Spec(())) == "scalar"
    assert describe(Spec((2,), kind="bool")) == "2 of bool"
    assert Spec((2, 3)).axes == (None, None) and Spec((2, 3)).size == 6 and Spec((2, 3)).rank == 2


@pytest.mark.parametrize(
    "shapes, result",
    [
        ([(2, 3), (2, 3)], (2, 3)), ([(2, 3), (3,)], (2, 3)), ([(2, 1), (1, 3)], (2, 3)), ([(), (2,)], (2,)),
        ([(0, 3), (1, 3)], (0, 3)), ([(4, 1, 3), (2, 1)], (4, 2, 3)), ([(), ()], ()), ([(1,), (0,)], (0,)),
        ([(2,), (1,), (2,)], (2,)),
    ],
)  # fmt: skip
def test_broadcasting(shapes, result):
    assert broadcast(*map(Spec, shapes))[0] == result
    assert broadcast(*map(Spec, reversed(shapes)))[0] == result


def test_shapes_that_do_not_stretch():
    told = "sizes 2 and 3 on axis -1 do not agree; expected equal sizes, or 1"
    says(told, broadcast, Spec((2,)), Spec((3,)), error=Rejected)
    says(told.replace("-1", "-2"), broadcast, Spec((2, 5)), Spec((3, 1)), error=Rejected)
    says(
        "sizes 2 and 0 on axis -1 do not agree; expected equal sizes, or 1",
        broadcast,
        Spec((2,)),
        Spec((0,)),
        error=Rejected,
    )


def test_names_of_axes_unify():
    assert [unify(*pair) for pair in (("a", "a"), ("a", None), (None, "b"), (None, None))] == [
        "a",
        "a",
        "b",
        None,
    ]
    with noting() as notes:
        assert unify("token", "feature") == "token"
        with noting() as inner:
            unify("a", "b")
    assert notes == ["axis 'token' meets axis 'feature'"]
    assert inner == ["axis 'a' meets axis 'b'"]
    assert unify("token", "feature") == "token"  # outside nobody is told


def test_small_rules():
    assert [position(axis, 3) for axis in (0, -1, -3, 2)] == [0, 2, 0, 2]
    says("axis 3 does not exist; expected an axis from -3 to 2", position, 3, 3, error=Rejected)
    says("axis must be an int, got True", position, True, 3, error=Rejected)
    says("x has rank 1; expected rank 2 or more", need_rank, 2, x=Spec((1,)), error=Rejected)
    says(
        "x holds int; expected bool or float",
        need_kind,
        ("bool", "float"),
        x=Spec((), kind="int"),
        error=Rejected,
    )
    says("n must be an int of 1 or more, got 0", need_size, "n", 0, 1, error=Rejected)
    says("n must be an int of 0 or more, got True", need_size, "n", True, error=Rejected)
    need_kind("float", x=None)
    assert issubclass(Rejected, GraphError) and issubclass(GraphError, ValueError)


def test_suggestions():
    assert suggest("sofmax", ["softmax", "matmul"]) == "; did you mean 'softmax'?"
    assert suggest("zzz", ["softmax"]) == suggest("x", []) == suggest(None, ["softmax"]) == ""


# ---------------------------------------------------------------- cells


def test_every_function_of_an_expression_works_in_every_type():
    values = {}
    for kind in ("float", "mpmath"):
        numbers = of(kind)
        half, two = numbers.lift(0.5), numbers.lift(2)
        for name, function in FUNCTIONS.items():
            arguments = {"where": (True, half, two), "is_visible": (half,), "positive": (half,)}.get(name)
            if arguments is None:
                arguments = (half, two)[: function.__code__.co_argcount - 1] or (half, two)
            result = function(numbers, *arguments)
            assert result == values.setdefault(name, result) or abs(result - values[name]) < 1e-12, name


def test_an_expression_lists_its_sources_in_order():
    tree = add(total([Cell(1, (0,)), Literal(2), Cell(0, (1,))]), Apply("negate", (Cell(1, (2,)),)))
    assert list(sources(tree)) == [Cell(1, (0,)), Cell(0, (1,)), Cell(1, (2,))]
    values = {Cell(1, (0,)): 1.0, Cell(0, (1,)): 4.0, Cell(1, (2,)): 0.5}
    assert evaluate(tree, values.__getitem__) == 6.5


def test_literals_are_lifted():
    assert evaluate(Literal("0.1"), lambda cell: None) == 0.1
    assert evaluate(Literal("0.1"), lambda cell: None, of("mpmath")) != 0.1
    assert evaluate(Literal(True), lambda cell: None, of("mpmath")) is True
