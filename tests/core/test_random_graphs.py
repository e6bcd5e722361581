"""Random graphs obey every law of graphs."""

import graph_laws
import pytest
from every_op import every_op
from hypothesis import given, settings
from random_graphs import Move, build, cases

from graphattn.passes.verify import verify

LONG = ("changing", "passing", "zooming")


@pytest.mark.parametrize(
    "law",
    [
        pytest.param(law, marks=[pytest.mark.slow] if law.__name__ in LONG else [], id=law.__name__)
        for law in graph_laws.LAWS
    ],
)
def test_law(law):
    @settings(max_examples=25)
    @given(cases())
    def obeys(case):
        assert list(law(case)) == []

    obeys()


@pytest.mark.slow
@pytest.mark.parametrize("op", every_op(lambda op: op.samples))
def test_laws_on_each_op_twice(op):
    """Every op at least once, and once more on what it gave."""
    count = len(op.samples[-1].operands)
    first = Move(op.name, len(op.samples) - 1, (None,) * count, True, False)
    second = Move(op.name, len(op.samples) - 1, (count, *range(1, count))[:count], False, True)
    found = {law.__name__: list(law(build([first, second]))) for law in graph_laws.LAWS}
    assert {law: problems for law, problems in found.items() if problems} == {}


@pytest.mark.slow
def test_random_graphs_are_not_trivial():
    """They hold composites and primitives, scopes, and nodes that use what others gave."""
    found = {"composite": 0, "scope": 0, "chained": 0, "several outputs": 0, "graphs": 0}

    @settings(max_examples=150)
    @given(cases())
    def look(case):
        nodes = list(case.graph.nodes.values())
        fed = set(case.graph.inputs)
        found["graphs"] += 1
        found["composite"] += any(node.op.expand for node in nodes)
        found["scope"] += bool(case.graph.scopes)
        found["several outputs"] += any(len(node.ports) > 1 for node in nodes)
        found["chained"] += any(ref and ref.node not in fed for node in nodes for ref in node.operands)
        assert verify(case.graph).ok

    look()
    assert found.pop("several outputs") > 0
    assert all(count * 4 >= found["graphs"] for count in found.values()), found
