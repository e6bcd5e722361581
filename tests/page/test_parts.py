"""The page's pure parts, in Node, on whole runs: the same words, digits, source cells and values as Python."""

from __future__ import annotations

import functools
import math
import random
from typing import Any

import pytest
from conftest import RUNS, run_of

from graphattn.core import nested
from graphattn.core.cells import sources
from graphattn.core.graph import Ref
from graphattn.core.interpreter import padded
from graphattn.core.trace import Trace
from graphattn.dumps.page.contents import contents
from graphattn.dumps.page.pack import packed
from graphattn.insight.why.formula import joined

pytestmark = pytest.mark.slow
EXPLAINED_CELLS = 250


@functools.cache
def runs(name: str) -> Trace:
    return run_of(name)


def flat(shape: Any, index: Any) -> int:
    return functools.reduce(lambda at, pair: at * pair[0] + pair[1], zip(shape, index, strict=True), 0)


def some_cells(trace: Trace, count: int) -> list[tuple[str, tuple[int, ...]]]:
    """So many cells, and every hidden kind of tensor among them."""
    every = [(name, index) for name in trace.names for index in nested.indices(trace.spec(name).shape)]
    return random.Random(0).sample(every, min(count, len(every)))


@functools.cache
def asked(name: str, node: Any) -> Any:
    trace = runs(name)
    cells = [
        [tensor, flat(trace.spec(tensor).shape, index)] for tensor, index in some_cells(trace, EXPLAINED_CELLS)
    ]
    return node({"job": "trace", "page": packed(contents(trace)), "cells": cells})


@pytest.mark.parametrize("name", RUNS)
def test_cells_are_explained_in_the_words_of_why(name, node):
    trace = runs(name)
    cells = some_cells(trace, EXPLAINED_CELLS)
    for (tensor, index), told in zip(cells, asked(name, node)["whys"], strict=True):
        lines = trace.why(tensor, *index).lines()
        first = lines[0]
        assert told["segments"] == list(map(joined, first.segments)), (tensor, index)
        assert told["note"] == first.note, (tensor, index)
        assert told["remarks"] == list(first.remarks), (tensor, index)
        parts = [[line.head, list(map(joined, line.segments))] for line in lines if line.part]
        assert told["parts"] == parts, (tensor, index)


@pytest.mark.parametrize("name", RUNS)
def test_every_number_is_in_the_page(name, node):
    trace = runs(name)
    values = {tensor["name"]: tensor["values"] for tensor in asked(name, node)["values"]}
    document = contents(trace).document
    names = {**document["aliases"], **{t["name"]: i for i, t in enumerate(document["tensors"])}}
    for tensor in trace.names:
        shown = values[document["tensors"][names[tensor]]["name"]]
        assert list(map(float, shown)) == pytest.approx(
            list(map(float, nested.flat(trace[tensor]))), abs=0, nan_ok=True
        )


@pytest.mark.parametrize("name", RUNS)
def test_the_page_computes_every_number_again(name, node):
    """Bit for bit, or behind an exp or log within 2 units in the last place."""
    found = asked(name, node)
    recorded = {tensor["name"]: tensor["values"] for tensor in found["values"]}
    same = off = 0
    for tensor in found["again"]:
        for mine, theirs in zip(
            map(float, tensor["values"]), map(float, recorded[tensor["name"]]), strict=True
        ):
            if repr(mine) == repr(theirs):
                same += 1
            else:
                off += 1
                assert abs(mine - theirs) <= 2 * math.ulp(theirs), tensor["name"]
    assert off <= same / 50


@pytest.mark.parametrize("name", RUNS)
def test_source_cells_are_those_of_python(name, node):
    trace = runs(name)
    fine = trace.graph.at("primitive")
    written = contents(trace)
    told = node({"job": "sources", "page": packed(written), "most": 1_000_000})
    found = {t["name"]: t["makers"] for t in told}
    document = written.document
    places = {fine.resolve(t["name"]): i for i, t in enumerate(document["tensors"])}
    of_maker = {(m["name"], name): m["cells"] for name, makers in found.items() for m in makers}
    checked = 0
    for what in (*fine.nodes.values(), *(s for s in fine.scopes.values() if s.op is not None)):
        op, operands = what.op, what.operands
        if op.explain is None or not any(operands):
            continue
        refs = what.outputs if hasattr(what, "parent") else None
        for port, name_of_port in enumerate(what.ports):
            ref = refs[port] if refs else Ref(what.name, port)
            tensor = document["tensors"][places[ref]]
            cells = of_maker.get((what.name, tensor["name"]))
            if cells is None:
                continue
            specs = padded(op, fine.operand_specs(operands))
            more = {"port": port} if len(what.ports) > 1 else {}
            for cell, shown in zip(nested.indices(tensor["shape"]), cells, strict=True):
                tree = op.explain(cell, *specs, **what.attributes, **more)
                every = list(sources(tree))
                plain = [c for c in every if all(isinstance(i, int) for i in c.index)]
                theirs = {(c.slot, flat(specs[c.slot].shape, c.index)) for c in plain}
                mine = {tuple(source) for source in shown}
                assert theirs <= mine and (theirs == mine or len(plain) < len(every)), (
                    what.name, cell, name_of_port,
                )  # fmt: skip
                checked += 1
    assert checked > 50


def test_numbers_are_written_as_python_writes_them(node):
    from graphattn.core.numbers import FLOAT
    from graphattn.insight.why.formula import number_text

    dice = random.Random(5)
    values = [
        0.0,
        -0.0,
        1.0,
        0.0078125,
        -0.0234375,
        1e-3,
        9.999e-4,
        1e9,
        123456789.5,
        1e16,
        1e22,
        5e-324,
        1e308,
    ]
    values += [math.inf, -math.inf, math.nan, 0.5, 1 / 3, 2.0**-20, 1e-5, 0.0001, 12345678.9, 0.1 + 0.2]
    values += [dice.gauss(0, 1) * 10 ** dice.randint(-12, 12) for _ in range(3000)]
    values += [dice.randrange(1, 2**12, 2) / 2**7 for _ in range(200)]
    for digits in (6, 4):
        found = node({"job": "numbers", "values": list(map(repr, values)), "digits": digits})
        for value, (exact, short) in zip(values, found, strict=True):
            assert exact == repr(value)
            assert short == number_text(value, FLOAT, digits)
