"""`python benchmarks/block.py`: what it costs to see every number of an attention block.

A causal pre-LN block with projections, its weights bound as constants, at several (n tokens, d
features, h heads). A traced run of graphattn (every intermediate tensor recorded, the plan of the
graph cached) against

(a) the same kernels called by hand, nothing recorded;
(b) a learner's naive loops;
(c) careful code by hand: no transposes, masked scores never computed, nothing recorded;
(d) the same kernels by hand, everything kept that the trace keeps;
(e) a learner's loops with zip;
(f) torch.fx's Interpreter recording every node, heads apart;
(g) ONNX's ReferenceEvaluator with every result among the outputs;

then what it costs to begin, and how time and memory grow. Peers that are not installed are left
out and named; `pip install 'graphattn[bench]'` brings them. `--quick` takes a tenth of the time.
"""

from __future__ import annotations

import argparse
import gc
import os
from statistics import median

for _library in ("OMP", "OPENBLAS", "MKL"):  # CPU time of one thread is what is measured
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

import growth  # noqa: E402
import startup  # noqa: E402
from contenders import PEERS, Case, Contender, case, graph_of, result, traced  # noqa: E402
from timing import build, interleaved, ratio, told  # noqa: E402

from graphattn.core.interpreter import plan_of  # noqa: E402
from graphattn.core.nested import flat  # noqa: E402

SIZES = ((4, 8, 2), (8, 64, 4), (64, 64, 4), (128, 128, 8))
LARGE = (512, 64, 8)
OURS = "graphattn, traced"
TOLERANCE = 1e-10
"""How far results may lie apart (ONNX passes eps on as a float32)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the time")
    seconds = 1.0 if parser.parse_args().quick else 10.0
    print(f"{build()}   CPU time of one thread   medians of per-round ratios")
    for size in SIZES:
        compare(case(*size), seconds)
    begin(3 if seconds < 2 else 9)
    grow(seconds)


def compare(one: Case, seconds: float) -> None:
    """Every contender on one block: the time of a call, and ours divided by it."""
    calls: dict[str, Contender] = {OURS: traced(one)}
    missing: dict[str, str] = {}
    for name, make in PEERS.items():
        try:
            calls[name] = make(one)
        except ImportError as error:
            missing[name] = f"not installed ({error.name})"
    agree(calls)
    gc.collect()
    gc.freeze()  # what libraries brought in is not looked through again while calls are timed
    taken = interleaved(calls, seconds)
    heading(f"(n, d, h) = {one.size}", "one block", "graphattn / it")
    row(OURS, told(median(taken[OURS])))
    for name in PEERS:
        if name in missing:
            row(name, missing[name])
        else:
            row(name, told(median(taken[name])), f"{ratio(taken[OURS], taken[name]):.3f}")


def agree(calls: dict[str, Contender]) -> None:
    """Stop unless all contenders give the same y."""
    expected = list(flat(result(calls[OURS]())))
    for name, call in calls.items():
        found = flat(result(call()))
        apart = max(abs(a - b) for a, b in zip(found, expected, strict=True))
        if not apart <= TOLERANCE:
            raise SystemExit(f"{name} is {apart} away from {OURS}; expected at most {TOLERANCE}")


def begin(rounds: int) -> None:
    """Import, building and the first block."""
    taken = startup.startups(rounds)
    first = "graphattn, import + first block"
    heading("to begin (a fresh process each)", "time", "graphattn / it")
    for name in startup.PROGRAMS:
        if name not in taken:
            row(name, "not installed")
        else:
            peer = name.startswith("torch")
            row(name, told(median(taken[name])), f"{ratio(taken[first], taken[name]):.3f}" if peer else "")
    one = case(*startup.SIZE)
    built = interleaved(
        {
            "build the graph": lambda: graph_of(one),
            "build, expand and plan it": lambda: plan_of(graph_of(one).at("op")),
        },
        1.0,
        rounds=(5, 21),
    )
    for name, times in built.items():
        row(f"{name}, {one.size}", told(median(times)))


def grow(seconds: float) -> None:
    """Time against n²d + nd², memory against what is kept, and a large block."""
    heading("growth of a traced run", "one block", "per multiply-add")
    for cost in growth.times(seconds):
        row(cost.size, told(cost.seconds), f"{cost.each / 1e-9:.1f} ns")
    for size in ((128, 64, 8), LARGE)[: 1 if seconds < 2 else 2]:
        heading(f"memory by keep=, {case(*size).size}", "peak", "at the end")
        for memory in growth.memory(*size):
            row(memory.kept, f"{memory.peak / 2**20:.1f} MiB", f"{memory.left / 2**20:.1f} MiB")
    heading("a large block", "one block", "")
    row(case(*LARGE).size, told(growth.large(*LARGE)))


def heading(title: str, *columns: str) -> None:
    print()
    row(title, *columns)


def row(title: str, *columns: str) -> None:
    print(f"{title:36}" + "".join(f"{column:>18}" for column in columns), flush=True)


if __name__ == "__main__":
    main()
