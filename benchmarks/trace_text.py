"""How long the text of a trace takes, in runs of the graph that it shows; all in one process.

python benchmarks/trace_text.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from graphattn import run
from graphattn.builtin import specimen
from graphattn.dumps.trace_text import read_trace, trace_text


def seconds(work: Callable[[], Any], times: int = 3) -> float:
    """The shortest of a few attempts."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def main() -> None:
    print(f"Python {sys.version.split()[0]}")
    for n, d, heads in ((64, 64, 4), (192, 64, 8)):
        case = specimen("block", n=n, d=d, heads=heads, causal=True)
        trace = run(case.graph, case.feeds)
        one = seconds(lambda case=case: run(case.graph, case.feeds))
        settled = seconds(lambda case=case: run(case.graph, case.feeds).warnings)
        text = seconds(lambda trace=trace: str(trace))
        exact = trace_text(trace, "exact")
        written = seconds(lambda trace=trace: trace_text(trace, "exact"))
        read = seconds(lambda exact=exact: read_trace(exact))
        print(
            f"block n={n} d={d} h={heads}: run {one:.2f} s; masks and warnings {settled / one - 1:.2f} runs;"
            f" str(trace) {text / one:.2f}; exact written {written / one:.2f}, read {read / one:.2f}"
        )


if __name__ == "__main__":
    main()
