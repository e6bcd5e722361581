"""Graphviz, as a child process: DOT in, a picture out.

The layout engine comes with the pygraphviz wheel, so no system package is needed. It runs in a
process of its own with a time limit, because it can take very long or crash on some graphs, and
because its messages must not mix with ours.
"""

from __future__ import annotations

import math
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from importlib.resources import as_file, files
from importlib.util import find_spec
from itertools import accumulate, pairwise

from graphattn.core.errors import GraphError

CHILD = files("graphattn.dumps") / "graphviz_child.py"
"""What runs in the child process, also where the package is in a zip."""

FORMATS = ("svg", "png", "pdf", "plain", "dot")

NEVER = 10**6
"""Seconds that are no limit (and more than a system takes)."""

ENGINES = ("dot", "nop2")
"""Layered layout; or none at all, for what has its places already."""

DPI = 144
"""How sharp a PNG is: dots per inch, where it does not grow too large."""

SIDE = 32_000
"""The longest side of a PNG in pixels; Graphviz shrinks what is longer without a word."""

PIXELS = 64_000_000
"""The most pixels of a PNG: 256 MB while it is drawn."""

DATED = re.compile(rb"/CreationDate \(D:\d{14}")

NOISE = re.compile(
    r"Fontconfig|^\s*$|layout may take a long time|^in label of|Unknown DPI|size too small", re.IGNORECASE
)
"""Lines from Graphviz that say nothing to the user about the picture."""


class TooHard(GraphError):
    """Graphviz did not finish in time, or crashed: the graph must be drawn in fewer nodes."""


def laid_out(source: str, form: str = "svg", timeout: float = 30, dpi: int = 0, engine: str = "dot") -> bytes:
    """The picture of a DOT text, in one of `FORMATS`; `dpi` is for PNG.

    Raises `TooHard` on a timeout (seconds) or a crash, and a `GraphError` where pygraphviz is not
    installed or refuses the text.
    """
    return laid_out_as([form], source, timeout, dpi, engine)[0]


def laid_out_as(
    forms: Sequence[str], source: str, timeout: float = 30, dpi: int = 0, engine: str = "dot"
) -> list[bytes]:
    """The picture in several formats, laid out once. A PNG behind an SVG is empty where it would be too
    large at `dpi`."""
    for form in forms:
        if form not in FORMATS:
            raise GraphError(f"unknown picture format {form!r}; expected one of {', '.join(FORMATS)}")
    assert engine in ENGINES
    if not sys.executable or find_spec("pygraphviz") is None:
        missing = "pygraphviz is not installed" if sys.executable else "there is no Python to run it in"
        raise GraphError(f"the picture was not drawn: {missing}; expected `pip install pygraphviz`")
    arguments = (",".join(forms), str(dpi), engine, str(SIDE), str(PIXELS))
    try:
        with as_file(CHILD) as child:
            done = subprocess.run(
                [sys.executable, "-P", "-W", "ignore", str(child), *arguments],
                input=source.encode("utf-8"),
                capture_output=True,
                timeout=timeout if timeout < NEVER else None,
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
    if done.returncode == 5:
        raise GraphError(f"the picture was not drawn: {_last(told)}; expected room for Graphviz's own files")
    if done.returncode or not done.stdout:
        raise TooHard(f"Graphviz crashed while it laid out the picture (exit status {done.returncode})")
    for line in dict.fromkeys(told):
        warnings.warn(f"Graphviz: {line}", stacklevel=2)
    return [_undated(form, data) for form, data in zip(forms, _parts(done.stdout), strict=True)]


def dots_per_inch(width: float, height: float, wanted: int = DPI) -> int:
    """How sharp a PNG of a page (in points) may be: `wanted`, or less with a warning that says so,
    since neither a side nor all its pixels may grow beyond a bound."""
    most = min(SIDE * 72 / max(width, height, 1), 72 * math.sqrt(PIXELS / max(width * height, 1)))
    if most < wanted:
        warnings.warn(
            f"the PNG is drawn at {int(most)} dots per inch instead of {wanted}, as it would be too large;"
            " an .svg has no such limit",
            stacklevel=5,
        )
    return max(1, min(wanted, int(most)))


def _parts(data: bytes) -> list[bytes]:
    """What the child wrote: a line with the size of each part, then the parts."""
    sizes, _, rest = data.partition(b"\n")
    ends = list(accumulate(map(int, sizes.split())))
    return [rest[start:end] for start, end in pairwise([0, *ends])]


def _undated(form: str, data: bytes) -> bytes:
    """A PDF without the time it was written, so that the same picture has the same bytes."""
    return DATED.sub(b"/CreationDate (D:20000101000000", data) if form == "pdf" else data


def _last(lines: list[str]) -> str:
    return lines[-1] if lines else "no reason was given"
