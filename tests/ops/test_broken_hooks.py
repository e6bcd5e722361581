"""What an op declares and does not keep gets one sentence that names the op, from whoever asks.

Every hook (rules, mistakes, guises), of as few ops as have them all, by the first of their samples, is made to
raise what no library raises, and to give what no hook may give, and each dump and command that asks it of the
op is run. Who asks is found by counting calls.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from op_laws import Call, call

import graphattn.ops
from graphattn import GraphError, diagnose, run
from graphattn.core import nested
from graphattn.core.op import LEVELS, OPS, RULES, Handing, Op
from graphattn.dumps.c_source import c_source
from graphattn.dumps.dot import dot
from graphattn.dumps.forms import FORMS
from graphattn.dumps.golden import golden
from graphattn.dumps.graph_json import graph_json
from graphattn.dumps.markdown import graph_markdown
from graphattn.dumps.notebook import graph_html, trace_html
from graphattn.dumps.page import page
from graphattn.dumps.python_source import python_source
from graphattn.insight.compare import compare
from graphattn.passes.cost import cost
from graphattn.passes.gradient import gradient
from graphattn.passes.verify import verify

assert graphattn.ops  # registers them

DECLARED = ("mistakes", "guises")
HOOKS = (*(rule for rule in RULES if rule != "shape"), *DECLARED)


class Odd(Exception):
    """What no library raises."""


def raising(*_: Any, **__: Any) -> Any:
    raise Odd("no\nway")


def nonsense(*_: Any, **__: Any) -> Any:
    return {"what": 3.5}


def result_of(c: Call) -> str:
    return c.outputs[0].name


def off_by_one(c: Call) -> dict[str, Any]:
    """What was fed, and a result that is not the graph's."""
    graph = c.graph
    if not graph.outputs:
        graph.output(out=c.outputs[0])
    value = run(graph, c.feeds, allow_nonfinite=True)[result_of(c)]
    return {**c.feeds, "out": nested.lift(lambda x: x + 1, [0], [c.outputs[0].shape])(value)}


def why(c: Call) -> str:
    index = next(nested.indices(c.outputs[0].shape), None)
    trace = run(c.graph, c.feeds, allow_nonfinite=True)
    return "" if index is None else str(trace.why(result_of(c), *index))


def backward(c: Call) -> Any:
    return run(gradient(c.graph, of=result_of(c)), {**c.feeds}, allow_nonfinite=True)


def to_onnx(c: Call, folder: Path) -> None:
    save = pytest.importorskip("graphattn.onnx").save
    save(c.graph, folder / "own.onnx")


def written(form: Any, c: Call, folder: Path) -> Any:
    trace = run(c.graph, c.feeds, allow_nonfinite=True)
    return form.write(folder / "csv", trace) if form.folder else form.write(trace)


Ask = Callable[[Call, Path], Any]
ASK: dict[str, Ask] = {
    "run": lambda c, folder: list(map(repr, run(c.graph, c.feeds, allow_nonfinite=True).steps)),
    "run.primitive": lambda c, folder: str(run(c.graph, c.feeds, allow_nonfinite=True, level="primitive")),
    "warnings": lambda c, folder: run(c.graph, c.feeds, allow_nonfinite=True).warnings,
    **{f"form {form.name}": functools.partial(written, form) for form in FORMS},
    "graph": lambda c, folder: [write(c.graph) for write in (str, graph_json, graph_markdown, graph_html)],
    "notebook": lambda c, folder: trace_html(run(c.graph, c.feeds, allow_nonfinite=True)),
    "picture": lambda c, folder: dot(c.graph, trace=run(c.graph, c.feeds, allow_nonfinite=True)),
    "page": lambda c, folder: page(run(c.graph, c.feeds, allow_nonfinite=True)),
    "python": lambda c, folder: python_source(c.graph),
    "C": lambda c, folder: c_source(c.graph, c.feeds),
    "golden": lambda c, folder: golden(run(c.graph, c.feeds, allow_nonfinite=True), folder / "golden"),
    "onnx": to_onnx,
    "why": lambda c, folder: why(c),
    "cost": lambda c, folder: str(cost(c.graph)),
    "verify": lambda c, folder: verify(c.graph),
    "zoom": lambda c, folder: c.graph.at("primitive"),
    "gradient": lambda c, folder: backward(c),
    "compare": lambda c, folder: str(compare(c.graph, off_by_one(c))),
    "diagnose": lambda c, folder: str(diagnose(c.graph, c.feeds, {"out": off_by_one(c)["out"]}, budget=0.05)),
}  # fmt: skip


