"""Wrong gradient rules, written by hand, are named by the step of the rule that is wrong."""

import gradient_mistakes
import pytest

from graphattn import diagnose


@pytest.mark.parametrize("what, words", [
    ("linear: turned", "transposed in a matmul in the gradient of linear"),
    ("layernorm: sums", "with reduce_sum instead of every reduce_mean in the gradient of LayerNorm"),
    ("linear: bias from x", "with x as x of the reduce_sum in the gradient of linear"),
])  # fmt: skip
@pytest.mark.slow
def test_a_rule_is_wrong_in_all_nodes_of_its_op(what, words):
    graph, feeds, given = gradient_mistakes.by_rule(what)
    found = diagnose(graph, feeds, given, budget=60, pairs=False)
    assert words in found.findings[0].phrase
