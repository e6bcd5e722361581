"""docs/gradients.md is kept true: its Python prints exactly what it shows.

`pytest --rewrite-golden` writes the outputs anew.
"""

import contextlib
import io
import re
from pathlib import Path

from graphattn import Graph
from graphattn.core.op import OPS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gradients.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(block):
    """A Python block, and what it prints now."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block[1], PAGE.name, "exec"), {})
    return f"```python\n{block[1]}```\n\n```text\n{out.getvalue()}```"


def test_outputs_are_real(request):
    Graph()  # fills the registry
    known = set(OPS)
    shown = PAGE.read_text(encoding="utf-8")
    try:
        now = BLOCK.sub(printed, shown)
    finally:
        for name in set(OPS) - known:  # what the page registers
            del OPS[name]
    if request.config.getoption("--rewrite-golden"):
        PAGE.write_text(now, encoding="utf-8", newline="\n")
    assert now == shown
    assert shown.count("```python") == shown.count("```text") == len(BLOCK.findall(shown)) == 4
