"""ONNX operators called with anything: a graph, or one sentence."""

import random

import pytest

from graphattn import GraphError
from graphattn.conventions.onnx import OPERATORS

VALUES = (0, 1, 2, -1, 5, -7, 0.5, -1.0, "none", "x", [1], [0, 1], [-1, 2], [], [1, 1, 1, 1], None, 10**6)
TOLD = ("outputs", "opset", "known", "types", "result_types")
"""Keywords that are no attributes."""


def tensor(dice):
    """Nested lists of one kind, of any rank, now and then with an empty axis."""
    cell = dice.choice((lambda: dice.gauss(0.0, 1.0), lambda: dice.randint(-2, 3), lambda: dice.random() < 0.5))
    shape = [dice.choice((0, 1, 2, 2, 3)) for _ in range(dice.choice((0, 1, 1, 2, 3, 4)))]

    def block(sizes):
        return [block(sizes[1:]) for _ in range(sizes[0])] if sizes else cell()

    return block(shape)


@pytest.mark.parametrize("seed", range(5))
def test_a_graph_or_a_sentence(seed):
    built = refused = 0
    for name, operator in OPERATORS.items():
        dice = random.Random(f"{name} {seed}")
        count = dice.randint(1, max(1, len(operator.operands) + operator.variadic))
        inputs = [tensor(dice) if dice.random() < 0.9 else None for _ in range(count)]
        attributes = {
            k: dice.choice(VALUES) for k in operator.keywords if k not in TOLD and dice.random() < 0.5
        }
        try:
            operator(*inputs, **attributes)
            built += 1
        except GraphError as error:
            refused += 1
            assert "\n" not in str(error)
            assert "Traceback" not in str(error)
    assert built > 15
    assert refused > 15
