"""What `help` tells of a graph's methods, and of `run`."""

import inspect
import pydoc

import pytest

import graphattn.ops  # noqa: F401
from graphattn import Graph, run
from graphattn.op import OPS


@pytest.mark.parametrize("name", [name for name, op in OPS.items() if name not in vars(Graph)])
def test_help_tells_the_signature_and_what_the_op_does(name):
    method, op = getattr(Graph("g"), name), OPS[name]
    arguments = inspect.signature(method).parameters
    assert list(arguments) == [*op.parameters, "name", "title"]
    for p in op.parameters.values():
        argument = arguments[p.name]
        assert (argument.default is argument.empty) is (p.required or p.variadic)
        assert argument.default is argument.empty or argument.default == p.default
        assert not p.keyword_only or argument.kind is argument.KEYWORD_ONLY
    told = pydoc.plain(pydoc.render_doc(method))
    assert (
        f"method {name} in" in told
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
