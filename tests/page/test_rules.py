"""Rules: they fit every op's samples at every cell, and what they give is what the kernels give."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import pytest
from op_laws import calls, disturbed

import graphattn.ops
from graphattn import run
from graphattn.core import nested
from graphattn.core.cells import Cell, evaluate, sources
from graphattn.core.op import OPS
from graphattn.dumps.page.record import product_of_rows
from graphattn.dumps.page.rules import Piece, Reading, fit, read, rule_json, rule_of, texts_of

EXPLAINED = sorted(name for name, op in OPS.items() if op.explain is not None and op.samples)
IRRATIONAL = {"exp", "log", "tanh", "erf", "sin", "cos"}


def outputs(call: Any) -> list[tuple[int, Any, dict[str, Any]]]:
    """Port, spec and attributes (with the port, where there are several) of each result of a call."""
    several = len(call.node.ports) > 1
    return [
        (port, spec, {**call.node.attributes, **({"port": port} if several else {})})
        for port, spec in enumerate(call.node.outputs)
    ]


def piece_of(pieces: list[Piece], index: tuple[int, ...]) -> Piece:
    found = [p for p in pieces if all(lo <= i < hi for lo, i, hi in zip(p.low, index, p.high, strict=True))]
    assert len(found) == 1, f"{len(found)} pieces hold {index}"
    return found[0]


@pytest.mark.parametrize("name", EXPLAINED)
def test_rules_fit_at_every_cell(name):
    op = OPS[name]
    for call in calls(op):
        for _, spec, attributes in outputs(call):
            if call.node.operands:
                pieces = rule_of(op.explain, spec.shape, call.specs, attributes)
                for index in nested.indices(spec.shape):
                    found = read(op.explain(index, *call.specs, **attributes), call.specs)
                    piece = piece_of(pieces, index)
                    assert (piece.form, piece.at(index)) == (found.form, found.places), call.what
            else:
                assert texts_of(op.explain, spec.shape, attributes) or not spec.size, call.what


def number(text: str) -> float:
    return float(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPLAINED)
def test_the_page_computes_what_python_does(name, node):
    """From the same operands: bit for bit, or behind an irrational function within 2 units in the last
    place of the largest number that is met."""
    op = OPS[name]
    asked, expected = [], []
    for call in [*calls(op), *disturbed(op, 2)]:
        if not call.node.operands or any(v is not None and _big(v) for v in call.values):
            continue
        trace = run(call.graph, call.feeds, level="primitive" if op.expand and not op.kernel else None,
                    allow_nonfinite=True)  # fmt: skip
        operands = [None if v is None else [repr(float(c)) for c in nested.flat(v)] for v in call.values]
        for (_, spec, attributes), tensor in zip(outputs(call), call.names, strict=True):
            rule = rule_json(rule_of(op.explain, spec.shape, call.specs, attributes))
            asked.append({"rule": rule, "shape": spec.shape, "operands": operands, "dot": product_of_rows()})
            kept = [
                evaluate(op.explain(i, *call.specs, **attributes), lambda c, call=call: _at(call, c))
                for i in nested.indices(spec.shape)
            ]
            expected.append((call.what, trace[tensor], kept))
    found = node({"job": "rules", "calls": asked})
    for (what, value, explained), again in zip(expected, found, strict=True):
        for mine, theirs, third in zip(map(number, again), nested.flat(value), explained, strict=True):
            close = max(abs(float(third)), 1e-300) if math.isfinite(float(third)) else 1.0
            same = repr(mine) == repr(float(theirs)) or repr(mine) == repr(float(third))
            assert same or abs(mine - float(theirs)) <= 4e-15 * max(1.0, close), (what, mine, theirs, third)


def _big(value: Any) -> bool:
    return any(type(c) is int and abs(c) > 2**53 for c in nested.flat(value))


def _at(call: Any, cell: Cell) -> Any:
    value = call.values[cell.slot]
    sizes = nested.shape_of(value)
    index = [
        int(_at(call, i)) % n if isinstance(i, Cell) else i for i, n in zip(cell.index, sizes, strict=True)
    ]
    found = nested.at(value, index)
    return float(found) if type(found) is int else found


def test_a_sum_is_one_term_and_how_often():
    spec = graphattn.core.axes.Spec((2, 3))
    (piece,) = rule_of(OPS["reduce_sum"].explain, (2, 1), (spec,), {"axis": -1})
    assert rule_json([piece]) == [[[0, 0], [2, 1], [], ["r", "total", "", 3, ["c", 0, 0, [3, 0], [1]]]]]


def test_a_box_is_cut_where_places_stop_moving_evenly():
    def probe(index):
        (i,) = index
        return Reading("a" if i < 7 else "b", (i * 2 if i < 3 else 100 - i,))

    assert [(p.low, p.high, p.form) for p in fit((10,), probe)] == [
        ((0,), (3,), "a"), ((3,), (7,), "a"), ((7,), (10,), "b"),
    ]  # fmt: skip


def test_a_wrong_rule_would_be_seen():
    """A cell in the middle of an axis that breaks the pattern is found while the whole is looked at."""
    pieces = fit((50,), lambda index: Reading("x", (index[0] + (index[0] == 31),)))
    assert [p.at((i,))[0] for i in range(50) for p in pieces if p.low[0] <= i < p.high[0]] == [
        i + (i == 31) for i in range(50)
    ]


def test_large_tensors_are_probed_at_a_sample():
    asked = []

    def probe(index):
        asked.append(index)
        return Reading("x", (index[0] * 512 + index[1],), 600)

    assert len(fit((512, 512), probe)) == 1
    assert len(asked) < 300


def test_sources_are_read_in_the_order_of_the_formula():
    spec = graphattn.core.axes.Spec((2, 2))
    tree = OPS["softmax"].explain((1, 0), spec, axis=-1, empty="zero")
    assert len(list(sources(tree))) > 2


def test_products_are_added_as_sumprod_does(node):
    """Sums of products that cancel, rounded once: as exact fractions say, and as math.sumprod gives them."""
    dice = random.Random(3)
    product = ["f", "multiply", "", ["c", 0, 0, [], [1]], ["c", 1, 0, [], [1]]]
    asked, exact = [], []
    for _ in range(200):
        count = dice.choice([1, 2, 5, 16, 64])
        p = [dice.gauss(0, 1) * 10.0 ** dice.randint(-8, 8) for _ in range(count)]
        q = [dice.gauss(0, 1) * 10.0 ** dice.randint(-8, 8) for _ in range(count)]
        if count > 3:
            q[1] = -p[0] * q[0] / p[1]
        rule = [[[], [], [], ["r", "total", "", count, product]]]
        operands = [list(map(repr, p)), list(map(repr, q))]
        asked.append({"rule": rule, "shape": [], "operands": operands, "dot": "sumprod"})
        exact.append(float(sum(Fraction(a) * Fraction(b) for a, b in zip(p, q, strict=True))))
    found = [float(value) for (value,) in node({"job": "rules", "calls": asked})]
    assert found == exact
