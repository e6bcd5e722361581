"""Mistakes of every day, part by part of a model, are named from the final output alone."""

import everyday
import pytest
from diagnose_report import same

from graphattn import diagnose, run

UNNAMED = {"norms: no gate"}
"""Two changes at once."""
QUICK = (
    "rope: v too", "rope: interleaved", "grouped: interleaved", "grouped: kvq", "multi: per head",
    "multi: inverted -1e9", "biased: wide", "norms: std plus eps", "embedded: from 1", "padded: divided by n",
    "rope: not crossed", "biased: squared", "biased: cut off", "embedded: shifted right", "embedded: rolled",
    "rope: degrees", "multi: heads added", "embedded: sinusoids", "padded: over features",
)  # fmt: skip
OTHERS = [what for what in everyday.CASES if what not in QUICK and what not in UNNAMED]


def is_named(what):
    build, wrong = everyday.CASES[what]
    feeds, other = everyday.feeds(build), everyday.feeds(build, 1)
    observed = run(build(wrong), feeds, allow_nonfinite=True)["y"]
    found = diagnose(build(), feeds, {"y": observed}, budget=60, pairs=False)
    if found.verdict == "right":  # a mistake that this graph does not show on any input
        return same(run(build(), other)["y"], run(build(wrong), other)["y"])
    if found.verdict != "mistake":
        return False
    graph, truth = found.findings[0].graph, run(build(wrong), other, allow_nonfinite=True)["y"]
    return same(run(graph, {name: other[name] for name in graph.inputs}, allow_nonfinite=True)["y"], truth)


@pytest.mark.slow
@pytest.mark.parametrize("what", [*QUICK, *OTHERS[::4]])
def test_a_mistake_of_every_day_is_named(what):
    assert is_named(what)
