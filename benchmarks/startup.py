"""What it costs to begin: importing, building, and the first block, each in a fresh process.

Processes are interleaved and shuffled as calls are in `timing.py`; each reports the CPU time of its
main thread from its first statement on, so that Python's own start is not counted.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from statistics import median

SIZE = (8, 64, 4)

_HEAD = "from time import thread_time\nstart = thread_time()\n"
_TAIL = "\nprint(thread_time() - start)"

OURS = f"""
import random
from graphattn import Graph, run
n, d, h = {SIZE}
numbers = lambda rows: [[random.random() - 0.5 for _ in range(d)] for _ in range(rows)]
weights = {{name: numbers(d) for name in ("w_q", "w_k", "w_v", "w_o")}}
x = numbers(n)
g = Graph("block")
bound = {{name: g.constant(w, name=name) for name, w in weights.items()}}
g.output(y=g.block(g.input("x", (n, d)), heads=h, causal=True, name="block", **bound))
trace = run(g, {{"x": x}})
"""

TORCH = f"""
import torch
from torch.nn import functional
torch.set_num_threads(1)
n, d, h = {SIZE}
with torch.no_grad():
    x = torch.randn(n, d, dtype=torch.float64)
    w_q, w_k, w_v, w_o = (torch.randn(d, d, dtype=torch.float64) / 8 for _ in range(4))
    hides = torch.ones(n, n, dtype=torch.bool).triu(1)
    norm = functional.layer_norm(x, (d,))
    q, k, v = (functional.linear(norm, w).split(d // h, -1) for w in (w_q, w_k, w_v))
    outs = []
    for i in range(h):
        scores = (q[i] @ k[i].T / (d // h) ** 0.5).masked_fill(hides, float("-inf"))
        outs.append(functional.softmax(scores, -1) @ v[i])
    y = x + functional.linear(torch.cat(outs, -1), w_o)
"""

PROGRAMS = {
    "import graphattn": "import graphattn",
    "import networkx": "import networkx",
    "from graphattn import Graph, run": "from graphattn import Graph, run",
    "graphattn, import + first block": OURS,
    "torch, import + first block": TORCH,
}


def begin(program: str) -> float | None:
    """CPU seconds that a program took in a process of its own; None where it failed.

    The process may keep its bytecode, so that no round but the first compiles what it imports.
    """
    found = subprocess.run(
        [sys.executable, "-c", _HEAD + program + _TAIL],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent,
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"},
    )
    return float(found.stdout.split()[-1]) if found.returncode == 0 else None


def startups(rounds: int, seed: int = 0) -> dict[str, list[float]]:
    """For each program that runs here, its CPU seconds round by round."""
    programs = {name: program for name, program in PROGRAMS.items() if begin(program) is not None}
    order = list(programs)
    taken: dict[str, list[float]] = {name: [] for name in programs}
    rng = random.Random(seed)
    for _ in range(rounds):
        rng.shuffle(order)
        for name in order:
            seconds = begin(programs[name])
            if seconds is not None:
                taken[name].append(seconds)
    return taken


def middle(taken: list[float]) -> float:
    """The median."""
    return median(taken)
