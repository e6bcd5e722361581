"""The loop in docs/architecture.md is the interpreter's: it gives the same numbers."""

from documents import ROOT, blocks

from graphattn.builtin import specimen
from graphattn.core.interpreter import plan_of, read_feeds
from graphattn.core.numbers import FLOAT


def test_the_loop_computes_what_a_run_does():
    (loop,) = [
        block.text
        for block in blocks((ROOT / "docs" / "architecture.md").read_text(encoding="utf-8"))
        if block.kind == "python"
    ]
    names = {}
    exec(loop, names)
    block = specimen("block", n=3, d=4, causal=True)
    plan = plan_of(block.graph.at("op"), FLOAT)
    values = plan.values()
    read_feeds(plan, block.feeds, values, set(), False)
    program = [
        (
            step.function,
            step.operands,
            step.start if len(step.places) == 1 else slice(step.start, step.places.stop),
        )
        for step in plan.steps
        if step.runs
    ]
    names["evaluate"](program, values)
    trace = block.run()
    assert [values[plan.places[trace.graph.resolve(name)]] for name in trace.names] == [
        trace[name] for name in trace.names
    ]
