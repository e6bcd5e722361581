"""Test the tester: an op with a fault planted in it must be caught by the law that guards against it.

Each fault is a copy of a registered op with one rule replaced. The copy is never registered.
"""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import op_laws
import pytest

import graphattn.ops  # noqa: F401  (fills the registry)
from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.cells import Cell, Literal, add, multiply
from graphattn.core.numbers import FLOAT
from graphattn.core.op import OPS, Kernel, Reject, Sample

sound = SimpleNamespace(**OPS)
FAULTS = []


def caught_by(law):
    """Enter a function that makes a faulty op, and the law that must see the fault."""

    def enter(fault):
        FAULTS.append((law, fault))
        return fault

    return enter


def found(law, op):
    """What the law says of an op; one so broken that it cannot be evaluated is caught as well."""
    try:
        return list(law(op))
    except (ValueError, TypeError, IndexError) as error:
        return [str(error)]


# ---------------------------------------------------------------- kernels


def spoiled(op, spoil, only_float=False):
    """The op with the result of its kernel spoiled."""

    def kernel(numbers, *specs, **attributes):
        right = op.kernel(numbers, *specs, **attributes)
        if only_float and numbers is not FLOAT:
            return right

        def wrong(*blocks):
            return spoil(right.function(*blocks, **right.bound))

        return Kernel(wrong, *right.ranks, outputs=right.outputs)

    return replace(op, kernel=kernel)


@caught_by(op_laws.expansion)
def a_kernel_off_by_one_bit():
    return spoiled(sound.softmax, lambda row: [v if v == 0 or v != v else math.nextafter(v, 2) for v in row])


@caught_by(op_laws.expansion)
def a_kernel_that_reverses_the_row():
    return spoiled(sound.layernorm, lambda row: row[::-1])


@caught_by(op_laws.expansion)
def a_kernel_that_turns_minus_zero_into_zero():
    return spoiled(sound.scale, lambda row: [v + 0.0 for v in row] if isinstance(row, list) else row)


@caught_by(op_laws.rounding)
def a_float_kernel_off_by_a_millionth_of_a_millionth():
    return spoiled(sound.add, lambda v: v * (1 + 1e-12), only_float=True)


@caught_by(op_laws.rounding)
def a_float_kernel_that_saturates():
    return spoiled(sound.exp, lambda v: min(v, 5.0), only_float=True)


@caught_by(op_laws.explanation)
def a_kernel_that_adds_a_little():
    return spoiled(sound.add, lambda v: v + 1e-9)


@caught_by(op_laws.explanation)
def a_kernel_that_clips():
    return spoiled(sound.relu, lambda v: v if v < 1.5 else v * 0 + 1.5)


@caught_by(op_laws.shapes)
def a_kernel_that_drops_a_cell():
    return spoiled(sound.softmax, lambda row: row[:-1])


@caught_by(op_laws.shapes)
def a_kernel_that_gives_integers():
    return spoiled(sound.relu, lambda v: int(v) if v == v else v)


def halving(row):
    row[0] = row[0] / 2.0
    return [v / 2.0 for v in row]


@caught_by(op_laws.purity)
def a_kernel_that_modifies_its_operand():
    return replace(
        sound.scale,
        kernel=lambda numbers, x, **_: Kernel(halving, 1),
        expand=None,
        samples=(Sample(([1.0, 2.0],), {"sqrt": 4}),),
    )


@caught_by(op_laws.purity)
def a_kernel_that_remembers():
    calls = itertools.count()
    return spoiled(sound.relu, lambda v: v + next(calls))


# ---------------------------------------------------------------- shape rules


@caught_by(op_laws.shapes)
def a_shape_rule_that_forgets_to_transpose():
    return replace(sound.transpose, shape=lambda x, *, perm=None: x)


@caught_by(op_laws.shapes)
def a_shape_rule_of_another_kind():
    def shape(x: Spec) -> Spec:
        return Spec(x.shape, x.axes, "bool")

    return replace(sound.relu, shape=shape)


@caught_by(op_laws.shapes)
def a_shape_rule_that_loses_an_axis():
    def shape(x: Spec) -> Spec:
        return Spec(x.shape[1:], x.axes[1:])

    return replace(sound.relu, shape=shape)


@caught_by(op_laws.expansion)
def a_shape_rule_that_loses_the_names_of_axes():
    def shape(x: Spec, *, axis: int = -1, empty: str = "zero") -> Spec:
        return Spec(x.shape)

    return replace(sound.softmax, shape=shape)


# ---------------------------------------------------------------- expansions


