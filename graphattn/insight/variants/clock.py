"""Seconds of work, not of waiting.

What is found within a budget does not depend on what else the machine does.
"""

from __future__ import annotations

from time import monotonic, thread_time

OUTER = 8.0
"""So many seconds on the wall count for one of work at least: the outer bound."""


class Clock:
    """`seconds` of this thread's processor time since it was made, or an eighth of the time on the wall if
    that is more."""

    def __init__(self) -> None:
        self.began = thread_time(), monotonic()

    @property
    def seconds(self) -> float:
        work, wall = self.began
        return max(thread_time() - work, (monotonic() - wall) / OUTER)
