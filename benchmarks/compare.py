"""How long comparing two traces takes, as a part of the run that made one (at most half is wanted).

    python benchmarks/compare.py

Two pairs, of a causal block of (128, 128, 8): equal traces, and one whose every number was rounded to
float32. Times are CPU seconds, interleaved, ratios are medians; see timing.py.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any, NamedTuple

from contenders import case, graph_of
from timing import interleaved, ratio, told

from graphattn import Trace, run
from graphattn.insight.compare import compare

SIZE = (128, 128, 8)


class Share(NamedTuple):
    """A pair of traces: seconds to compare them, seconds of a run, and the one by the other."""

    pair: str
    seconds: float
    run: float
    share: float


def rounded(trace: Trace) -> Trace:
    """The trace with every number rounded to float32."""

    def short(value: Any) -> Any:
        if isinstance(value, list) and value and isinstance(value[0], list):
            return [short(item) for item in value]
        return array("f", value).tolist()

    values = {n: short(trace[n]) if trace.spec(n).kind == "float" else trace[n] for n in trace.names}
    return Trace.restore(trace.graph, values)


def shares(seconds: float = 20.0) -> Iterator[Share]:
    """What comparing takes."""
    one = case(*SIZE)
    graph, feeds = graph_of(one), {"x": one.x}
    mine, same = run(graph, feeds), run(graph, feeds)
    other = rounded(mine)
    calls = {
        "run": lambda: run(graph, feeds),
        "equal": lambda: compare(mine, same),
        "rounded to float32, judged so": lambda: compare(mine, other, precision="float32"),
        "rounded to float32, judged as float64": lambda: compare(mine, other, precision="float64"),
    }
    taken = interleaved(calls, seconds)
    for name in list(calls)[1:]:
        yield Share(name, min(taken[name]), min(taken["run"]), ratio(taken[name], taken["run"]))


if __name__ == "__main__":
    for one in shares():
        print(f"{one.pair:40} {told(one.seconds):>8}   run {told(one.run):>8}   {one.share:.0%}")
