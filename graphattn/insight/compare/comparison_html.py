"""A comparison as a notebook shows it: the verdict, a table of the tensors, and the whole report, folded."""

from __future__ import annotations

import html
from typing import Any

from graphattn.dumps.notebook import FRAME, table_html

HEAD = ("tensor", "yours", "shape", "verdict", "cells that differ", "largest difference", "at")


def comparison_html(head: str, data: dict[str, Any], report: str) -> str:
    """The parts, from what `Comparison.data()` says."""
    table = table_html(HEAD, map(_row, data["tensors"]), numbers={4, 5})
    whole = f"<details><summary>the whole report</summary><pre>{html.escape(report)}</pre></details>"
    return f"<div {FRAME}><p><b>{html.escape(head)}</b></p>{table}{whole}</div>"


def _row(tensor: dict[str, Any]) -> list[str]:
    size = tensor.get("absolute")
    far = f"{size:.3g}" if isinstance(size, float) else ""
    return [
        str(tensor["name"]), str(tensor["yours"]), "×".join(map(str, tensor["shape"])), str(tensor["status"]),
        f"{tensor['cells that differ']:,}" if isinstance(tensor.get("cells that differ"), int) else "", far,
        str(tensor["cell"]) if tensor["status"] != "equal" else "",
    ]  # fmt: skip
