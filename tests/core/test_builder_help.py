"""What `help` tells of a graph's methods, and of `run`."""

import inspect
import pydoc

import pytest
from every_op import every_op

from graphattn import Graph, run
from graphattn.core.op import Op


@pytest.mark.parametrize("op", every_op(lambda op: op.name not in vars(Graph)))
def test_help_tells_the_signature_and_what_the_op_does(op):
    method = getattr(Graph("g"), op.name)
    arguments = inspect.signature(method).parameters
    assert list(arguments) == [*op.parameters, "name", "title"]
    for p in op.parameters.values():
        argument = arguments[p.name]
        assert (argument.default is argument.empty) is (p.required or p.variadic)
        assert argument.default is argument.empty or argument.default == p.default
        assert not p.keyword_only or argument.kind is argument.KEYWORD_ONLY
    told = pydoc.plain(pydoc.render_doc(method))
    assert (
        f"method {op.name} in" in told
        and op.formula in told
        and op.doc.split(".")[0] in told.replace("\n    ", "\n")
    )


def test_the_calls_are_those_of_apply():
    one, other = Graph("g"), Graph("g")
    x, y = one.input("x", shape=(2, 3)), other.input("x", shape=(2, 3))
    assert str(one.softmax(x, axis=0, name="y")) == str(other.apply("softmax", y, axis=0, name="y"))
    assert one.node("y") == other.node("y")


def test_the_signature_of_run_is_short():
    assert "numbers: 'str | Numbers' = <numbers float>" in str(inspect.signature(run))


def rule_with_text(x):
    """What stands in the rule."""
    return x


def rule_without_text(x):
    return x


@pytest.mark.parametrize(
    ("rule", "doc"),
    [
        (rule_with_text, "What stands in the rule."),
        (rule_without_text, "What `help` tells of a graph's methods, and"),
    ],
)
def test_the_text_of_an_op_of_ones_own(rule, doc):
    assert Op("mine", "mine", "m", "function", "y = x", "primitive", rule).doc.startswith(doc)


def test_a_step_leaves_out_what_it_is_not_given():
    g = Graph("g")
    g.block(g.input("x", shape=(1, 2)), w_o=g.parameter("w", shape=(2, 2)), heads=1, name="y")
    trace = run(g, {"x": [[1.0, 2.0]], "w": [[1.0, 0.0], [0.0, 1.0]]}, level="block")
    assert repr(trace.step("y")) == "<step y = block(x, w)>"
