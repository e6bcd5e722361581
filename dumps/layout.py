"""Graphviz, as a child process: DOT in, a picture out.

The layout engine comes with the pygraphviz wheel, so no system package is needed. It runs in a
process of its own with a time limit, because it can take very long or crash on some graphs, and
because its messages must not mix with ours.
"""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

from graphattn.core.errors import GraphError

CHILD = Path(__file__).with_name("graphviz_child.py")

FORMATS = ("svg", "png", "plain", "dot")

NOISE = re.compile(r"Fontconfig|^\s*$|layout may take a long time|^in label of|Unknown DPI", re.IGNORECASE)
"""Lines from Graphviz that say nothing to the user about the picture."""


class TooHard(GraphError):
    """Graphviz did not finish in time, or crashed: the graph must be drawn in fewer nodes."""


def laid_out(source: str, form: str = "svg", timeout: float = 30, dpi: int = 0) -> bytes:
    """The picture of a DOT text, in one of `FORMATS`; `dpi` is for PNG.

    Raises `TooHard` on a timeout (seconds) or a crash, and a `GraphError` where pygraphviz is not
    installed or refuses the text.
    """
    if form not in FORMATS:
        raise GraphError(f"unknown picture format {form!r}; expected one of {', '.join(FORMATS)}")
    if not sys.executable or find_spec("pygraphviz") is None:
        missing = "pygraphviz is not installed" if sys.executable else "there is no Python to run it in"
        raise GraphError(f"the picture was not drawn: {missing}; expected `pip install pygraphviz`")
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-W", "ignore", str(CHILD), form, str(dpi)],
            input=source.encode("utf-8"),
            capture_output=True,
            timeout=timeout,
            check=False,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
    except subprocess.TimeoutExpired:
        raise TooHard(f"Graphviz did not lay out the picture within {timeout:g} seconds") from None
    except OSError as error:
        raise GraphError(f"the picture was not drawn: Python did not start again: {error}") from None
    told = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if not NOISE.search(line)]
    if done.returncode == 3:
        raise GraphError(f"the picture was not drawn: {_last(told)}; expected `pip install pygraphviz`")
    if done.returncode == 4:
        raise GraphError(f"Graphviz did not accept the DOT text: {_last(told)}")
    if done.returncode or not done.stdout:
        raise TooHard(f"Graphviz crashed while it laid out the picture (exit status {done.returncode})")
    for line in dict.fromkeys(told):
        warnings.warn(f"Graphviz: {line}", stacklevel=2)
    return done.stdout


def _last(lines: list[str]) -> str:
    return lines[-1] if lines else "no reason was given"
