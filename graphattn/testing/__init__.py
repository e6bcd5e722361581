"""For people's own test suites: assert that numbers from elsewhere are those of a graph or trace.

    from graphattn.testing import assert_close

    def test_my_attention():
        assert_close(graph, my_tensors)                 # run on the inputs that my_tensors holds
        assert_close(trace, my_tensors, precision="float32", ignore=["*.cache", "step_count"])

The failure message is the report of `graphattn.insight.compare`: the first tensor that differs though its
inputs agree, and what the relation is there. With pytest, the fixture `graphattn_assert_close` is this
function.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

from ..core.errors import GraphError
from ..core.graph import Graph
from ..insight.compare import Comparison, compare
from ..insight.diagnose import diagnose as named


def assert_close(
    trace_or_graph: Any, observed: Any, *, ignore: Iterable[str] = (), diagnose: bool = False, **options: Any
) -> Comparison:
    """Raise an `AssertionError` with the report unless every tensor of `observed` agrees with the trace, or
    with the graph on the inputs that `observed` holds. What too few digits leave undecided does not agree.

    ignore: names (with wildcards) of tensors that need not have a counterpart. diagnose: name the mistake
    too, where a graph is given. Options as for `compare`; returns the comparison.
    """
    __tracebackhide__ = True
    comparison = compare(trace_or_graph, observed, **options)
    patterns = [ignore] if isinstance(ignore, str) else list(ignore)
    left = [n for n in comparison.uncompared if not any(fnmatchcase(n, pattern) for pattern in patterns)]
    if not comparison.agrees:
        mistake = _mistake(trace_or_graph, observed, options.get("feeds")) if diagnose else ""
        raise AssertionError(f"{comparison}{mistake}")
    if left:
        names = ", ".join(left[:8]) + (f" and {len(left) - 8} more" if len(left) > 8 else "")
        raise AssertionError(
            f"nothing was compared with {len(left)} of the observed tensors: {names};"
            f" expected ignore=[...] to name them, or names={{reference: yours}}\n\n{comparison}"
        )
    return comparison


def _mistake(graph: Any, observed: Any, feeds: Any) -> str:
    """What diagnose says, below a comparison; nothing where there is no graph, or it cannot be asked."""
    if not isinstance(graph, Graph):
        return ""
    try:
        return f"\n{named(graph, feeds, observed)}"
    except GraphError as error:
        return f"\nno diagnosis: {error}\n"
