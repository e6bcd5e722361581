"""Engines on scalars that go back wrongly: each variant gives what an engine written by hand gives."""

import backprop
import pytest
from diagnose_report import same_tensors

from graphattn import Graph, run
from graphattn.core.errors import GraphError
from graphattn.insight.diagnose.backward import differentiated
from graphattn.insight.variants import Intended
from graphattn.insight.variants.draft import Draft
from graphattn.insight.variants.evaluation import evaluate
from graphattn.insight.variants.generators.on_scalars import on_scalars
from graphattn.insight.variants.generators.scalar_engine import Backward, Engine
from graphattn.insight.variants.structure.rules import gradients
from graphattn.insight.variants.structure.scalars import Scalars

GIVES = {
    "all overwrite": "with grads overwritten, not added to, by every value",
    "mul overwrites": "with grads overwritten, not added to, by every product alone,",
    "add overwrites": "with grads overwritten, not added to, by every sum alone,",
    "not in order": "with each value handing on as soon as it is first met on the way from the loss,",
    "order not reversed": "with the topological order not reversed",
    "visited again": "with values visited again on every path to them",
    "backward twice": "with the grads in between not set to zero before a second backward pass",
    "mul: own factor":
        "with each factor handed its own number times what arrives, not the other's, in every product",
    "mul: one factor": "with the first factor alone handed something in every product",
    "add: first alone": "with the first summand alone handed something in every sum",
    "power: n xⁿ": "with n · xⁿ, not n · xⁿ⁻¹, as the slope in every power",
    "power: no n": "with xⁿ⁻¹, without n, as the slope in every power",
    "power: n − 1 left out": "with n · x as the slope, whatever the exponent, in every power",
    "exp overwritten by the weight":
        "with the numbers of weights.raised overwritten by those of weights.quotient before the way back,",
}  # fmt: skip


def differentiate(graph, feeds, wrt=None):
    """The graph of primitives with its gradients, and its values."""
    names = [f"d_{name}" for name in wrt or (n for n in graph.inputs if graph.inputs[n].kind == "float")]
    fine = differentiated(graph, names, feeds).fine()
    return Intended(fine.graph, feeds, tape=fine.tape)


def given(intended, rewrite):
    tape = intended.tape
    names = [f"d_{tape.source.tensor_name(tape.tensors[ref])}" for ref in tape.gradients]
    return dict(zip(names, evaluate(intended, rewrite, tape.gradients), strict=True))


@pytest.fixture(scope="module")
def head():
    return differentiate(backprop.intended("value"), backprop.feeds("value"))


@pytest.fixture(scope="module")
def found(head):
    return {variant.phrase: variant for variant in on_scalars(head, gradients(head.tape))}


@pytest.mark.parametrize("wrong", GIVES)
def test_a_wrong_engine_gives_what_one_written_by_hand_gives(head, found, wrong):
    theirs = backprop.gradients("value", backprop.feeds("value"), wrong)
    ours = given(head, found[f"{GIVES[wrong]} in an engine on scalars"].rewrite)
    assert same_tensors({name: ours[name] for name in theirs}, theirs)


def test_an_engine_that_is_right_gives_the_gradients(head):
    draft = Draft(head)
    draft.went.update(Backward(draft, Scalars(head, head.tape), head.tape, Engine()).gradients())
    right = backprop.gradients("value", backprop.feeds("value"))
    ours = given(head, draft.done())
    assert same_tensors({name: ours[name] for name in right}, right)


X, SEEN = [[1.0, -2.0], [0.5, 0.25]], [[True, False], [True, True]]


def hidden(g, x):
    """Which way `where` goes is fed, the slope of relu depends on what is fed."""
    seen = g.input("seen", (2, 2), kind="bool")
    return g.relu(g.where(seen, g.sqrt(x * x + g.constant(1)), g.constant(0))) * x


def repeated(g, x):
    """Parts, and parts put together."""
    first, second = g.split(x, (1, 1), axis=-1)
    return g.concat(first / second, g.stack(second, first, axis=-1)[:, 0], axis=-1)[:, :2]


@pytest.mark.parametrize("make", [hidden, repeated])
def test_steps_that_choose_and_move_numbers(make):
    g = Graph("steps")
    y = make(g, g.input("x", (2, 2)))
    g.output(loss=g.reduce_sum(g.reshape(y, (4,)), name="loss"))
    feeds = {"x": X, "seen": SEEN} if "seen" in g.inputs else {"x": X}
    intended = differentiate(g, feeds)
    right, draft = intended.values[intended.tape.gradients[0]], Draft(intended)
    draft.went.update(Backward(draft, Scalars(intended, intended.tape), intended.tape, Engine()).gradients())
    assert same_tensors(given(intended, draft.done()), {"d_x": right})
    other = {**feeds, "x": [[0.75, 3.0], [-1.0, 2.0]], **({"seen": SEEN[::-1]} if "seen" in feeds else {})}
    changed = run(draft.done().graph(intended.graph), other)["d_x"]
    assert same_tensors({"d_x": changed}, {"d_x": run(intended.graph, other)["d_x"]})


def test_what_no_engine_on_scalars_computes_is_not_tried():
    g = Graph("lookup")
    table, ids = g.parameter("table", (3, 2)), g.input("ids", (2,), kind="int")
    g.output(loss=g.reduce_sum(g.reshape(g.embedding(table, ids), (4,)), name="loss"))
    intended = differentiate(g, {"ids": [2, 0], "table": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
    assert not list(on_scalars(intended, gradients(intended.tape)))
    with pytest.raises(GraphError, match="depends on what is fed"):
        Scalars(intended, intended.tape)
