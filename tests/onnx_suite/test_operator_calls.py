"""ONNX operators called at random: equal to ONNX's reference, or to ONNX Runtime where the reference is not."""

from collections import Counter

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("seed", [100, 101, 102])
def test_operators(seed):
    """`python tests/onnx_suite/operator_calls.py 50` draws more."""
    pytest.importorskip("onnx", reason="the reference comes with the package onnx")
    pytest.importorskip("onnxruntime", reason="the second judge")
    import operator_calls

    told = Counter()
    for op in operator_calls.CALLS:
        result = operator_calls.judged(op, seed)
        assert not result.startswith("differs"), f"{op} {seed} {result}"
        told[result.partition(":")[0]] += 1
    assert told["equal"] > 0.85 * len(operator_calls.CALLS)
