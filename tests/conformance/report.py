"""python tests/conformance/report.py [FOLDER]: every case of a corpora folder, and the counts.

FOLDER, or the environment variable GRAPHATTN_CORPORA, or else the small copy in tests/data/corpora.
Each case is passed, failed or not run (what it asks for is not there); those that did not pass are
told with the reason. Cases of level "stretch" ask for more than the textbook's algorithm in doubles
and are counted by themselves; so are the gradients that cases in torch/ carry, computed in both of our ways.
A folder that is no suite is told too. Exit status 1 where a case failed that is not of that level.
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
    """What came of a case: passed, failed or not run, and why.

    Cases with a finer rtol (mp/) are also computed with care (`conventions/careful.py`). `care`: whether
    they pass so; `fine` and `fine_with_care`: whether they pass at the finer rtol.
    """

    suite: str
    name: str
    level: str
    outcome: str
    reason: str = ""
    fine: bool = False
    care: bool = False
    fine_with_care: bool = False


def verdict(path: Path) -> Verdict:
    """Run one case and judge every output (in trace/, every intermediate)."""
    told = (path.parent.name, path.stem, "")
    try:
        case = cases.load(path)
        told = (*told[:2], case.get("level", ""))
        wrong, fine = _judged(case)
    except runners.NotRun as reason:
        return Verdict(*told, "not run", str(reason))
    except Exception as error:  # whatever goes wrong in a case is told, and the next one is run
        return Verdict(*told, "failed", f"{type(error).__name__}: {error}")
    care, fine_with_care = _judged(case, care=True) if case.get("suite") in runners.WITH_CARE else ("-", False)
    return Verdict(*told, "failed" if wrong else "passed", wrong or "", fine, care is None, fine_with_care)


def _judged(case: dict[str, Any], care: bool = False) -> tuple[str | None, bool]:
    """The first difference, and whether there is none at the finer rtol either."""
    trace, names = runners.computed(case, care)
    judged = [*case.get("trace", ()), *case["outputs"]]
    finer = case.get("rtol_stretch")
    fine = finer is not None and first_wrong(case, judged, trace, names, finer) is None
    return first_wrong(case, judged, trace, names), fine


def first_wrong(
    case: dict[str, Any], tensors: Any, trace: Any, names: dict[str, str], rtol: float | None = None
) -> str | None:
    """The first difference in one of the tensors."""
    told = (cases.judged(case, tensor, trace[names[tensor["name"]]], rtol) for tensor in tensors)
    return next((one for one in told if one), None)


def report(root: Path) -> tuple[str, bool]:
    """The text of all verdicts, and whether nothing failed that should pass."""
    lines, good = [], True
    others = sorted({path.parent.name for path in root.glob("*/*.json")} - set(cases.SUITES))
    for suite in (*cases.SUITES, *others):
        found = [verdict(path) for path in sorted((root / suite).glob("*.json"))]
        for level in sorted({v.level for v in found}):
            own = [v for v in found if v.level == level]
            lines += _counted(f"{suite} {level}".strip(), own, suite in runners.WITH_CARE)
            good = good and (level == "stretch" or all(v.outcome != "failed" for v in own))
        if not found:
            lines.append(f"{suite:<12}    0 cases")
        if suite == "torch":
            told, right = _gradients(root, {v.name for v in found if v.outcome != "not run"})
            lines, good = lines + told, good and right
    return "\n".join(lines), good


def _gradients(root: Path, ran: set[str]) -> tuple[list[str], bool]:
    """How many gradients of the cases that ran are PyTorch's, in each of our ways, and which are not."""
    lines, good = [], True
    found = [path for path in gradient_cases.paths(root) if path.stem in ran]
    for way, compute in gradient_cases.WAYS.items():
        wrong = {path: told for path in found if (told := gradient_cases.problems(path, compute))}
        lines.append(f"  {way:<21}{len(found) - len(wrong):3} of {len(found)} that carry gradients")
        lines += [f"    failed: {path.stem}: {told[0]}" for path, told in wrong.items()]
        good = good and not wrong
    return lines, good


def _counted(what: str, found: list[Verdict], with_care: bool) -> list[str]:
    """The counts, and what did not pass."""
    counts = Counter(v.outcome for v in found)
    line = f"{what:<12} {len(found):4} cases"
    line += "".join(f"   {counts[outcome]:4} {outcome}" for outcome in ("passed", "failed", "not run"))
    lines = [line]
    if with_care:
        lines[0] += f"   {sum(v.fine for v in found):4} at rtol_stretch"
        line = f"{'  with care':<12} {'':10}   {sum(v.care for v in found):4} passed"
        lines.append(f"{line}{'':28}   {sum(v.fine_with_care for v in found):4} at rtol_stretch")
    for v in found:
        if v.outcome != "passed":
            lines.append(f"    {v.outcome}: {v.name}: {v.reason}" + "   (passes with care)" * v.care)
        elif with_care and not v.fine:
            lines.append(f"    not at rtol_stretch: {v.name}" + "   (but with care)" * v.fine_with_care)
    return lines


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
