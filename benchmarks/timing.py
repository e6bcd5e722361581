"""Interleaved timing: only ratios within one round count, since everything else drifts.

In each round every contender has one turn, in an order shuffled anew; a turn repeats the call until
it is long enough for the clock. The clock is the CPU time of this thread, so that other programs on
the machine are not counted. A ratio is the median of the per-round ratios.
"""

from __future__ import annotations

import math
import platform
import random
import sys
import sysconfig
from collections.abc import Callable, Mapping
from statistics import median
from time import thread_time
from typing import Any

TURN = 0.01 if sys.platform != "win32" else 0.2
"""Seconds that a turn should last at least; the clock of Windows ticks 64 times a second."""


def once(call: Callable[[], Any], times: int = 1) -> float:
    """CPU seconds for one call, averaged over a turn of `times` calls."""
    start = thread_time()
    for _ in range(times):
        call()
    return (thread_time() - start) / times


def interleaved(
    calls: Mapping[str, Callable[[], Any]], seconds: float, rounds: tuple[int, int] = (5, 101), seed: int = 0
) -> dict[str, list[float]]:
    """For each call, its CPU seconds round by round.

    There are as many rounds as fit into `seconds`, within the limits of `rounds`. Each call is made
    once before, so that what is made on first use (plans, caches) is there.
    """
    times: dict[str, int] = {}
    for name, call in calls.items():
        call()
        times[name] = max(1, round(TURN / max(once(call), 1e-7)))
    rng = random.Random(seed)
    order = list(calls)
    taken: dict[str, list[float]] = {name: [] for name in calls}
    start = thread_time()
    for number in range(rounds[1]):
        if number >= rounds[0] and thread_time() - start > seconds:
            break
        rng.shuffle(order)
        for name in order:
            taken[name].append(once(calls[name], times[name]))
    return taken


def ratio(mine: list[float], theirs: list[float]) -> float:
    """The median of the per-round ratios."""
    return median(a / b for a, b in zip(mine, theirs))


def build() -> str:
    """Which build of Python runs: version, compiler, whether it was optimized, and how dots are taken."""
    flags = sysconfig.get_config_var("CONFIG_ARGS") or ""
    how = [word for word in ("enable-optimizations", "with-lto", "disable-gil") if word in flags]
    by = "math.sumprod" if hasattr(math, "sumprod") else "sum(map(mul, …))"
    told = f"{platform.python_implementation()} {platform.python_version()}, {platform.python_compiler()}"
    return f"{told}, {', '.join(how) or 'not optimized'}, {platform.machine()}; dot by {by}"


def told(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"
