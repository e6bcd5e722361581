"""The pass: names, outputs, what is left out, what is refused, depth, second order, and what else can be
done with a graph that has derivatives."""

import math
import random
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from op_laws import same_bits
from random_graphs import cases

from graphattn import Graph, GraphError, run
from graphattn.builtin import specimen
from graphattn.core import nested
from graphattn.core.op import find
from graphattn.dumps.dot import dot
from graphattn.dumps.graph_json import graph_json, read_graph_json
from graphattn.dumps.graph_text import graph_text, parse_graph
from graphattn.dumps.python_source import python_source
from graphattn.dumps.trace_text import read_trace, trace_text
from graphattn.passes.check_gradients import check_gradients
from graphattn.passes.common_subexpressions import common_subexpressions
from graphattn.passes.gradient import differentiate, gradient, value_and_grad
from graphattn.passes.verify import verify
from graphattn.passes.zoom import fuse, zoom
from graphattn.scalar import Value


def normal(seed, shape):
    dice = random.Random(seed)
    return nested.build(shape, lambda *_: dice.gauss(0.0, 1.0))


def loss():
    """Σ (x w)²: one number."""
    graph = Graph("loss")
    x, w = graph.input("x", (2, 3)), graph.parameter("w", (3, 2))
    product = graph.matmul(x, w, name="product")
    row = graph.reduce_sum(graph.multiply(product, product, name="squared"), name="row")
    graph.output(loss=graph.reduce_sum(row, axis=0, name="loss"))
    return graph


def fed(graph, seed=0):
    return {name: normal(f"{seed} {name}", spec.shape) for name, spec in graph.inputs.items()}


# ---------------------------------------------------------------- names and outputs


def test_the_nodes_are_named_after_what_they_are():
    found = gradient(loss(), of="loss")
    assert list(found.outputs) == ["loss", "d_x", "d_w"]
    backward = [name for name in found.nodes if name.startswith("backward.")]
    assert found.notes == (f"gradient: of loss, by x, w: added {len(backward)} nodes in backward",)
    assert {"backward.d_product", "backward.d_row", "backward.d_x", "backward.d_w"} <= set(backward)
    assert all(found.nodes[name].scope == "backward" for name in backward)
    assert list(found.scopes) == ["backward"] and not found.scopes["backward"].op
    feeds = fed(found)
    trace = run(found, feeds)
    product = trace["product"]
    assert trace["d_product"] == [[2 * v for v in row] for row in product]
    assert trace["d_squared"] == [[1.0, 1.0], [1.0, 1.0]]


def test_inner_names_end_like_those_of_the_graph():
    found = gradient(specimen("block", n=3, d=4).graph, of="Y")
    trace = run(found, {**specimen("block", n=3, d=4).feeds, "d_Y": normal(1, (3, 4))})
    for name in ("head0.d_scores", "head1.d_weights", "d_norm", "d_q", "attention.d_concat", "d_w_q"):
        assert trace[name]
    assert trace.spec("head0.d_scores").axes == trace.spec("head0.scores").axes


def test_forward_nodes_are_as_they_were():
    graph = loss()
    found = gradient(graph, of="loss")
    assert [node for node in found.nodes.values() if node.name in graph.nodes] == list(graph.nodes.values())
    assert len(graph) == 6


def test_names_do_not_shift_when_something_else_is_added():
    more = loss()
    more.softmax(more.tensor("x"), name="more")
    own = [name for name in gradient(more, of="loss").nodes if name != "more"]
    assert own == list(gradient(loss(), of="loss").nodes)


def test_names_that_are_taken():
    graph = Graph("taken")
    x = graph.input("x", (1,))
    y = graph.multiply(x, x, name="d_x")
    with graph.scope("backward"):
        z = graph.exp(y, name="z")
    graph.output(d_z=z)
    found = differentiate(graph, "d_z")
    assert found.gradients == {"x": "d2_x"} and "backward2.d2_x" in found.graph.nodes
    assert verify(found.graph).ok
    report = check_gradients(graph, {"x": [0.7]}, "d_z")
    assert report.ok and len(report.slopes) == 2


