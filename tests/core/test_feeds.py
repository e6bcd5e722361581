"""Feeds: what is let in, and word for word what is said of the rest. The same for patches."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from graphattn import Graph, GraphError, model, run, steps

inf, nan = math.inf, math.nan
GOOD = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def says(words, function, *args, **kwargs):
    with pytest.raises(GraphError) as caught:
        function(*args, **kwargs)
    assert str(caught.value) == words


def graph(kind="float", shape=(2, 3), axes=("token", "feature")):
    g = Graph("g")
    x = g.input("x", shape, axes, kind)
    if kind == "float":
        g.output(y=g.relu(x, name="r"))
    return g


class Array:
    """Like a numpy array or a torch tensor, as far as we look."""

    def __init__(self, value):
        self.value = value

    def tolist(self):
        return self.value


BAD = [
    ([[1, 2, 3], [4, 5]], "x[1] has 2 cells; expected 3 (x is token 2 × feature 3)"),
    ([[1, 2, 3], [4, 5, 6, 7]], "x[1] has 4 cells; expected 3 (x is token 2 × feature 3)"),
    ([[1, 2, 3]], "x has 1 rows; expected 2 (x is token 2 × feature 3)"),
    ([1, 2], "x[0] is 1; expected a list of 3 (x is token 2 × feature 3)"),
    ([[1, 2, 3], 4], "x[1] is 4; expected a list of 3 (x is token 2 × feature 3)"),
    ([], "x has 0 rows; expected 2 (x is token 2 × feature 3)"),
    ([[], []], "x[0] has 0 cells; expected 3 (x is token 2 × feature 3)"),
    (5, "x is 5; expected a list of 2 (x is token 2 × feature 3)"),
    (None, "x is None; expected a list of 2 (x is token 2 × feature 3)"),
    ("abc", "x is 'abc'; expected a list of 2 (x is token 2 × feature 3)"),
    ({1: 2}, "x is {1: 2}; expected a list of 2 (x is token 2 × feature 3)"),
    ([range(3), range(3)], "x[0] is range(0, 3); expected a list of 3 (x is token 2 × feature 3)"),
    (["abc", "def"], "x[0] is 'abc'; expected a list of 3 (x is token 2 × feature 3)"),
    ([[["1"], 2, 3], [1, 2, 3]], "x[0][0] is a list; expected a number"),
    ([["1.5", 2, 3], [1, 2, 3]], "x[0][0] is '1.5'; expected a number"),
    ([[1, 2, b"3"], [1, 2, 3]], "x[0][2] is b'3'; expected a number"),
    ([[1, 2, bytearray(b"3")], [1, 2, 3]], "x[0][2] is bytearray(b'3'); expected a number"),
    ([[1, 2, 3], [None, 2, 3]], "x[1][0] is None; expected a number"),
    ([[1, 2, 3], [True, 2, 3]], "x[1][0] is True; expected a number"),
    ([[1, 2, 3], [1j, 2, 3]], "x[1][0] is 1j; expected a number"),
    ([[1, nan, 3], [1, 2, 3]], "x[0][1] is nan; expected a finite number (allow_nonfinite=True lets it in)"),
    ([[1.0, 2.0, 3.0], [1.0, 2.0, -inf]],
     "x[1][2] is -inf; expected a finite number (allow_nonfinite=True lets it in)"),
    ([[1, 2, 3], [1, 10**400, 3]],
     "x[1][1] is 1000000000000000000000000000000000000...; expected a number"),
    (Array(5), "x is 5; expected a list of 2 (x is token 2 × feature 3)"),
    (Array([[1, 2], [3, 4]]), "x[0] has 2 cells; expected 3 (x is token 2 × feature 3)"),
]  # fmt: skip


@pytest.mark.parametrize("value, words", BAD, ids=[words[:40] for _, words in BAD])
def test_bad_feeds(value, words):
    says(words, run, graph(), {"x": value})
    says(words, steps, graph(), {"x": value})


@pytest.mark.parametrize("value, words", BAD, ids=[words[:40] for _, words in BAD])
def test_bad_patches(value, words):
    """A patch is read as a feed is; infinities and NaN are let in."""
    if "finite" in words:
        assert "r" in run(graph(), {"x": GOOD}, patch={"r": value})
    else:
        words = words.replace("x", "patch 'r'", 1).replace("(x is", "(patch 'r' is")
        says(words, run, graph(), {"x": GOOD}, patch={"r": value})
        says(f"relu 'r': {words}", run, graph(), {"x": GOOD}, patch={"r": lambda old: value})


@pytest.mark.parametrize(
    "value",
    [
        [[1, 2, 3], [4, 5, 6]], ((1, 2, 3), (4, 5, 6)), [(1, 2.0, 3), [4, 5, 6]], Array(GOOD),
        [[Fraction(1), Decimal("2"), 3], [4, 5, 6]],
    ],
    ids=["ints", "tuples", "mixed", "array", "other numbers"],
)  # fmt: skip
def test_good_feeds(value):
    trace = run(graph(), {"x": value})
    assert trace["x"] == GOOD
    assert all(type(cell) is float for row in trace["x"] for cell in row)


def test_feeds_of_other_kinds():
    flags, ids = graph("bool"), graph("int")
    assert run(flags, {"x": [[True, False, True]] * 2})["x"] == [[True, False, True]] * 2
    says("x[0][1] is 1; expected True or False", run, flags, {"x": [[True, 1, True]] * 2})
    says("x[0][0] is 1.0; expected True or False", run, flags, {"x": [[1.0, True, True]] * 2})
    says("x[1][2] is None; expected True or False", run, flags, {"x": [[True] * 3, [True, True, None]]})
    assert run(ids, {"x": [[0, 1, 10**30]] * 2})["x"] == [[0, 1, 10**30]] * 2
    says("x[0][1] is 1.0; expected an integer", run, ids, {"x": [[0, 1.0, 2]] * 2})
    says("x[0][0] is True; expected an integer", run, ids, {"x": [[True, 1, 2]] * 2})
    says("x[0][0] is '1'; expected an integer", run, ids, {"x": [["1", 1, 2]] * 2})


def test_feeds_of_other_ranks():
    scalar, empty = graph(shape=(), axes=()), graph(shape=(2, 0))
    assert run(scalar, {"x": 3})["x"] == 3.0
    says("x is a list; expected a number", run, scalar, {"x": [3]})
    says("x is None; expected a number", run, scalar, {"x": None})
    assert run(empty, {"x": [[], []]})["r"] == [[], []]
    says("x has 0 rows; expected 2 (x is token 2 × feature 0)", run, empty, {"x": []})
    says("x[0] has 1 cells; expected 0 (x is token 2 × feature 0)", run, empty, {"x": [[1], []]})
    assert run(graph(shape=(0, 2)), {"x": []})["r"] == []


def test_the_rank_is_not_the_depth_of_a_trap():
    loop = []
    loop.append(loop)
    says("x has 1 rows; expected 2 (x is token 2 × feature 3)", run, graph(), {"x": loop})
    says("x[0] has 1 cells; expected 3 (x is token 2 × feature 3)", run, graph(), {"x": [loop, loop]})


def test_names_of_feeds():
    says("input 'x' of graph 'g' was not fed; expected {'x': …} with token 2 × feature 3", run, graph(), {})
    says("input 'x' of graph 'g' was not fed; expected {'x': …} with token 2 × feature 3", run, graph())
    says("graph 'g' has no input 'z'; expected x", run, graph(), {"x": GOOD, "z": 1})
    says("graph 'g' has no input 'xx'; expected x; did you mean 'x'?", run, graph(), {"xx": GOOD})
    says("graph 'g' has no input 'r'; expected x", run, graph(), {"x": GOOD, "r": GOOD})
    says("graph 'g' has no input 1; expected x", run, graph(), {1: GOOD})
    says("graph 'g' has no input 'x'; expected no feeds", run, Graph("g"), {"x": GOOD})
    says("feeds is a list; expected a dict of tensors by input name, like {'x': …}", run, graph(), [GOOD])
    says("feeds is a str; expected a dict of tensors by input name, like {'x': …}", run, graph(), "x")
    many = Graph("many")
    for i in range(11):
        many.input(f"x{i}", ())
    says(
        "graph 'many' has no input 'y'; expected x0, x1, x2, x3, x4, x5, x6, x7 and 3 more",
        run, many, {"y": 1},
    )  # fmt: skip


def test_what_is_run_is_a_graph():
    says("run got a str; expected a Graph", run, "x", {})
    says("run got None; expected a Graph", steps, None)


def test_only_what_the_targets_need_must_be_fed():
    g = Graph("g")
    a, b = g.input("a", (1,)), g.input("b", (1,))
    g.output(y=g.relu(a, name="ra"), z=g.relu(b, name="rb"))
    assert run(g, {"a": [1]}, targets=["ra"]).names == ["a", "ra"]
    assert run(g, {"a": [1], "b": [2]}, targets=["y"]).names == ["a", "ra"]
    says(
        "input 'b' of graph 'g' was not fed; expected {'b': …} with 1", run, g, {"a": [1]}, targets=["ra", "rb"]
    )


def test_an_input_that_is_patched_by_a_tensor_need_not_be_fed():
    assert run(graph(), {}, patch={"x": GOOD})["r"] == GOOD
    says(
        "input 'x' of graph 'g' was not fed; expected {'x': …} with token 2 × feature 3",
        run,
        graph(),
        {},
        patch={"x": lambda old: old},
    )


def test_infinities_are_let_in_when_asked():
    trace = run(graph(), {"x": [[inf, nan, -inf], [1, 2, 3]]}, allow_nonfinite=True)
    assert repr(trace["x"][0]) == "[inf, nan, -inf]"


class Elsewhere:
    def tolist(self):
        raise RuntimeError("the array is on another device")


def test_an_array_that_does_not_become_a_list():
    words = "{} is an Elsewhere whose tolist() failed: the array is on another device"
    says(words.format("x"), run, graph(), {"x": Elsewhere()})
    says(words.format("constant: value"), Graph().constant, Elsewhere())
    says(words.format("xs"), model.softmax, Elsewhere())
    says(words.format("mask"), model.attention, GOOD, GOOD, GOOD, Elsewhere())


def test_feeds_are_copied():
    value = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    trace = run(graph(), {"x": value})
    value[0][0] = 9.0
    assert trace["x"] == GOOD


# ---------------------------------------------------------------- the other options of a run


@pytest.mark.parametrize(
    "options, words",
    [
        ({"patch": [1]}, "patch is a list; expected a dict of tensors or functions by name"),
        ({"patch": {"zz": 1}}, "graph 'g' has no tensor 'zz'"),
        ({"patch": {"y": GOOD, "r": GOOD}}, "patches 'y' and 'r' are of one tensor; expected one patch"),
        ({"patch": {"r": lambda: 0}},
         "relu 'r': patch 'r': TypeError: <lambda>() takes 0 positional arguments but 1 was given"),
        ({"patch": {"r": lambda old: 1 / 0}}, "relu 'r': patch 'r': ZeroDivisionError: division by zero"),
        ({"patch": {"r": lambda old: old.shape}},
         "relu 'r': patch 'r': AttributeError: 'list' object has no attribute 'shape'"),
        ({"patch": {"r": GOOD}, "targets": ["x"]},
         "patch 'r' is not needed by the targets; expected a tensor that is evaluated"),
        ({"targets": "r"}, "targets is the text 'r'; expected a list of names"),
        ({"targets": 5}, "targets is an int; expected a list of names"),
        ({"targets": ["zz"]}, "graph 'g' has no tensor 'zz'"),
        ({"targets": [None]}, "graph 'g' has no tensor None"),
        ({"keep": "r"}, "keep is the text 'r'; expected a list of names"),
        ({"keep": ["zz"]}, "graph 'g' has no tensor 'zz'"),
        ({"keep": ["z*"]}, "graph 'g' has no tensor 'z*'"),
        ({"keep": [3]}, "graph 'g' has no tensor 3"),
        ({"keep": [[]]}, "graph 'g' has no tensor []"),
        ({"targets": [{}]}, "graph 'g' has no tensor {}"),
        ({"labels": {1: ["a"]}}, "labels are given for axis 1; expected the name of an axis"),
        (
            {"labels": ["a"]},
            'labels is a list; expected a dict of lists by axis name, like {"token": ["the", "cat"]}',
        ),
        ({"labels": {"token": "ab"}}, "labels of axis 'token' are 'ab'; expected a list of texts"),
        ({"labels": {"token": [1, 2]}}, "labels of axis 'token' are [1, 2]; expected a list of texts"),
        ({"labels": {"token": None}}, "labels of axis 'token' are None; expected a list of texts"),
        ({"level": "atom"}, "unknown level 'atom'; expected one of block, head, op, primitive"),
        ({"level": ""}, "unknown level ''; expected one of block, head, op, primitive"),
        ({"listeners": [3]}, "a listener is an int; expected a function of a step"),
    ],
    ids=lambda value: "" if isinstance(value, str) else next(iter(value)),
)  # fmt: skip
def test_options_that_are_refused(options, words):
    says(words, run, graph(), {"x": GOOD}, **options)


def test_an_index_outside_a_table_names_op_and_node():
    g = Graph("g")
    g.embedding(g.input("table", (2, 2)), g.input("ids", (2,), kind="int"), name="e")
    table = [[1, 2], [3, 4]]
    assert run(g, {"table": table, "ids": [1, 0]})["e"] == [[3.0, 4.0], [1.0, 2.0]]
    for bad in (2, -1, 10**30):
        says(
            f"embedding 'e': index {bad} is outside the table; expected 0 to 1",
            run, g, {"table": table, "ids": [0, bad]},
        )  # fmt: skip
