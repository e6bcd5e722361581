"""Calls a function of a file in a process of its own, under limits of time and memory.

    called(file, function, limits) -> Outcome: a result for each case, or the sentence that ended it all
    called(..., instead=["softmax"])  the same, with the contract's softmax in the place of the file's own

What the process prints is thrown away. It is ended with all the processes that it started. Where the system has
no limits of memory (Windows), there is only that of time.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import child
from .contract import Function

START_UP = 5.0
"""Seconds that starting Python may take, besides."""


@dataclass(frozen=True, slots=True)
class Limits:
    seconds: float
    megabytes: int


@dataclass(slots=True)
class Outcome:
    """results: for each case a dict with "value" or "error" (a sentence), and "note". failure: why there are
    none; loaded: whether the file itself ran. used: those of `instead` that were called."""

    results: list[dict[str, Any]] = field(default_factory=list)
    failure: str = ""
    loaded: bool = True
    used: list[str] = field(default_factory=list)


def called(file: str, function: Function, limits: Limits, instead: Sequence[str] = ()) -> Outcome:
    """Call a function on its cases."""
    with tempfile.TemporaryDirectory(prefix="graphattn-check-") as folder:
        answer = Path(folder, "answer.json")
        asked = {
            "file": os.path.abspath(file),
            "function": function.name,
            "signature": function.signature,
            "adapter": function.adapter,
            "module": function.module,
            "instead": list(instead),
            "calls": [[list(case.args), dict(case.kwargs)] for case in function.cases],
            "answer": str(answer),
            "megabytes": limits.megabytes,
        }
        status = _run(json.dumps(asked), limits.seconds + START_UP)
        loaded = Path(f"{answer}.loaded").exists()
        if status is None:
            return Outcome(failure=f"it did not finish within {limits.seconds:g} seconds", loaded=loaded)
        try:
            told = json.loads(answer.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            ended = f"signal {-status}" if status < 0 else f"exit status {status}"
            return Outcome(failure=f"it ended the process ({ended}) before there was a result", loaded=loaded)
    if "failure" in told:
        return Outcome(failure=told["failure"], loaded=loaded)
    return Outcome([_tupled(result) for result in told["results"]], used=told["used"])


def _tupled(result: dict[str, Any]) -> dict[str, Any]:
    if result.get("several"):
        result["value"] = tuple(result["value"])
    return result


def _run(asked: str, seconds: float) -> int | None:
    """The exit status; None where the time was up."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"exec({inspect.getsource(child)!a})"],  # in ASCII, whatever the locale takes
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd=tempfile.gettempdir(), env=_environment(),
    )  # fmt: skip
    try:
        process.communicate(asked.encode(), timeout=seconds)
        return process.returncode
    except subprocess.TimeoutExpired:
        return None
    finally:
        _end(process)


def _environment() -> dict[str, str]:
    """Ours, with where graphattn is found."""
    home = str(Path(__file__).parent.parent.parent)
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process, and what it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