def test_a_tensor_of_many_cells_is_fed_its_cotangent():
    graph = loss()
    found = differentiate(graph, ["product", "loss"], ["x"])
    assert found.cotangents == {"product": "d_product", "loss": "d_loss"}
    assert found.gradients == {"x": "d_x"} and found.graph.defaults == {"d_loss": 1.0}
    feeds = {**fed(graph), "d_product": [[1.0, 0.0], [0.0, 0.0]]}
    values, gradients = value_and_grad(graph, feeds, ["product", "loss"], ["x"])
    _, alone = value_and_grad(graph, fed(graph), "loss", ["x"])
    column = [row[0] for row in feeds["w"]]
    assert gradients["x"][1] == alone["x"][1]
    assert gradients["x"][0] == pytest.approx([a + b for a, b in zip(alone["x"][0], column)])
    assert isinstance(values["loss"], float) and len(values["product"]) == 2


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_tensor_of_one_cell_takes_a_cotangent_when_it_is_fed_one(shape):
    g = Graph("c")
    x, w = g.input("x", shape), g.input("w", shape)
    g.output(y=g.multiply(x, w))
    found = differentiate(g, "y")
    feeds = {"x": nested.full(shape, 2.0), "w": nested.full(shape, 3.0)}
    scaled = run(found.graph, {**feeds, "d_y": nested.full(shape, -0.7)})
    assert scaled["d_x"] == nested.full(shape, -0.7 * 3.0)
    assert run(found.graph, feeds)["d_x"] == feeds["w"] and run(found.graph, feeds)["d_y"] == nested.full(
        shape, 1.0
    )
    assert value_and_grad(g, {**feeds, "d_y": nested.full(shape, 2.0)}, "y")[1]["x"] == nested.full(shape, 6.0)
    assert run(found.graph, feeds, numbers="mpmath")["d_x"] == feeds["w"]
    with pytest.raises(GraphError, match="d_y"):
        run(found.graph, {**feeds, "d_y": [[[1.0, 2.0]]]})
    again = differentiate(found.graph, found.gradients["x"], ["w"])
    assert run(again.graph, feeds)["d2_w"] == nested.full(shape, 1.0)


def test_with_respect_to_what_lies_between():
    graph = loss()
    _, found = value_and_grad(graph, fed(graph), "loss", ["product", "x"])
    assert found["product"] == gradients_of(graph, "loss")["product"]


def gradients_of(graph, of):
    trace = run(gradient(graph, of), fed(graph))
    return {"product": trace["backward.d_product"]}


def test_what_nothing_depends_on_has_zeros():
    graph = Graph("apart")
    x, y = graph.input("x", (2,)), graph.input("y", (2, 0))
    z = graph.input("z", ())
    graph.output(total=graph.reduce_sum(x))
    assert value_and_grad(graph, {"x": [1.0, 2.0], "y": [[], []], "z": 3.0}, "total") == (
        3.0, {"x": [1.0, 1.0], "y": [[], []], "z": 0.0},
    )  # fmt: skip
    assert y.shape == (2, 0) and z.shape == ()


def test_bools_and_integers_carry_nothing():
    graph = Graph("chosen")
    x, ids = graph.input("x", (3, 2)), graph.input("ids", (2,), kind="int")
    see = graph.is_positive(x)
    picked = graph.embedding(graph.where(see, x, graph.constant(0)), ids)
    graph.output(sum=graph.reduce_sum(graph.reduce_sum(picked), axis=0))
    found = differentiate(graph, "sum")
    assert list(found.gradients) == ["x"]
    value, gradients = value_and_grad(graph, {"x": [[1.0, -1.0], [2.0, 3.0], [4.0, 5.0]], "ids": [1, 1]}, "sum")
    assert (value, gradients["x"]) == (10.0, [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]])


def test_symbolic_tensors_may_stand_for_names():
    graph = loss()
    assert gradient(graph, graph.tensor("loss"), [graph.tensor("x")]) == gradient(graph, "loss", "x")


# ---------------------------------------------------------------- dead and repeated work


def test_nothing_that_no_gradient_needs():
    graph = gradient(loss(), of="loss", wrt="x")
    assert "backward.d_w" not in graph.nodes
    used = {ref.node for node in graph.nodes.values() for ref in node.operands if ref}
    ends = {tensor.ref.node for tensor in graph.outputs.values()}
    assert set(graph.nodes) <= used | ends
    own = [name for name in graph.nodes if name.startswith("backward.")]
    assert common_subexpressions(graph, set(own)) is graph


def test_work_that_is_there_already_is_not_done_again():
    """At the primitive level, what the rule of a norm would compute again stands in the forward part."""
    graph = Graph("norm")
    graph.output(y=graph.layernorm(graph.input("x", (2, 3)), name="norm"))
    fine = gradient(graph.at("primitive"), of="y")
    coarse = gradient(graph, of="y").at("primitive")
    assert sum(node.op.name == "sqrt" for node in fine.nodes.values()) == 1
    assert sum(node.op.name == "sqrt" for node in coarse.nodes.values()) == 2
    feeds = {"x": normal(1, (2, 3)), "d_y": normal(2, (2, 3))}
    a, b = (run(g, feeds)["d_x"] for g in (fine, coarse))
    assert list(nested.flat(a)) == pytest.approx(list(nested.flat(b)))


