"""Gradients as an engine on scalars gets them wrong, as in micrograd: what some values hand on overwrites
what is there; a value hands on before all that reads it has, or on every path anew; the first backward pass is
still there in the second; the rule of a product, of a sum, of a power is wrong; a number is overwritten that
is needed on the way back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial

from ....core.errors import GraphError
from ....core.graph import Ref
from ....passes.gradient import Tape
from ..draft import Draft
from ..intended import Intended
from ..structure.groups import Group
from ..structure.rules import gradients
from ..structure.scalars import MINUS, PLUS, POWER, TIMES, Scalars
from ..variant import Variant, one
from .scalar_engine import Backward, Engine, Local

ADD = "A value that is used more than once gets a part from each use: grad += part, not grad = part."
ORDER = "Go back in the reverse of a topological order: each value once, when all that read it have handed on."
ZERO = "Set the grad of every value to zero before each backward pass, also of those in between."
PRODUCT = "Of y = a · b, a gets b · dy and b gets a · dy."
SUM = "Of y = a + b, both get dy."
POWERS = "Of y = xⁿ, x gets n · xⁿ⁻¹ · dy."
KEPT = "A rule needs the numbers as they were: keep what is written over, or do not write it over."
WHERE = "on scalars"


def on_scalars(intended: Intended, group: Group) -> Iterator[Variant]:
    tape = intended.tape
    if tape is None or group != gradients(tape):
        return
    scalars = _scalars(intended, tape)
    if scalars is None:
        return
    for words, price, engine, mend in _engines(scalars):
        make = one(intended, partial(_made, scalars=scalars, tape=tape, engine=engine))
        yield Variant(WHERE, f"{words} in an engine on scalars", price, group, make, mend)


def _scalars(intended: Intended, tape: Tape) -> Scalars | None:
    if WHERE not in intended.options:
        try:
            intended.options[WHERE] = Scalars(intended, tape)
        except GraphError:
            intended.options[WHERE] = None
    return intended.options[WHERE]


def _engines(scalars: Scalars) -> Iterator[tuple[str, float, Engine, str]]:
    kinds = scalars.kinds
    over = "with grads overwritten, not added to,"
    yield f"{over} by every value", 1.0, Engine(overwriting=kinds), ADD
    for kind in sorted(scalars.sharing - {MINUS}) if len(scalars.sharing) > 1 else ():
        alike = [kind, MINUS] if kind == PLUS else [kind]
        yield f"{over} by every {kind} alone,", 1.05, Engine(overwriting=alike), ADD
    met = "with each value handing on as soon as it is first met on the way from the loss,"
    yield met, 1.05, Engine(order=Scalars.met), ORDER
    yield "with the topological order not reversed", 1.1, Engine(order=Scalars.unsorted), ORDER
    again = "with values visited again on every path to them"
    yield again, 1.2, Engine(order=Scalars.again), ORDER
    yield f"{again}, first children first,", 1.2, Engine(order=Scalars.recursive), ORDER
    yield "with the grads in between not set to zero before a second backward pass", 1.0, Engine(times=2), ZERO
    for kind, words, local, mend in RULES:
        if kind in kinds:
            yield f"with {words} in every {kind}", 1.1, Engine(local=partial(_by, [kind], local)), mend
        if kind == PLUS and {PLUS, MINUS} <= set(kinds):
            both = Engine(local=partial(_by, [PLUS, MINUS], local))
            yield f"with {words} in every {PLUS} and {MINUS}", 1.15, both, mend
    for before, after in scalars.in_place():
        names = [scalars.source.tensor_name(ref) for ref in (before, after)]
        words = f"with the numbers of {names[0]} overwritten by those of {names[1]} before the way back,"
        yield words, 1.15, Engine(instead=(before, after)), KEPT


def _by(kinds: Collection[str], local: Local, back: Backward, number: int, slot: int) -> Ref | float:
    """The rule of some kinds is wrong."""
    wrong = back.scalars.values[number].kind in kinds
    return local(back, number, slot) if wrong else back.local(number, slot)


def _own(back: Backward, number: int, slot: int) -> Ref | float:
    return back.data(back.scalars.values[number].children[slot])


def _alone(kept: int, back: Backward, number: int, slot: int) -> Ref | float:
    return back.local(number, slot) if slot == kept else 0.0


def _powered(lower: float | None, factor: bool, back: Backward, number: int, slot: int) -> Ref | float:
    """The exponent lowered by so much, or left out (None), with the exponent as a factor or without."""
    value = back.scalars.values[number]
    power = 1.0 if lower is None else value.number - lower
    return back.powered(value.children[0], power, value.number if factor else 1.0)


RULES: tuple[tuple[str, str, Callable[[Backward, int, int], Ref | float], str], ...] = (
    (TIMES, "each factor handed its own number times what arrives, not the other's,", _own, PRODUCT),
    (TIMES, "the first factor alone handed something", partial(_alone, 0), PRODUCT),
    (TIMES, "the second factor alone handed something", partial(_alone, 1), PRODUCT),
    (PLUS, "the first summand alone handed something", partial(_alone, 0), SUM),
    (PLUS, "the second summand alone handed something", partial(_alone, 1), SUM),
    (POWER, "n · xⁿ, not n · xⁿ⁻¹, as the slope", partial(_powered, 0.0, True), POWERS),
    (POWER, "xⁿ⁻¹, without n, as the slope", partial(_powered, 1.0, False), POWERS),
    (POWER, "n · x as the slope, whatever the exponent,", partial(_powered, None, True), POWERS),
)
"""(kind, words, what a child gets of each unit of grad, the rule)."""


def _made(draft: Draft, scalars: Scalars, tape: Tape, engine: Engine) -> None:
    draft.went.update(Backward(draft, scalars, tape, engine).gradients())
