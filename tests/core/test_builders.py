"""Builder methods come from the registry, for people and type checkers; and an op of one's own."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from op_laws import LAWS

import graphattn.core.builders
import graphattn.ops
from graphattn import Graph, GraphError, run
from graphattn.core import masks, nested
from graphattn.core.axes import Spec, need_kind
from graphattn.core.cells import Cell, Literal, multiply
from graphattn.core.op import OPS, Kernel, Op, Reject, Sample, find, register
from graphattn.passes.cost import cost
from graphattn.passes.zoom import fuse, zoom

STUB = Path(graphattn.core.builders.__file__).with_suffix(".pyi")


def test_the_stub_is_what_the_registry_says(request):
    text = graphattn.core.builders.stub()
    if request.config.getoption("--rewrite-golden"):
        with open(STUB, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
    with open(STUB, encoding="utf-8", newline="") as file:
        assert file.read() == text, "builders.pyi is not current: pytest --rewrite-golden writes it anew"


def test_every_op_has_its_method_in_the_stub():
    stub = ast.parse(STUB.read_text(encoding="utf-8"))
    builders = next(node for node in stub.body if isinstance(node, ast.ClassDef))
    methods = {m.name: m.args for m in builders.body if isinstance(m, ast.FunctionDef)}
    for op in OPS.values():
        if op.fed:
            assert op.name not in methods
            continue
        a = methods[op.name]
        names = [arg.arg for arg in (*a.args[1:], *([a.vararg] if a.vararg else []), *a.kwonlyargs)]
        assert names == [*op.parameters, "name", "title"]
        required = len(a.args) - 1 - len(a.defaults)
        assert [p.name for p in op.parameters.values() if p.required and not p.keyword_only] == names[:required]


# ---------------------------------------------------------------- an op of one's own


def square_shape(x: Spec, *, times: int = 1) -> Spec:
    """y = times · x · x"""
    need_kind("float", x=x)
    return Spec(x.shape, x.axes)


def square_kernel(numbers, x, *, times):
    return Kernel(lambda v, times: times * (v * v), 0, times=numbers.lift(times))


def square_expand(g, x, *, times):
    return g.multiply(g.constant(times, name="times"), g.multiply(x, x, name="square"), name="product")


@pytest.fixture
def square():
    """An op that is registered at run time, and removed again."""
    op = register(
        Op(
            name="square", title="square", glyph="²", family="function", formula="y = times · x · x",
            level="op",
            shape=square_shape, kernel=square_kernel, expand=square_expand, cost=lambda x, *, times: 2 * x.size,
            explain=lambda index, x, *, times: multiply(
                multiply(Cell(0, index), Cell(0, index)), Literal(times)
            ),
            masked=masks.united,
            samples=(Sample(([[1.5, -2.0]],)), Sample(([0.5],), {"times": 3})),
            rejects=(Reject((Spec((2,), kind="bool"),), {}, "x holds bool; expected float"),),
        )
    )  # fmt: skip
    yield op
    del OPS["square"]


def test_an_op_of_ones_own(square):
    g = Graph("mine")
    y = g.square(g.input("x", (2, 2)), times=2, name="y")
    g.output(y=y)
    assert "square" in dir(g)
    assert run(g, {"x": [[1, 2], [3, 4]]})["y"] == [[2.0, 8.0], [18.0, 32.0]]
    fine = zoom(g)
    assert list(fine.nodes) == ["x", "y.times", "y.square", "y.product"]
    assert run(fine, {"x": [[1, 2], [3, 4]]})["y"] == [[2.0, 8.0], [18.0, 32.0]]
    assert fuse(fine) == g
    assert "square" in str(g) and "y" in str(g)
    assert "def square(" in graphattn.core.builders.stub()
    assert find("square") is square


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_it_is_held_to_the_same_laws(square, law):
    """Its file is this one, whose docstring is not about it: that is the one thing that is found."""
    told = [one for one in law(square) if "docstring" not in one]
    assert told == []


def test_it_is_gone_afterwards():
    assert "square" not in OPS
    with pytest.raises(AttributeError):
        Graph().square  # noqa: B018


def test_registering_twice_is_an_error(square):
    with pytest.raises(GraphError) as caught:
        register(square)
    assert str(caught.value) == "op 'square' is registered already; expected a new name"
    with pytest.raises(GraphError) as caught:
        register(Op(**{**SMALL, "name": "softmax"}))
    assert str(caught.value) == "op 'softmax' is registered already; expected a new name"


SMALL = {
    "name": "small", "title": "small", "glyph": "s", "family": "function", "formula": "y = x", "level": "op",
    "shape": square_shape,
}  # fmt: skip


def test_an_op_of_an_unknown_level_is_refused():
    with pytest.raises(GraphError) as caught:
        register(Op(**{**SMALL, "level": "atom"}))
    assert str(caught.value) == "op 'small' has level 'atom'; expected one of block, head, op, primitive"
    assert "small" not in OPS


def test_an_op_that_computes_nothing_is_told_when_it_is_run():
    g = Graph("g")
    g.apply(Op(**SMALL), g.input("x", (1,)), name="y")
    with pytest.raises(GraphError) as caught:
        run(g, {"x": [1]})
    assert str(caught.value) == (
        "small 'y': op 'small' has neither a kernel nor an expansion; expected one of them"
    )


def test_an_expansion_of_nothing_is_told():
    g = Graph("g")
    g.apply(Op(**{**SMALL, "expand": lambda g, x, *, times: x}), g.input("x", (1,)), name="y")
    with pytest.raises(GraphError) as caught:
        zoom(g)
    assert str(caught.value) == "small 'y' expands to nothing; expected at least one node"


def of_small(**rules):
    """A graph with one node of an op that has these rules."""
    g = Graph("g")
    g.apply(Op(**{**SMALL, **rules}), g.input("x", (2, 2)), name="y")
    return g


def same_shape(x: Spec) -> Spec:
    return Spec(x.shape, x.axes)


def elsewhere(g, x):
    g.exp(x)
    return Graph("other").input("x", (2, 2))


@pytest.mark.parametrize(
    "expand, words",
    [
        (lambda g, x: g.reduce_sum(x), "small 'y' expands to 2 × 1; expected 2 × 2, as its shape rule says"),
        (lambda g, x: g.is_visible(x),
         "small 'y' expands to 2 × 2 of bool; expected 2 × 2, as its shape rule says"),
        (lambda g, x: g.split(x, 2), "small 'y' expands to 2 tensors; expected 1"),
        (lambda g, x: [g.exp(x)], "small 'y' expands to a list; expected a tensor of the graph it is given"),
        (elsewhere, "small 'y' expands to a Tensor; expected a tensor of the graph it is given"),
    ],
    ids=["shape", "kind", "count", "list", "graph"],
)  # fmt: skip
def test_an_expansion_must_be_what_the_shape_rule_says(expand, words):
    with pytest.raises(GraphError) as caught:
        zoom(of_small(shape=same_shape, expand=expand))
    assert str(caught.value) == words


def test_an_expansion_without_end_is_told():
    def twice(g, x):
        return g.add(g.apply(small, x, name="a"), g.apply(small, x, name="b"))

    small = Op(**{**SMALL, "shape": same_shape, "expand": twice})
    g = Graph("g")
    g.apply(small, g.input("x", (2, 2)), name="y")
    with pytest.raises(GraphError) as caught:
        zoom(g)
    assert str(caught.value) == "small 'y.a' stands in its own expansion; expected an end to that"


def test_an_expansion_that_changes_its_calls_without_end_is_told():
    def longer(g, x, *, times):
        return g.apply(small, x, times=times + 1, name="a")

    small = Op(**{**SMALL, "expand": longer})
    g = Graph("g")
    g.apply(small, g.input("x", (2, 2)), name="y")
    with pytest.raises(GraphError) as caught:
        zoom(g)
    assert "stands in its own expansion" in str(caught.value)


@pytest.mark.parametrize(
    "result", [[[1.0]], [[1.0, 2.0]], [[1.0, 2.0], [3.0]], 1.0, [1.0, 2.0]], ids=repr
)  # fmt: skip
def test_a_kernel_of_another_shape_is_told(result):
    g = of_small(shape=same_shape, kernel=lambda numbers, x: Kernel(lambda m: result, 2))
    with pytest.raises(GraphError) as caught:
        run(g, {"x": [[1, 2], [3, 4]]})
    assert str(caught.value) == "small 'y': its kernel does not give 2 × 2, as its shape rule says"


@pytest.mark.parametrize("found", [None, {}, [Spec((2,))], {"a b": Spec(())}, {"a": None}], ids=repr)
def test_a_shape_rule_that_gives_no_spec_is_told(found):
    def shape(x: Spec):
        return found

    with pytest.raises(GraphError) as caught:
        of_small(shape=shape)
    assert str(caught.value).startswith("op 'small': its shape rule gives ")


@pytest.mark.parametrize("flops", [-1, "many", 0.5])
def test_a_cost_that_is_none_is_told(flops):
    with pytest.raises(GraphError) as caught:
        cost(of_small(shape=same_shape, cost=lambda x: flops))
    assert str(caught.value) == f"small 'y': its cost rule gives {flops!r}; expected an int of 0 or more"


@pytest.mark.parametrize(
    "change, words",
    [
        ({"name": "a b"}, "op 'a b' has a name that is no identifier; expected one like softmax"),
        ({"name": "for"}, "op 'for' has a name that is no identifier; expected one like softmax"),
        ({"name": 3}, "op 3 has a name that is no identifier; expected one like softmax"),
        ({"formula": "y\n! x"}, "op 'small': its formula is 'y\\n! x'; expected text on one line"),
        ({"title": "\u2028"}, "op 'small': its title is '\\u2028'; expected text on one line"),
    ],
)
def test_an_op_that_text_cannot_carry_is_refused(change, words):
    with pytest.raises(GraphError) as caught:
        register(Op(**{**SMALL, **change}))
    assert str(caught.value) == words
    with pytest.raises(GraphError) as caught:
        register("softmax")
    assert str(caught.value) == "what is registered is a str; expected an Op"


def test_ops_are_read_only_and_copied_by_name():
    import copy
    import pickle

    softmax = OPS["softmax"]
    with pytest.raises(AttributeError):
        softmax.title = "other"
    assert copy.deepcopy(softmax) is softmax
    assert pickle.loads(pickle.dumps(softmax)) is softmax
    assert repr(softmax) == "<op softmax>"


def test_the_signature_is_read_off_the_shape_rule():
    linear = OPS["linear"]
    assert [(p.name, p.required) for p in linear.operands] == [("x", True), ("w", True), ("b", False)]
    assert dict(OPS["softmax"].defaults) == {"axis": -1, "empty": "zero"}
    assert [OPS["concat"].operand_name(slot) for slot in (0, 2)] == ["xs[0]", "xs[2]"]
    assert linear.operand_name(2) == "b"


def test_a_kernel_that_fails_is_told_with_op_and_node():
    def failing(value):
        raise ZeroDivisionError("this cell")

    g = Graph("g")
    broken = Op(**{**SMALL, "kernel": lambda numbers, x, *, times: Kernel(failing, 0)})
    g.apply(broken, g.input("x", (1,)), name="y")
    with pytest.raises(GraphError) as caught:
        run(g, {"x": [1]})
    assert str(caught.value) == "small 'y': its kernel raised ZeroDivisionError: this cell"
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_nested_lists_are_read_at_any_rank():
    assert nested.shape_of([[[1], [2]]]) == (1, 2, 1)
    assert nested.build((2, 2), lambda i, j: 10 * i + j) == [[0, 1], [10, 11]]


def test_an_op_of_ones_own_cannot_take_the_name_of_one_that_is_not_loaded_yet():
    code = (
        "from graphattn.core.errors import GraphError\n"
        "from graphattn.core.op import Op, register\n"
        "op = Op('softmax', 't', 'g', 'f', 'y', 'primitive', shape=lambda x: x)\n"
        "try:\n    register(op)\nexcept GraphError as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8")
    assert run.stdout == "op 'softmax' is registered already; expected a new name\n", run.stderr