def test_what_arrives_from_several_products_is_one_product():
    """The input's gradient of q, k and v is one product of inner length 3 d."""
    made = specimen("block", n=3, d=4)
    graph = gradient(made.graph, of="Y")
    products = [node for node in graph.nodes.values() if node.name.endswith(".d_norm")]
    assert [graph.spec(products[0].operands[0]).shape, len(products)] == [(3, 12), 1]


def test_products_of_other_shapes_are_added_one_by_one():
    graph = Graph("unlike")
    x = graph.input("x", (2, 3))
    for name, batch in (("a", ()), ("b", (2,)), ("c", ())):
        w = graph.input(name, (*batch, 3, 2))
        graph.output(**{f"y_{name}": graph.matmul(x, w)})
    feeds = {name: normal(name, spec.shape) for name, spec in graph.inputs.items()}
    assert check_gradients(graph, feeds, list(graph.outputs)).ok


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "of, wrt, words",
    [
        ("los", None, "graph 'loss' has no tensor 'los'; did you mean 'loss'?"),
        ("loss", ["v"], "graph 'loss' has no tensor 'v'"),
        ("see", None, "gradient: of 'see' is 2 × 3 of bool; expected a tensor of floats"),
        ("loss", "ids", "gradient: wrt 'ids' is 2 of int; expected a tensor of floats"),
        ([], None, "of is empty; expected the name of a tensor, or several"),
        (3, None, "of is an int; expected the name of a tensor, or several"),
        ("loss", [None], "wrt holds None; expected names of tensors"),
    ],
)
def test_bad_names(of, wrt, words):
    graph = loss()
    graph.is_positive(graph.tensor("x"), name="see")
    graph.input("ids", (2,), kind="int")
    with pytest.raises(GraphError) as told:
        gradient(graph, of, wrt)
    assert words in str(told.value)


def test_an_op_without_a_rule():
    graph = Graph("own")
    op = replace(find("exp"), name="own_exp", gradient=None)
    graph.output(y=graph.apply(op, graph.input("x", (2,)), name="y"))
    with pytest.raises(GraphError, match="gradient: own_exp 'y' has no gradient rule and no expansion"):
        gradient(graph, "y")


@pytest.mark.parametrize(
    "rule, words",
    [
        (lambda g, dy, y, x: dy, "gave Tensor for 'y'; expected a tuple of 1 cotangents"),
        (lambda g, dy, y, x: (dy, dy), "gave tuple for 'y'; expected a tuple of 1 cotangents"),
        (lambda g, dy, y, x: (g.reduce_sum(dy),), "gave, for x of 'y', 1; expected 2"),
        (lambda g, dy, y, x: (3.0,), "gave, for x of 'y', float; expected 2"),
        (lambda g, dy, y, x: (g.is_positive(dy),), "gave, for x of 'y', 2 of bool; expected 2"),
    ],
)
def test_a_rule_that_gives_something_else(rule, words):
    graph = Graph("own")
    op = replace(find("exp"), name="own_exp", gradient=rule)
    graph.output(y=graph.apply(op, graph.input("x", (2,)), name="y"))
    with pytest.raises(GraphError) as told:
        gradient(graph, "y")
    assert words in str(told.value)


def test_cotangents_must_be_fed():
    graph = loss()
    with pytest.raises(GraphError, match="input 'd_product' of graph 'loss' was not fed"):
        value_and_grad(graph, fed(graph), "product")


# ---------------------------------------------------------------- depth


@pytest.mark.slow
def test_a_chain_longer_than_the_stack():
    graph = Graph("chain")
    y = graph.input("x", (1,))
    for _ in range(4 * sys.getrecursionlimit()):
        y = graph.negate(y)
    graph.output(y=y)
    value, found = value_and_grad(graph, {"x": [3.0]}, "y")
    assert (value, found) == (3.0, {"x": [1.0]})


def test_a_tensor_with_many_consumers():
    graph = Graph("wide")
    x = graph.input("x", (1,))
    y = graph.concat(*(graph.negate(x) for _ in range(300)), name="all")
    graph.output(y=graph.reduce_sum(y))
    assert value_and_grad(graph, {"x": [1.0]}, "y")[1] == {"x": [-300.0]}


