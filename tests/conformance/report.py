"""python tests/conformance/report.py [FOLDER]: every case of a corpora folder, and the counts.

FOLDER, or the environment variable GRAPHATTN_CORPORA, or else the small copy in tests/data/corpora.
Each case is passed, failed or not run (what it asks for is not there); those that did not pass are
told with the reason. Cases of level "stretch" ask for more than the textbook's algorithm in doubles
and are counted by themselves; so are the gradients that cases in torch/ carry. Exit status 1 where a
case failed that is not of that level.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cases
import gradient_cases
import runners


@dataclass(frozen=True)
class Verdict:
    """What came of a case: passed, failed or not run, why, and whether it passed at the finer rtol."""

    suite: str
    name: str
    level: str
    outcome: str
    reason: str = ""
    fine: bool | None = None


def verdict(path: Path) -> Verdict:
    """Run one case and judge every output (in trace/, every intermediate)."""
    case = cases.load(path)
    level = case.get("level", "")
    told = (path.parent.name, path.stem, level)
    try:
        trace, names = runners.computed(case)
    except runners.NotRun as reason:
        return Verdict(*told, "not run", str(reason))
    except Exception as error:  # whatever goes wrong in a case is told, and the next one is run
        return Verdict(*told, "failed", f"{type(error).__name__}: {error}")
    judged = [*case.get("trace", ()), *case["outputs"]]
    wrong = first_wrong(case, judged, trace, names)
    fine = None
    if case.get("rtol_stretch"):
        fine = first_wrong(case, judged, trace, names, case["rtol_stretch"]) is None
    return Verdict(*told, "failed" if wrong else "passed", wrong or "", fine)


def first_wrong(
    case: dict[str, Any], tensors: Any, trace: Any, names: dict[str, str], rtol: float | None = None
) -> str | None:
    """The first difference in one of the tensors."""
    told = (cases.judged(case, tensor, trace[names[tensor["name"]]], rtol) for tensor in tensors)
    return next((one for one in told if one), None)


def report(root: Path) -> tuple[str, bool]:
    """The text of all verdicts, and whether nothing failed that should pass."""
    lines, good = [], True
    for suite in cases.SUITES:
        folder = root / suite
        found = [verdict(path) for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []
        for level in sorted({v.level for v in found}):
            own = [v for v in found if v.level == level]
            counts = Counter(v.outcome for v in own)
            line = f"{f'{suite} {level}'.strip():<12} {len(own):4} cases"
            line += "".join(f"   {counts[outcome]:4} {outcome}" for outcome in ("passed", "failed", "not run"))
            if any(v.fine is not None for v in own):
                line += f"   {sum(bool(v.fine) for v in own):4} at rtol_stretch"
            lines.append(line)
            good = good and (level == "stretch" or not counts["failed"])
            lines += [f"    {v.outcome}: {v.name}: {v.reason}" for v in own if v.outcome != "passed"]
            lines += [
                f"    not at rtol_stretch: {v.name}" for v in own if v.fine is False and v.outcome == "passed"
            ]
        if not found:
            lines.append(f"{suite:<12}    0 cases")
    paths = gradient_cases.paths(root)
    told = [f"    failed: {path.stem}: {one}" for path in paths for one in gradient_cases.problems(path)]
    failed = len({line.split(":")[1] for line in told})
    lines.append(f"{'gradients':<12} {len(paths):4} cases   {len(paths) - failed:4} passed   {failed:4} failed")
    return "\n".join([*lines, *told]), good and not told


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else cases.ROOT
    if not root.is_dir():
        print(f"{root} is no folder; expected one with {', '.join(cases.SUITES)} in it", file=sys.stderr)
        return 2
    sys.stdout.reconfigure(encoding="utf-8")  # pyright: ignore[reportAttributeAccessIssue]
    text, good = report(root)
    print(text)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