@caught_by(op_laws.expansion)
def an_expansion_without_the_maximum():
    def expand(g, x, *, axis, empty):
        raised = g.exp(x)
        return g.divide(raised, g.reduce_sum(raised, axis=axis))

    return replace(sound.softmax, expand=expand)


@caught_by(op_laws.expansion)
def an_expansion_with_the_bias_on_the_wrong_side():
    def expand(g, x, w, b):
        return sound.linear.expand(g, x if b is None else g.add(x, g.constant(0.5)), w, b)

    return replace(sound.linear, expand=expand)


@caught_by(op_laws.expansion)
def an_expansion_that_turns_minus_zero_into_zero():
    def expand(g, x, **attributes):
        return g.add(sound.scale.expand(g, x, **attributes), g.constant(0.0))

    return replace(sound.scale, expand=expand)


@caught_by(op_laws.sums_of_nothing)
def a_kernel_that_gives_1_for_a_sum_of_no_terms():
    return spoiled(sound.linear, lambda row: [v or 1.0 for v in row])


@caught_by(op_laws.axis_names)
def a_shape_rule_that_keeps_all_names_or_none():
    def shape(x: Spec, *, axis: int = -1, empty: str = "zero") -> Spec:
        return Spec(x.shape, x.axes if None not in x.axes else ())

    return replace(sound.softmax, shape=shape)


@caught_by(op_laws.zooming)
def an_expansion_that_is_another_one_each_time():
    turns = itertools.count()
    return replace(sound.scale, expand=lambda g, x, **_: g.multiply(x, g.constant(next(turns) / 2)))


# ---------------------------------------------------------------- explanations


@caught_by(op_laws.explanation)
def an_explanation_of_another_port():
    def explain(index, x, *, parts, axis, port=0):
        return sound.split.explain(index, x, parts=parts, axis=axis, port=0)

    return replace(sound.split, explain=explain)


@caught_by(op_laws.explanation)
def an_explanation_of_another_cell():
    return replace(sound.transpose, explain=lambda index, x, *, perm: Cell(0, (0,) * len(index)))


@caught_by(op_laws.explanation)
def an_explanation_off_by_a_little():
    return replace(sound.add, explain=lambda index, a, b: add(sound.add.explain(index, a, b), Literal("1e-13")))


@caught_by(op_laws.explanation)
def an_explanation_with_a_factor_too_many():
    def explain(index, a, b, *, absorb_zeros):
        return multiply(sound.matmul.explain(index, a, b, absorb_zeros=absorb_zeros), Literal("1.0000001"))

    return replace(sound.matmul, explain=explain)


# ---------------------------------------------------------------- what an op is linear in


@caught_by(op_laws.linearity)
def a_function_that_calls_itself_linear():
    return replace(sound.silu, linear=(("x",),))


@caught_by(op_laws.linearity)
def a_product_that_calls_itself_jointly_linear():
    return replace(sound.matmul, linear=(("a", "b"),))


@caught_by(op_laws.linearity)
def an_affine_map_that_forgets_its_bias():
    return replace(sound.linear, linear=(("x",), ("w",)))


# ---------------------------------------------------------------- mask rules


@caught_by(op_laws.masks)
def masks_that_are_dropped():
    return replace(sound.scale, masked=None)


@caught_by(op_laws.masks)
def masks_that_do_not_move_with_the_numbers():
    def masked(run, masks, values, x, *, perm):
        return nested.full(sound.transpose.shape(x, perm=perm).shape, False)

    return replace(sound.transpose, masked=masked)


@caught_by(op_laws.masks)
def masks_of_the_first_operand_only():
    def masked(run, masks, values, a, b):
        return sound.add.masked(run, [masks[0], None], values, a, b)

    return replace(sound.add, masked=masked)


@caught_by(op_laws.masks)
def masks_of_the_branch_that_was_not_taken():
    def masked(run, masks, values, condition, a, b):
        return sound.where.masked(run, [None, masks[2], masks[1]], values, condition, b, a)

    one_shape = Sample(([True, False], [1.0, 2.0], [3.0, 4.0]))
    return replace(sound.where, masked=masked, samples=(one_shape,) * 8)


# ---------------------------------------------------------------- refusals


@caught_by(op_laws.rejections)
def a_refusal_in_other_words():
    return replace(sound.add, rejects=(Reject((Spec((2,)), Spec((3,))), {}, "sizes 3 and 2"),))


@caught_by(op_laws.rejections)
def a_call_that_is_not_refused():
    return replace(sound.add, rejects=(Reject((Spec((2,)), Spec((2,))), {}, "sizes 2 and 2"),))


