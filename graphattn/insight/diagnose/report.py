"""The report of a diagnosis."""

from __future__ import annotations

from typing import Any


def text(found: Any, reveal: str = "cause") -> str:
    lines = [found.verdict]
    for finding in found.findings:
        lines.append("  " + finding.sentence + f"   ({finding.error:.1e}, {finding.price:.1f})")
        lines += ["      = " + e for e in finding.equals[:5]]
    lines += ["  suspect: " + s for s in found.suspects]
    return "\n".join(lines) + "\n"