def plain(rule: Any) -> Any:
    return rule.rule if isinstance(rule, Handing) else rule


def changed(op: Op, hook: str, into: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Op:
    """The op with another function for a hook."""
    found = getattr(op, hook)
    if hook in DECLARED:
        return replace(op, **{hook: tuple(replace(d, build=into(plain(d.build))) for d in found)})
    return replace(op, **{hook: into(plain(found))})


def counted(asked: set[str], hook: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def into(rule: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(rule)
        def counting(*args: Any, **kwargs: Any) -> Any:
            asked.add(hook)
            return rule(*args, **kwargs)

        return counting

    return into


def broken(way: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return lambda rule: functools.wraps(rule)(lambda *args, **kwargs: way(*args, **kwargs))


def hooks_of(op: Op) -> list[str]:
    """The hooks that an op has."""
    return [hook for hook in HOOKS if callable(getattr(op, hook)) or (hook in DECLARED and getattr(op, hook))]


def few() -> list[tuple[Op, set[str]]]:
    """Ops that have all hooks between them, and the hooks that each is there for: again and again the one with
    the most that are left, small ones first."""
    left, chosen = set(HOOKS), []
    while left:
        having = [op for op in OPS.values() if op.samples and left.intersection(hooks_of(op))]
        assert having, f"no op has {left}"
        best = max(having, key=lambda op: (LEVELS.index(op.level) > 1, len(left.intersection(hooks_of(op)))))
        chosen.append((best, left.intersection(hooks_of(best))))
        left -= chosen[-1][1]
    return chosen


def asked_by(op: Op, monkeypatch: Any, folder: Path) -> dict[str, set[str]]:
    """For each way of asking, the hooks of the op that it asks."""
    asked: set[str] = set()
    for hook in hooks_of(op):
        op = changed(op, hook, counted(asked, hook))
    monkeypatch.setitem(OPS, op.name, op)
    found: dict[str, set[str]] = {}
    for name, ask in ASK.items():
        asked.clear()
        with contextlib.suppress(GraphError):
            ask(call(op, op.samples[0], op.name), folder / name)
        found[name] = set(asked)
    return found


def complaint(op: Op, name: str, folder: Path) -> str:
    """What is wrong with how an op that breaks its word is told of; '' where it is not or as it should be."""
    try:
        ASK[name](call(op, op.samples[0], op.name), folder)
    except GraphError as error:
        told = str(error)
        return "" if "\n" not in told and op.name in told else f"GraphError: {told}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(("op", "hooks"), few())
def test_a_broken_hook_gets_one_sentence_from_whoever_asks(op, hooks, monkeypatch, tmp_path):
    found, asked = [], asked_by(op, monkeypatch, tmp_path)
    for name, those in asked.items():
        for hook in sorted(hooks & those):
            for way in (raising, nonsense):
                other = changed(op, hook, broken(way))
                monkeypatch.setitem(OPS, op.name, other)
                said = complaint(other, name, tmp_path / f"{name} {hook} {way.__name__}")
                if said:
                    found.append(f"{name}, {hook} {way.__name__}: {said}")
    assert found == []
    assert hooks <= set().union(*asked.values())
