"""For people's own test suites: assert that numbers from elsewhere are those of a graph or trace.

    from graphattn.testing import assert_close

    def test_my_attention():
        assert_close(graph, my_tensors)                 # run on the inputs that my_tensors holds
        assert_close(trace, my_tensors, precision="float32")

The failure message is the report of `graphattn.insight.compare`: the first tensor that differs though its
inputs agree, and what the relation is there. With pytest, the fixture `graphattn_assert_close` is this
function.
"""

from __future__ import annotations

from typing import Any

from ..insight.compare import Comparison, compare


def assert_close(trace_or_graph: Any, observed: Any, **options: Any) -> Comparison:
    """Raise an `AssertionError` with the report unless `observed` agrees with the trace, or with the
    graph on the inputs that `observed` holds. Options as for `compare`; returns the comparison."""
    __tracebackhide__ = True
    comparison = compare(trace_or_graph, observed, **options)
    if not comparison.agrees:
        raise AssertionError(str(comparison))
    return comparison
