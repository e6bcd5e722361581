"""A user's op whose rules raise anything, or give something else than they should, gets one sentence."""

import re
from dataclasses import fields

import pytest

from graphattn import Graph, GraphError, diagnose, run
from graphattn.core.axes import Spec
from graphattn.core.cells import Cell
from graphattn.core.in_torch import line
from graphattn.core.op import FIELDS, OPS, PROMISED, Kernel, Op
from graphattn.dumps.c_source import c_source
from graphattn.dumps.python_source import python_source
from graphattn.dumps.rows import node_rows
from graphattn.dumps.workbook import workbook
from graphattn.insight.compare import compare
from graphattn.passes.cost import cost
from graphattn.passes.gradient import gradient


def same(x: Spec) -> Spec:
    return x


SOUND = {
    "name": "own", "title": "own", "glyph": "o", "family": "function", "formula": "y = x",
    "level": "primitive",
    "shape": same, "kernel": lambda numbers, x: Kernel(lambda row: row, 1),
    "explain": lambda index, x: Cell(0, index),
    "cost": lambda x: 0, "masked": lambda run, masks, values, x: masks[0], "warn": lambda values, y, x: [],
    "note": lambda x: "", "torch": lambda x: "{x}", "gradient": lambda g, dy, y, x: (dy,),
}  # fmt: skip


def used(op):
    """Everything that asks an op's rules."""
    g = Graph("g")
    x = g.mask(g.input("x", (1, 2)), g.constant([[True, False]]), name="masked")
    g.output(out=g.apply(op, x, name="y"))
    trace = run(g, {"x": [[1.0, 2.0]]})
    str(trace), list(trace.steps)
    cost(g)
    [row.note for row in node_rows(g)]
    str(trace.why("y", 0, 0))
    line(g, "y")
    run(gradient(g, of="y"), {"x": [[1.0, 2.0]], "d_y": [[1.0, 1.0]]})


def test_the_sound_op_is_fine():
    used(Op(**SOUND))


class Odd(Exception):
    """What no library raises."""


ERRORS = (TypeError("no\nway"), Odd(), AssertionError("x"), OSError(2, "gone"), KeyError("k"))


def raising(error):
    def rule(*_, **__):
        raise error

    return rule


def raising_shape(error):
    def shape(x: Spec) -> Spec:
        raise error

    return shape


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("rule", [name for name, value in SOUND.items() if callable(value)])
def test_a_rule_that_raises_anything(rule, error):
    with pytest.raises(GraphError, match=rf"^own 'y': its {rule} rule raised {type(error).__name__}") as caught:
        used(Op(**{**SOUND, rule: raising_shape(error) if rule == "shape" else raising(error)}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("error", (TypeError("no"), Odd(), AttributeError("a"), RuntimeError()))
def test_a_kernel_whose_function_raises_anything(error):
    broken = Op(**{**SOUND, "kernel": lambda numbers, x: Kernel(raising(error), 1)})
    with pytest.raises(GraphError, match=rf"^own 'y': its kernel raised {type(error).__name__}"):
        used(broken)


@pytest.mark.parametrize("rule", [rule for rule in PROMISED if rule not in ("linear", "summed")])
def test_a_rule_that_gives_something_else(rule):
    with pytest.raises(
        GraphError, match=rf"^own 'y': its {rule} rule gives .*; expected {PROMISED[rule][1][:9]}"
    ):
        used(Op(**{**SOUND, rule: lambda *_, **__: 3.5}))


NONSENSE = (3.5, object(), (3,), ("zz",), {"a": 1}, {"": "{bad}"}, "{bad}", "{0}", [[1]])


@pytest.mark.parametrize("field", FIELDS)
def test_nonsense_in_a_field_is_refused_where_the_op_is_made(field):
    test, expected = FIELDS[field]
    refused = 0
    for value in NONSENSE:
        if not test(value):
            with pytest.raises(GraphError, match=f"^op 'own': its {field} is .*; expected ") as caught:
                Op(**{**SOUND, field: value})
            assert str(caught.value).endswith(expected)
            refused += 1
    assert refused >= 4 and all(test(getattr(op, field)) for op in OPS.values())
    assert set(FIELDS) | {"name", "title", "glyph", "formula", "level"} == {f.name for f in fields(Op)}


@pytest.mark.parametrize("linear", [(("zz",),), lambda x: (("zz",),), lambda x: 3.5, lambda: ()])
def test_what_an_op_is_linear_in_are_its_operands(linear):
    with pytest.raises(GraphError, match=r"own'?: its linear (rule|names)"):
        Op(**{**SOUND, "linear": linear}).linear_groups([Spec((1, 2))], {})


def as_it_is(row):
    return row


PLAIN = {**SOUND, "level": "op", "kernel": lambda numbers, x: Kernel(as_it_is, 1)}
"""With a kernel whose source can stand alone."""


def elsewhere(op, folder):
    """What else asks an op's rules: each way, by itself."""
    g = Graph("g")
    g.output(out=g.apply(op, g.input("x", (1, 2)), name="y"))
    feeds = {"x": [[1.0, 2.0]]}
    return {
        "kernel": [lambda: python_source(g)],
        "note": [lambda: python_source(g), lambda: str(diagnose(g, feeds, {"out": [[3.0, 4.0]]}))],
        "cost": [lambda: str(compare(g, {**feeds, "out": [[3.0, 4.0]]}))],
        "explain": [
            lambda: c_source(g, feeds), lambda: run(g, feeds).page(folder / "page.html"),
            lambda: workbook(run(g, feeds)),
        ],
    }  # fmt: skip


@pytest.mark.parametrize("rule", ["kernel", "note", "cost", "explain"])
def test_whoever_asks_a_rule_gets_one_sentence(rule, tmp_path):
    for broken in (raising(Odd("a\nb")), lambda *_, **__: 3.5):
        for ask in elsewhere(Op(**{**PLAIN, rule: broken}), tmp_path)[rule]:
            try:
                ask()
            except GraphError as error:
                told = rf"own '\w+': its {rule} rule (raised|gives)"
                assert "\n" not in str(error) and re.match(told, str(error))
            else:
                assert rule != "kernel"  # who can do without asks no more


def test_a_mask_of_another_shape():
    wrong = Op(**{**SOUND, "masked": lambda run, masks, values, x: [True]})
    with pytest.raises(
        GraphError, match=r"^own 'y': its masked rule gives a mask of another shape; expected 1 × 2"
    ):
        used(wrong)


def test_running_out_of_memory_is_not_the_ops_fault():
    with pytest.raises(MemoryError):
        used(Op(**{**SOUND, "kernel": lambda numbers, x: Kernel(raising(MemoryError()), 1)}))