@caught_by(op_laws.rejections)
def a_refusal_by_an_exception_of_python():
    def shape(a: Spec, b: Spec) -> Spec:
        return {}[a.shape]

    return replace(sound.add, shape=shape)


# ---------------------------------------------------------------- the record and the small rules


@caught_by(op_laws.record)
def no_formula():
    return replace(sound.softmax, formula="")


@caught_by(op_laws.record)
def a_level_that_does_not_exist():
    return replace(sound.softmax, level="atom")


@caught_by(op_laws.record)
def neither_kernel_nor_expansion():
    return replace(sound.relu, kernel=None)


@caught_by(op_laws.record)
def a_composite_without_an_expansion():
    return replace(sound.softmax, expand=None)


@caught_by(op_laws.record)
def no_cost():
    return replace(sound.relu, cost=None)


@caught_by(op_laws.record)
def no_explanation():
    return replace(sound.relu, explain=None)


@caught_by(op_laws.record)
def no_samples():
    return replace(sound.relu, samples=())


@caught_by(op_laws.record)
def no_refusals():
    return replace(sound.relu, rejects=())


@caught_by(op_laws.record)
def a_role_for_an_operand_that_does_not_exist():
    return replace(sound.attention, roles={"query": "Q"})


@caught_by(op_laws.signatures)
def a_rule_that_does_not_take_an_attribute():
    return replace(sound.softmax, note=lambda x, *, axis: "")


@caught_by(op_laws.rest)
def a_cost_below_zero():
    return replace(sound.relu, cost=lambda x: -1)


@caught_by(op_laws.rest)
def a_cost_that_is_not_whole():
    return replace(sound.relu, cost=lambda x: 0.5 * x.size)


@caught_by(op_laws.rest)
def a_note_that_is_a_number():
    return replace(sound.softmax, note=lambda x, *, axis, empty: axis)


@caught_by(op_laws.rest)
def a_range_that_is_too_narrow():
    return replace(sound.softmax, range=(0.0, 0.5))


@caught_by(op_laws.rest)
def a_warning_that_is_empty():
    return replace(sound.relu, warn=lambda *_, **__: [""])


@caught_by(op_laws.rest)
def a_symbol_with_a_hole():
    return replace(sound.relu, symbol="{{name}}")


# ---------------------------------------------------------------- the faults themselves


# ---------------------------------------------------------------- options that are handed on


@caught_by(op_laws.handing_on)
def a_layer_that_keeps_the_window_to_itself():
    def expand(g, x, mask, gamma, beta, *, eps, window, **attention):
        norm = g.layernorm(x, gamma, beta, eps=eps)
        return g.add(x, g.multi_head(norm, norm, norm, mask, **attention))

    return replace(sound.block, expand=expand)


@caught_by(op_laws.handing_on)
def a_layer_that_drops_an_operand_it_was_handed():
    def expand(g, x, mask, gamma, beta, *, eps, b_o, **attention):
        norm = g.layernorm(x, gamma, beta, eps=eps)
        return g.add(x, g.multi_head(norm, norm, norm, mask, **attention))

    return replace(sound.block, expand=expand)


@caught_by(op_laws.handing_on)
def a_layer_that_sets_what_does_not_exist():
    return replace(sound.block, sets=("q", "k", "v", "widnow"))


@pytest.mark.parametrize("law, fault", FAULTS, ids=[fault.__name__ for _, fault in FAULTS])
def test_the_law_sees_the_fault(law, fault):
    assert found(law, fault()), f"the law of {law.__name__} does not see {fault.__name__}"


@pytest.mark.parametrize("law", op_laws.LAWS, ids=lambda law: law.__name__)
def test_every_law_sees_at_least_one_fault(law):
    assert any(known is law for known, _ in FAULTS)


@pytest.mark.parametrize("name", ["softmax", "add", "scale", "transpose", "split"])
def test_a_copy_without_a_fault_obeys_every_law(name):
    """What is caught above is the fault, not the copying."""
    copy = replace(OPS[name])
    assert copy is not OPS[name]
    assert [problem for law in op_laws.LAWS for problem in law(copy)] == []


def test_a_difference_is_told_by_its_place():
    assert op_laws.difference([[1.0, 2.0], [3.0, 4.0]], [[1.0, 2.0], [3.0, 5.0]]) == "[1][1] 4.0 is not 5.0"
    assert op_laws.difference([0.0], [-0.0]) == "[0] 0.0 is not -0.0"


def test_a_sample_is_a_graph_of_one_node():
    call = op_laws.call(sound.split, Sample(([[1.0, 2.0]],), {"parts": 2}), "split")
    assert list(call.graph.nodes) == ["x0", "y"]
    assert call.names == ["y.part0", "y.part1"]
