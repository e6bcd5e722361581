"""The official suite of backend tests (`onnx.backend.test.runner`), counted.

    python -m graphattn.onnx.suite [PATTERN] [-v] [--passed FILE]

Each test passes, is refused with a reason, or fails; the reasons of what is refused are counted. A test that
needs a download is not run.
"""

from __future__ import annotations

import re
import sys
import unittest
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import process_time
from typing import Any

from ..core.errors import GraphError

SUBSETS = {
    "OnnxBackendNodeModelTest": "node",
    "OnnxBackendSimpleModelTest": "simple",
    "OnnxBackendRealModelTest": "real",
    "OnnxBackendPyTorchConvertedModelTest": "pytorch-converted",
    "OnnxBackendPyTorchOperatorModelTest": "pytorch-operator",
}
"""The suite's own classes, and the folders that its tests stand in."""


@dataclass(frozen=True)
class Outcome:
    """What became of one test: passed, refused or failed. `computed`: by ops of the graph (not known when the
    model had been read)."""

    name: str
    subset: str
    status: str
    reason: str = ""
    computed: bool = False
    seconds: float = 0.0


def official(pattern: str = "", names: Iterable[str] | None = None) -> Iterator[Outcome]:
    """The outcome of each test whose name matches, or is one of `names`, in the suite's order."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from onnx.backend.test.runner import Runner

            from .backend import Backend, Prepared

            class Watched(Backend):
                last: Prepared | None = None

                @classmethod
                def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> Prepared:
                    Watched.last = None
                    Watched.last = super().prepare(model, device, **kwargs)
                    return Watched.last

            cases = Runner(Watched, __name__).test_cases
    except ImportError as error:
        raise GraphError(
            f"the official suite needs the package onnx: pip install 'graphattn[onnx]' ({error})"
        ) from None
    wanted = None if names is None else set(names)
    for made, subset in SUBSETS.items():
        for full in unittest.defaultTestLoader.getTestCaseNames(cases[made]) if made in cases else ():
            name = full.removesuffix("_cpu")
            if full.endswith("_cuda") or not re.search(pattern, name) or not (wanted is None or name in wanted):
                continue
            if subset == "real":
                yield Outcome(name, subset, "refused", "needs a download")
                continue
            Watched.last, start = None, process_time()
            status, reason = _ran(cases[made](full))
            computed = Watched.last is not None and Watched.last.computed
            yield Outcome(name, subset, status, reason, computed, process_time() - start)


def _ran(test: unittest.TestCase) -> tuple[str, str]:
    """Run one test: its status, and the reason where it did not pass."""
    result = unittest.TestResult()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        test.run(result)
    if result.skipped:
        return "refused", result.skipped[0][1]
    for _, told in (*result.errors, *result.failures):
        return "failed", told
    return "passed", ""


GROUPS = {
    "control flow": r"control flow",
    "sequences and optionals": r"a sequence or an optional|no tensor",
    "strings": r"operator on strings|STRING|holds strings",
    "quantised types and operators": r"is quantised|holds U?INT[24]|holds FLOAT[468]|a type that is not read",
    "random": r"is random|drops cells at random",
    "training": r"of training|in training mode",
    "downloads": r"needs a download",
    "other domains": r"of the domain",
    "operators that are not known": r"no such operator|has no attribute",
    "what must be known and is not: shapes, indices, exponents": r"must be known|expected known ones",
}
"""Reasons, by what their sentences say."""


def group(reason: str) -> str:
    """Which of `GROUPS` a reason is of."""
    return next((name for name, pattern in GROUPS.items() if re.search(pattern, reason)), "other")


def report(outcomes: Sequence[Outcome]) -> str:
    """The table: how many of each subset, and why others were refused."""
    lines = [f"{'':20}{'tests':>7}{'passed':>8}{'of ops':>8}{'refused':>9}{'failed':>8}"]
    subsets = [*dict.fromkeys(o.subset for o in outcomes)]
    for name in (*subsets, "all"):
        own = [o for o in outcomes if name in ("all", o.subset)]
        count = Counter(o.status for o in own)
        by_ops = sum(o.status == "passed" and o.computed for o in own)
        lines.append(
            f"{name:20}{len(own):7}{count['passed']:8}{by_ops:8}{count['refused']:9}{count['failed']:8}"
        )
    reasons = Counter(group(o.reason) for o in outcomes if o.status == "refused")
    if reasons:
        lines += ["", "refused, by reason:"]
        lines += [f"{count:7}  {name}" for name, count in reasons.most_common()]
    failed = [o for o in outcomes if o.status == "failed"]
    if failed:
        lines += ["", "failed:", *(f"  {o.name}: {_last(o.reason)}" for o in failed)]
    return "\n".join(lines)


def _last(told: str) -> str:
    return " ".join(told.strip().splitlines()[-1].split())[:200]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 where a test failed."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="python -m graphattn.onnx.suite", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument(
        "pattern", nargs="?", default="", help="only tests whose names match (a regular expression)"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each test")
    parser.add_argument("--passed", metavar="FILE", help="write the names of the tests that passed")
    given = parser.parse_args(arguments)
    outcomes = []
    try:
        for outcome in official(given.pattern):
            outcomes.append(outcome)
            if given.verbose:
                why = (
                    f": {outcome.reason if outcome.status == 'refused' else _last(outcome.reason)}"
                    if outcome.reason
                    else ""
                )
                print(f"{outcome.status:8}{outcome.name} {outcome.seconds:.2f} s{why}", flush=True)
    except GraphError as error:
        print(error, file=sys.stderr)
        return 2
    print(report(outcomes))
    if given.passed:
        with open(given.passed, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(
                f"{o.name}\n" for o in sorted(outcomes, key=lambda o: o.name) if o.status == "passed"
            )
    return int(any(o.status == "failed" for o in outcomes))


if __name__ == "__main__":
    sys.exit(main())
