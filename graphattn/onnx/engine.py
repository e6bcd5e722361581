"""ONNX Runtime as the engine of a run: `run(graph, feeds, engine="onnxruntime")` (extra `onnxruntime`).

    graph ─ program, every intermediate an output (writing/) ─ session, kept with the graph
                                                                  │
    recording ◁─ arrays, packed as they are ◁─────────────────── run

The model is in doubles. Where the runtime has no kernel for doubles, an op is written otherwise if it can be
(erf by quadrature), and else computed in float32, of which its step warns. Nothing is optimized, so that each
tensor is what its node makes of the recorded operands. Large constants are not copied into the model: they
are fed from where they are kept.

Three things a runtime does not do as we do: a factor of 0 does not hide infinity or NaN, so that products
in which one came up are written at length, and the model is run again; a patch by a function is run up to
there, and on from what the function gives; and sums are taken in doubles, where ours are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from math import prod
from typing import Any
from weakref import finalize

import numpy as np

from ..core.engines import lacking
from ..core.errors import GraphError
from ..core.graph import Graph, Ref
from ..core.names import owners
from ..core.packed import LEAST, Packed
from ..core.recording import Recording
from ..core.words import sizes
from .writing.checking import blaming
from .writing.model import Program, array_of, model_of, program_of
from .writing.operators import Initializer, Target

OPSET = 23
LACKS: dict[str, set[tuple[str, str]]] = {"float": set(), "float32": set()}
"""The operators, by the numbers that are computed with, that the runtime turned out to lack."""
ARRAYS: dict[tuple[int, str], Any] = {}
"""The array of each packed tensor that is fed, by its id and the numbers, for as long as the tensor lives."""
PRECISION = {"float": "doubles", "float32": "float32"}
MISSING = re.compile(r"Could not find an implementation for (\w+)\(\d+\) node with name '([^']*)'")


def evaluate(recording: Recording, numbers: str, replaced: Mapping[int, Callable[[Any], Any]]) -> None:
    """Compute what a recording has no values for yet. `replaced` is what patches make, by place, of what was
    computed."""
    plan = recording.plan
    names = {place: plan.graph.tensor_name(ref) for ref, place in plan.places.items()}
    fed: set[str] = set()
    for step in plan.steps:
        if not step.runs:
            if not replaced.keys().isdisjoint(step.places):
                fed.add(step.node.name)
        elif not replaced.keys().isdisjoint(step.places):
            _run(recording, numbers, fed, [names[place] for place in step.places])
            for place in replaced.keys() & step.places:
                recording.values[place] = replaced[place](recording.values[place])
            fed.add(step.node.name)
    left = [
        names[place] for step in plan.steps if step.runs and step.node.name not in fed for place in step.places
    ]
    single = _run(recording, numbers, fed, left).program.single if left else {}
    recording.done = plan.steps
    recording.engine = f"onnxruntime {_runtime().__version__}, {PRECISION[numbers]}"
    nodes = {step.node.name for step in plan.steps}
    for name, operators in single.items():
        node = next((owner for owner in (name, *owners(name)) if owner in nodes), name)
        recording.told[node] = (
            f"computed in float32, since onnxruntime has no {' and no '.join(operators)} of doubles"
        )


def _run(recording: Recording, numbers: str, fed: Collection[str], names: list[str]) -> Session:
    """Put the tensors of these names in their places; the session that computed them."""
    graph = recording.plan.graph
    absorbing: frozenset[str] = frozenset()
    while True:
        session = session_of(graph, numbers, frozenset(fed), tuple(names), absorbing)
        given = {name: recording.values[recording.plan.places[ref]] for name, ref in session.inputs.items()}
        arrays = session(given)
        leaking = {
            node for node, name in session.watched.items() if not np.isfinite(arrays[name]).all()
        } - absorbing  # fmt: skip
        if not leaking:
            break
        absorbing |= leaking
    for name in names:
        place = recording.plan.places[graph.resolve(name)]
        recording.values[place] = packed(arrays[name])
    return session


def packed(array: Any) -> Any:
    """A tensor as a recording keeps it: floats packed, what is no float as lists, a single one as it is."""
    if array.ndim and array.dtype.kind == "f":
        return Packed(array.shape, np.ascontiguousarray(array).reshape(-1))
    return array.tolist()


def session_of(
    graph: Graph, numbers: str, fed: frozenset[str], names: tuple[str, ...], absorbing: frozenset[str]
) -> Session:
    """The session that computes these tensors, kept with the graph."""
    key = ("onnxruntime", numbers, fed, names, absorbing)
    return graph.kept(key, lambda: Session(graph, numbers, fed, names, absorbing))


class Session:
    """A graph that is ready to be computed by ONNX Runtime; calling it gives arrays by name."""

    def __init__(
        self, graph: Graph, numbers: str, fed: Collection[str], names: Iterable[str], absorbing: frozenset[str]
    ) -> None:
        runtime = _runtime()
        self.numbers = numbers
        names = list(names)
        while True:
            target = Target(
                OPSET, numbers, "decomposed", exact=True, absorbing=absorbing, lacking=frozenset(LACKS[numbers])
            )
            self.program = program_of(graph, target, {}, names, fed)
            self.watched = _watched(self.program)
            more = [name for name in self.watched.values() if name not in names]
            if more:
                self.program = program_of(graph, target, {}, [*names, *more], fed)
                self.watched = _watched(self.program)
            self.fixed: dict[str, Any] = {}
            try:
                blaming(self.program, lambda: self._open(runtime))
                break
            except NotImplementedError as error:
                self._lacks(str(error))
        self.outputs = [name for name, _ in self.program.outputs]
        self.specs = dict(self.program.inputs)
        self.inputs = {name: self.program.graph.resolve(name) for name in self.specs}
        self.inputs = {name: _there(graph, ref, self.program.graph) for name, ref in self.inputs.items()}

    def _open(self, runtime: Any) -> None:
        model = model_of(self.program, self._array)
        options = runtime.SessionOptions()
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            self.session = runtime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
        except runtime.capi.onnxruntime_pybind11_state.NotImplemented as error:
            raise NotImplementedError(str(error)) from error

    def _array(self, initializer: Initializer) -> Any | None:
        """The array of a small initializer; a large one is fed with every run."""
        value = initializer.value
        array = array_of(initializer.cells, initializer.shape, value.kind, self.numbers, value.name)
        if prod(initializer.shape) < LEAST:
            return array
        self.fixed[value.name] = np.ascontiguousarray(array)
        return None

    def _lacks(self, told: str) -> None:
        """Learn which operator the runtime does not have. Raises a `GraphError` where that is of no use."""
        found = MISSING.search(told)
        for node, written in self.program.nodes if found else ():
            assert found is not None
            if written.operator == found[1] and written.outputs[0].name == found[2]:
                kinds = [x.kind for x in written.inputs if x is not None]
                lacking = (written.operator, "float" if "float" in kinds else kinds[-1])
                if lacking in LACKS[self.numbers] or (lacking[1] == "float" and self.numbers != "float"):
                    raise GraphError(
                        f"{node.op.name} {node.name!r}: onnxruntime has no {written.operator} of"
                        f" {PRECISION[self.numbers]}; expected another engine, or none"
                    )
                LACKS[self.numbers].add(lacking)
                return
        raise GraphError(f"onnxruntime does not take the graph: {_first(told)}")

    def __call__(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name. Raises a `GraphError` where the runtime does."""
        given = {name: self._fed(name, value) for name, value in values.items()}
        try:
            found = self.session.run(self.outputs, {**self.fixed, **given})
        except Exception as error:  # whatever the runtime raises
            raise GraphError(self._blamed(str(error))) from error
        for (name, spec), array in zip(self.program.outputs, found, strict=True):
            if array.shape != spec.shape:
                graph = self.program.graph
                node = graph.nodes[graph.resolve(name).node]
                raise GraphError(
                    f"{node.op.name} {node.name!r}: its onnx rule makes {sizes(array.shape)} in onnxruntime;"
                    f" expected {sizes(spec.shape)}"
                )
        return dict(zip(self.outputs, found, strict=True))

    def _fed(self, name: str, value: Any) -> Any:
        spec = self.specs[name]
        if not isinstance(value, Packed):
            return array_of(value, spec.shape, spec.kind, self.numbers, name)
        key = id(value), self.numbers
        if key not in ARRAYS:
            ARRAYS[key] = array_of(value, spec.shape, spec.kind, self.numbers, name)
            finalize(value, ARRAYS.pop, key, None)
        return ARRAYS[key]

    def _blamed(self, told: str) -> str:
        """What the runtime says, with our node."""
        at = re.search(r"Name:'([^']*)'", told)
        for node, written in self.program.nodes:
            if at and written.outputs[0].name == at[1]:
                return f"{node.op.name} {node.name!r}: onnxruntime says: {_first(told)}"
        return f"onnxruntime says: {_first(told)}"


def _watched(program: Program) -> dict[str, str]:
    """By node, the tensor of each product in which a factor of 0 should hide infinity and NaN."""
    return {
        node.name: program.tensor(Ref(node.name))
        for node in {node.name: node for node, _ in program.nodes}.values()
        if node.attributes.get("absorb_zeros")
    }


def _there(graph: Graph, ref: Ref, fine: Graph) -> Ref:
    """The output of the graph that an input of the model is."""
    return graph.resolve(fine.tensor_name(ref))


def _first(told: str) -> str:
    """The sentence in an error of the runtime."""
    told = told.rpartition("Status Message: ")[2] or told
    return " ".join(told.split())[:200]


def _runtime() -> Any:
    try:
        import onnx  # noqa: F401
        import onnxruntime  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise lacking(error) from None
    return onnxruntime
