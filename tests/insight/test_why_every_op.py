"""Every op of the registry, at every level: why-trees recompute from the inputs alone, on random cells."""

from __future__ import annotations

import random

import pytest
from every_op import every_op
from op_laws import calls, disturbed, emptied, levels_of
from why_laws import cells, problems

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn import run
from graphattn.core.op import OPS

SAMPLED = sorted(name for name, op in OPS.items() if op.samples)


@pytest.mark.slow
@pytest.mark.parametrize(
    "op, level",
    [
        pytest.param(OPS[name], level, id=f"{name}-{level}")
        for name in SAMPLED
        for level in levels_of(OPS[name])
    ],
)
def test_recomputes(op, level):
    whole = op.level in ("head", "block")
    samples = random.Random(f"{op.name} {level}").sample(
        found := [*calls(op), *disturbed(op, 1)], min(4, len(found))
    )
    for c in samples if whole else found:
        trace = run(c.graph, c.feeds, level=level, allow_nonfinite=True)
        for tensor in c.names:
            for index in cells(trace, tensor, 1 if whole else 2, f"{c.what} {level}"):
                assert list(problems(trace, tensor, index)) == [], c.what


@pytest.mark.parametrize("level", ["op", "primitive"])
@pytest.mark.parametrize("op", every_op(lambda op: op.samples))
def test_sums_of_nothing_recompute(op, level):
    for c in emptied(op):
        trace = run(c.graph, c.feeds, level=level, allow_nonfinite=True)
        for tensor in c.names:
            for index in cells(trace, tensor, 1, f"{c.what} {level}"):
                assert list(problems(trace, tensor, index)) == [], c.what


@pytest.mark.parametrize("name", SAMPLED)
def test_markdown_and_depths(name):
    op = OPS[name]
    for c in list(calls(op))[:2]:
        trace = run(c.graph, c.feeds, allow_nonfinite=True)
        for tensor in c.names:
            for index in cells(trace, tensor, 1, c.what):
                for depth in (1, 2, 3):
                    found = trace.why(tensor, *index, depth=depth)
                    assert found.text(100).strip() and found.markdown().startswith("- `")
                    assert found.data()["cells"][-1]["id"] == found.data()["cell"]
