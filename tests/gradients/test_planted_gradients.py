"""Test the tester: a gradient of 2.001 for 2, in any operand of any op, is caught."""

from dataclasses import replace

import gradient_laws
import pytest

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn.core.axes import Spec
from graphattn.core.op import OPS, Op

RULED = [
    (name, slot)
    for name, op in OPS.items()
    if op.gradient is not None
    for slot in range(max((len(s.operands) for s in op.samples), default=0))
]


def spoiled(op: Op, slot: int, factor: float = 1.0005) -> tuple[Op, list[int]]:
    """The op with the cotangent of one operand off by a factor; how often it was."""
    times: list[int] = []

    def gradient(g, dy, y, *operands, **attributes):
        right = list(op.gradient(g, dy, y, *operands, **attributes))
        if slot < len(right) and right[slot] is not None:
            right[slot] = g.scale(right[slot], multiply=factor)
            times.append(slot)
        return tuple(right)

    return replace(op, gradient=gradient), times


@pytest.mark.slow
@pytest.mark.parametrize("name, slot", RULED, ids=lambda value: str(value))
def test_a_gradient_of_2_001_for_2_is_caught(name, slot):
    op, times = spoiled(OPS[name], slot)
    problems = list(gradient_laws.first_order(op))
    assert problems if times else all(spec.kind != "float" for spec in kinds(name, slot))


def kinds(name: str, slot: int) -> list[Spec]:
    """What the samples have in a slot."""
    return [
        c.specs[slot]
        for c in gradient_laws.tame(OPS[name])
        if slot < len(c.specs) and c.specs[slot] is not None
    ]


def test_the_culprit_is_named():
    op, _ = spoiled(OPS["layernorm"], 1)
    told = "\n".join(gradient_laws.first_order(op))
    assert " x1: the gradient gives" in told and "IS NOT" in told
    assert " tame: x0: " not in told and " tame: x2: " not in told


def test_a_gradient_that_is_not_proportional_to_its_cotangent_is_seen():
    squared = replace(OPS["relu"], gradient=lambda g, dy, y, x: (g.multiply(dy, dy),))
    assert list(gradient_laws.one_cell(squared)) and not list(gradient_laws.one_cell(OPS["relu"]))


def test_an_op_without_a_gradient_is_seen():
    assert list(gradient_laws.ruled(replace(OPS["exp"], gradient=None)))
    assert not list(gradient_laws.ruled(replace(OPS["softmax"], gradient=None)))  # that of its expansion
    assert list(gradient_laws.first_order(replace(OPS["softmax"], gradient=None))) == []