# ---------------------------------------------------------------- second order


def test_the_gradient_of_a_gradient():
    graph = Graph("cube")
    x = graph.input("x", ())
    graph.output(y=x * x * x)
    once = gradient(graph, "y")
    twice = gradient(once, "d_x")
    assert [list(g.outputs) for g in (once, twice)] == [["y", "d_x"], ["y", "d_x", "d2_x"]]
    assert list(twice.scopes) == ["backward", "backward2"]
    assert run(twice, {"x": 5.0}).outputs == {"y": 125.0, "d_x": 75.0, "d2_x": 30.0}
    thrice = gradient(twice, "d2_x")
    assert run(thrice, {"x": 5.0})["d3_x"] == 6.0


@pytest.mark.slow
def test_second_order_of_a_block():
    made = specimen("block", n=3, d=4, causal=True)
    once = gradient(made.graph, "Y")
    feeds = {**made.feeds, "d_Y": normal(1, (3, 4))}
    report = check_gradients(once, feeds, ["d_X", "d_w_q", "d_w_o"], directions=3)
    assert report.ok and report.worst < 1e-25, str(report)
    assert verify(gradient(once, ["d_X", "d_w_q"])).ok


# ---------------------------------------------------------------- what else can be done with it


@pytest.fixture(scope="module")
def derived():
    made = specimen("block", n=3, d=4, causal=True)
    return gradient(made.graph, "Y"), {**made.feeds, "d_Y": normal(1, (3, 4))}


def test_text_json_and_pictures(derived):
    graph, feeds = derived
    assert parse_graph(graph_text(graph)) == graph
    assert read_graph_json(graph_json(graph)) == graph
    assert "d_scores" in dot(graph)
    trace = run(graph, feeds, labels={"token": ["a", "b", "c"]})
    assert read_trace(trace_text(trace, precision="exact")) == trace


def test_zoom_and_fuse(derived):
    graph, feeds = derived
    coarse, fine = run(graph, feeds), run(graph, feeds, level="primitive")
    assert same_bits(coarse.outputs, fine.outputs)
    assert fuse(zoom(graph)) == fuse(graph)
    assert verify(zoom(graph)).ok


def test_as_python(derived):
    graph, feeds = derived
    scope = {}
    exec(python_source(graph), scope)
    assert same_bits(scope["block"](**feeds), run(graph, feeds).outputs)


# ---------------------------------------------------------------- any graph


@pytest.mark.slow
def test_random_graphs():
    """Gradients are differences of values in 50 digits, and what Values say; every graph is sound."""

    @settings(max_examples=40)
    @given(cases())
    def obeys(case):
        of = [name for name, tensor in case.graph.outputs.items() if tensor.kind == "float"]
        found = differentiate(case.graph, of) if of else None
        if found is None:
            return
        assert verify(found.graph).ok
        assert parse_graph(graph_text(found.graph)) == found.graph
        assert fuse(zoom(found.graph)) == fuse(found.graph)
        report = check_gradients(case.graph, case.feeds, of, directions=1)
        assert report.ok, str(report)
        by_values(case, of, found)

    obeys()


def by_values(case, of, found):
    """The same derivatives by scalar Values, where all that comes out is finite."""
    dice = random.Random(len(case.graph))
    cotangents = {
        name: nested.build(found.graph.nodes[seed].outputs[0].shape, lambda *_: dice.gauss(0.0, 1.0))
        for name, seed in found.cotangents.items()
    }
    given = {**case.feeds, **{found.cotangents[name]: value for name, value in cotangents.items()}}
    mine = run(found.graph, given, allow_nonfinite=True)
    if not all(abs(v) < 1e6 for name in of for v in nested.flat(mine[name])):
        return
    inputs = case.graph.inputs
    leaves = {
        name: nested.lift(Value, [0], [inputs[name].shape])(feed) if inputs[name].kind == "float" else feed
        for name, feed in case.feeds.items()
    }
    trace = run(case.graph, leaves, numbers="value")
    terms = [
        v * c
        for name in of
        for v, c in zip(nested.flat(trace[name]), nested.flat(cotangents.get(name, 1.0)), strict=True)
    ]
    sum(terms, Value(0.0)).backward()
    for name, output in found.gradients.items():
        theirs = [leaf.grad for leaf in nested.flat(leaves[name])]
        if not all(map(math.isfinite, theirs)):  # √ of a hidden weight: 0 · ∞ there, and 0 here
            continue
        ours = list(nested.flat(mine[output]))
        assert ours == pytest.approx(theirs, rel=1e-7, abs=1e-7), name
