"""The ops that a test runs over, a parameter each: `parametrize("op", every_op(lambda op: op.samples))`.

Those that stand for a whole head or block take longest, and what they are made of is there by itself: they are
slow tests, left out by `-m "not slow"`.
"""

from collections.abc import Callable

import pytest

import graphattn.ops  # registers them
from graphattn.core.op import OPS, Op

assert graphattn.ops


def every_op(which: Callable[[Op], object] = lambda op: True):
    return [
        pytest.param(op, id=name, marks=pytest.mark.slow if op.level in ("head", "block") else ())
        for name, op in OPS.items()
        if which(op)
    ]
