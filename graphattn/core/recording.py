"""What a run recorded, by place: a value, a mask and warnings for each place of the plan.

A plan gives every output of every node a place in one list (`plan.places`). A `Recording` has the
values in that order, and what follows from them: which cells are hidden, and warnings. A `Trace` is the
same by name, for people; who needs all cells, or the same place again and again, reads `trace.recording`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from . import nested
from .errors import GraphError
from .graph import Ref, Scope
from .hidden import carried, of_operands, own_warnings, warnings_of
from .interpreter import Composite, Plan, PlanStep, padded
from .numbers import FLOAT
from .packed import Packed


class Recording:
    """The values of one run, and what follows from them (see the module's docstring).

    `patched` are the places whose values a patch replaced. `done` are the steps that were evaluated, in
    order. Values are the recorded ones: `value(place)` gives lists that may be changed.
    """

    def __init__(self, plan: Plan, patched: Iterable[int] = ()) -> None:
        self.plan = plan
        self.values: list[Any] = plan.values()
        self.patched = frozenset(patched)
        self.done: Sequence[PlanStep] = []
        self.engine = ""
        """What computed the values, where that was not the interpreter: "onnxruntime 1.32.0, doubles"."""
        self.told: dict[str, str] = {}
        """By node, what a reader should know of how an engine computed it."""
        self.stamps: list[float] = []
        """When the run began, and when each step that runs was done (seconds of a clock)."""
        self._masks: list[Any] = [None] * plan.size
        self._warnings: dict[int, list[str]] = {}
        self._settled = 0
        self._steps: dict[str, PlanStep] = {}

    # ------------------------------------------------------------ reading

    def place(self, ref: Ref) -> int | None:
        """Where an output stands; None where the run did not need it."""
        return self.plan.places.get(ref)

    def value(self, place: int) -> Any:
        """The value in a place as nested lists; a constant becomes a copy of this run's own, since it may
        be changed."""
        value = self.values[place]
        if isinstance(value, Packed) or value is self.plan.constants[place]:
            value = self.values[place] = nested.copied(nested.lists(value))
        return value

    def mask(self, place: int) -> Any:
        """Which cells in a place are hidden (nested bools, True = hidden), or None."""
        self.settle()
        return self._masks[place]

    def warnings(self, start: int) -> list[str]:
        """What a reader should know of the step whose first output stands there."""
        self.settle()
        return self._warnings[start]

    def step(self, node: str) -> PlanStep | None:
        """The step of a node, if it was evaluated."""
        if len(self._steps) != len(self.done):
            self._steps = {step.node.name: step for step in self.done}
        return self._steps.get(node)

    def seconds(self, start: int) -> float:
        """How long the step took whose first output stands there (0 for what was known before)."""
        starts = [step.start for step in self.done if step.runs]
        spans = dict(zip(starts, (b - a for a, b in zip(self.stamps, self.stamps[1:]))))
        return spans.get(start, 0.0)

    # ------------------------------------------------------------ what follows from the values

    def settle(self) -> None:
        """Find the masks and warnings of the steps since the last call."""
        if self._settled < len(self.done):
            for step in self.done[self._settled :]:
                self._settle(step)
            self._settled = len(self.done)

    def given(self, masks: dict[int, Any], warnings: dict[int, list[str]]) -> None:
        """Take masks by place and warnings by step as they were recorded before."""
        for place, mask in masks.items():
            self._masks[place] = mask
        self._warnings = {step.start: warnings.get(step.start, []) for step in self.done}
        self._settled = len(self.done)

    def forget(self, places: Collection[int]) -> None:
        """Keep nothing more of these places."""
        for place in places:
            self.values[place] = self._masks[place] = None

    def inside(self, composite: Composite, operands: list[Any], masks: list[Any]) -> Recording:
        """The recording of a composite's expansion, with the masks that its operands come with."""
        inner = Recording(composite.plan)
        inner.values = composite.values(operands)
        for place, mask in zip(composite.operands, masks, strict=False):
            if place is not None:
                inner._masks[place] = mask
        inner.done = composite.plan.steps
        inner.settle()
        return inner

    def _settle(self, step: PlanStep) -> None:
        places = step.places
        if not step.operands and not self.patched.intersection(places):
            masks, self._warnings[step.start] = self._known(step)
        elif all(p is None or self.values[p] is not None for p in (*step.operands, *places)):
            masks, self._warnings[step.start] = self._found(step)
        else:  # not all that went in and came out is recorded
            masks, self._warnings[step.start] = None, []
        if masks is not None:
            self._masks[places.start : places.stop] = masks
        for scope in self.plan.opened.get(step.start, ()):
            self._warnings[step.start] = [*self._warnings[step.start], *self._of_opened(scope)]
        if step.node.name in self.told:
            self._warnings[step.start] = [*self._warnings[step.start], self.told[step.node.name]]

    def _of_opened(self, scope: Scope) -> list[str]:
        """What a composite warns of whose inside is shown."""
        refs = padded(scope.op, scope.operands) if scope.op else ()
        places = [None if ref is None else self.plan.places[ref] for ref in (*refs, scope.outputs[0])]
        values = [None if place is None else self.values[place] for place in places]
        if any(place is not None and value is None for place, value in zip(places, values, strict=True)):
            return []  # not all that went in and came out is recorded
        specs = [None if ref is None else self.plan.graph.spec(ref) for ref in refs]
        return own_warnings(scope, values[:-1], values[-1], specs)

    def _found(self, step: PlanStep) -> tuple[Sequence[Any] | None, list[str]]:
        incoming, operands = of_operands(step, self._masks), of_operands(step, self.values)
        inner = None
        if isinstance(step.function, Composite):
            inner = self.inside(step.function, operands, incoming)
            masks = [inner._masks[place] for place in step.function.results]
        else:
            masks = carried(step, incoming, operands, self.values)
        places = step.places
        if self.patched.intersection(places):
            masks = None
        if masks is not None:
            self._masks[places.start : places.stop] = masks
        warnings = warnings_of(step, self.values, self._masks)
        if inner is not None:
            warnings += [
                f"{s.node.name}: {warning}".removeprefix("composite.")
                for s in inner.done
                for warning in inner._warnings[s.start]
                if warning not in warnings  # of the composite itself
            ]
        return masks, warnings

    def _known(self, step: PlanStep) -> tuple[Sequence[Any] | None, list[str]]:
        """Masks and warnings of what no run changes, found once for the plan."""
        if step.node.op.fed:
            whole = self.values[step.start] is not None
            return (
                (carried(step, [], [], self.values), warnings_of(step, self.values, self._masks))
                if whole
                else (None, [])
            )
        if any(self.values[place] is None for place in step.places):
            return None, []
        known = self.plan.known_before
        if step.start not in known:
            known[step.start] = carried(step, [], [], self.values), warnings_of(step, self.values, self._masks)
        masks, warnings = known[step.start]
        return masks, list(warnings)

    # ------------------------------------------------------------ copying

    def state(self) -> dict[str, Any]:
        """All that was recorded, by the outputs of the graph, in lists of its own; numbers of another type
        than float as their text, since only that is read back in every process."""
        self.settle()
        text, spec = self.plan.numbers.text, self.plan.graph.spec
        refs = {place: ref for ref, place in self.plan.places.items()}

        def told(place: int) -> Any:
            value = self.values[place]
            as_it_is = value is None or self.plan.numbers is FLOAT or spec(refs[place]).kind != "float"
            return nested.copied(value) if as_it_is else _mapped(text, value)

        return {
            "values": {refs[place]: told(place) for place in range(self.plan.size)},
            "masks": {refs[p]: nested.copied(mask) for p, mask in enumerate(self._masks) if mask is not None},
            "engine": self.engine,
            "patched": [refs[place] for place in self.patched],
            "done": [step.node.name for step in self.done],
            "warnings": {step.node.name: list(self._warnings[step.start]) for step in self.done},
            "stamps": list(self.stamps),
        }

    @classmethod
    def of_state(cls, plan: Plan, state: dict[str, Any]) -> Recording:
        """The recording again, in the places of a plan of an equal graph."""
        recording = cls(plan, (plan.places[ref] for ref in state["patched"]))
        recording.values = [None] * plan.size
        lift = plan.numbers.lift
        for ref, value in state["values"].items():
            texts = plan.numbers is not FLOAT and plan.graph.spec(ref).kind == "float" and value is not None
            recording.values[plan.places[ref]] = _mapped(lift, value) if texts else value
        done = set(state["done"])
        recording.done = [step for step in plan.steps if step.node.name in done]
        told = {step.start: state["warnings"][step.node.name] for step in recording.done}
        recording.given({plan.places[ref]: mask for ref, mask in state["masks"].items()}, told)
        recording.stamps = list(state["stamps"])
        recording.engine = state["engine"]
        return recording


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """Nested lists of what a function makes of each cell."""
    return [_mapped(function, item) for item in value] if isinstance(value, list) else function(value)


def need_place(plan: Plan, name: str) -> int:
    """The place of a tensor that a patch names; a `GraphError` where the run does not need it."""
    ref = plan.graph.resolve(name)
    if ref not in plan.places:
        raise GraphError(f"patch {name!r} is not needed by the targets; expected a tensor that is evaluated")
    return plan.places[ref]
