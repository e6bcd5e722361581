"""For people's own test suites: assert that numbers from elsewhere are those of a graph or trace.

    from graphattn.testing import assert_close

    def test_my_attention():
        assert_close(graph, my_tensors)                 # run on the inputs that my_tensors holds
        assert_close(trace, my_tensors, precision="float32", ignore=["*.cache", "step_count"])

The failure message is the report of `graphattn.insight.compare`: the first tensor that differs though its
inputs agree, and what the relation is there. With pytest, the fixture `graphattn_assert_close` is this
function.

    from graphattn.testing import contract

    test_model = contract("model.py")           # a test for each function of the contract, as `check` grades
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ..core.errors import GraphError, suggest
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
        mistake = _mistake(trace_or_graph, observed, options) if diagnose else ""
        raise AssertionError(f"{comparison}{mistake}")
    if left:
        names = ", ".join(left[:8]) + (f" and {len(left) - 8} more" if len(left) > 8 else "")
        raise AssertionError(
            f"nothing was compared with {len(left)} of the observed tensors: {names};"
            f" expected ignore=[...] to name them, or names={{reference: yours}}\n\n{comparison}"
        )
    return comparison


def contract(
    file: str | os.PathLike[str],
    contract: str | os.PathLike[str] = "model",
    *,
    reveal: str = "cause",
    seconds: float = 10.0,
    megabytes: int = 1024,
) -> Callable[..., None]:
    """A pytest test for each function of a contract, which grades it in a learner's file as `check` does.

        from graphattn.testing import contract

        test_model = contract("model.py", reveal="place")      # test_model[softmax], test_model[attention], …

    A failure is the report on that function, with no more in it than `reveal` allows. file, and a contract that
    is a file: paths from the folder that the test file is in.
    """
    import pytest

    from ..check.contract import load
    from ..check.grade import graded
    from ..check.process import Limits
    from ..check.report import REVEALS, Report

    if reveal not in REVEALS:
        raise GraphError(
            f"reveal is {reveal!r}; expected one of {', '.join(REVEALS)}{suggest(reveal, REVEALS)}"
        )
    folder = os.path.dirname(os.path.abspath(sys._getframe(1).f_globals.get("__file__", "")))
    path = os.path.join(folder, os.fspath(file))
    asked = os.path.join(folder, os.fspath(contract)) if os.fspath(contract).endswith(".py") else contract
    loaded = load(asked)
    functions = {function.name: function for function in loaded.functions}

    @pytest.mark.parametrize("function", functions)
    def test(function: str) -> None:
        __tracebackhide__ = True
        if not os.path.isfile(path):
            raise AssertionError(f"there is no file {os.fspath(file)!r} to grade; expected it beside the test")
        grade = graded(path, functions[function], Limits(seconds, megabytes), reveal == "cause")
        if not grade.right:
            raise AssertionError(str(Report(os.fspath(file), loaded.name, reveal, [grade])))

    return test


def _mistake(graph: Any, observed: Any, options: Mapping[str, Any]) -> str:
    """What diagnose says, below a comparison; nothing where there is no graph, or it cannot be asked."""
    if not isinstance(graph, Graph):
        return ""
    try:
        told = {name: options[name] for name in ("names", "precision") if name in options}
        return f"\n{named(graph, options.get('feeds'), observed, **told)}"
    except GraphError as error:
        return f"\nno diagnosis: {error}\n"
