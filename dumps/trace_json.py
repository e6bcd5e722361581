"""A trace as JSON, and back.

    {"format": "graphattn trace", "version": 1, "numbers": "float", "labels": {"token": ["the", …]},
     "graph": {…},
     "steps": [{"name": "y", "op": "softmax", "expression": "softmax(x)", "patched": [], "warnings": [],
                "outputs": [{"name": "y", "shape": [2, 2], "axes": […], "kind": "float",
                             "value": [[0.5, 0.5], …], "masked": null}]}]}

`graph` is the form of `graph_json`. Values are nested lists in digits that read back to the same
double; infinities and NaN are the texts "inf", "-inf" and "nan"; numbers of other types than float are texts
throughout. `masked` has true where a cell is hidden, and is null where none is. A tensor that was
not kept has the value null. Nothing in it depends on when or where the run was.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from graphattn.core import nested
from graphattn.core.axes import Spec
from graphattn.core.errors import GraphError
from graphattn.core.limits import need_bytes
from graphattn.core.numbers import FLOAT, Numbers, of
from graphattn.core.trace import Trace
from graphattn.core.words import PRINTED, integer, read_integer
from graphattn.dumps.assembly import place
from graphattn.dumps.graph_json import (
    VERSION,
    check_format,
    entry,
    graph_data,
    graph_of,
    json_text,
    need,
    read_json,
    spec_data,
)
from graphattn.dumps.literals import shortened
from graphattn.dumps.recording import Recording
from graphattn.dumps.rows import TensorRow, step_rows
from graphattn.dumps.table import read_number
from graphattn.dumps.trace_text import need_sources
from graphattn.dumps.uncollected import uncollected

FORMAT = "graphattn trace"


# ---------------------------------------------------------------- writing


def trace_json(trace: Trace) -> str:
    """The trace as JSON text, a line for each step; `read_trace_json` reads it back."""
    text = json_text(trace_data(trace))
    need_bytes("the JSON of the trace", len(text))
    return text


def trace_data(trace: Trace, values: bool = True) -> dict[str, Any]:
    """The trace as dicts and lists that JSON can hold (see the module's docstring); without `values`, every
    tensor is as if it had not been kept."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "numbers": trace.numbers.name,
        "labels": {axis: list(labels) for axis, labels in trace.labels.items()},
        "graph": graph_data(trace.graph),
        "steps": [
            {
                "name": row.name,
                "op": row.op.name,
                "expression": row.written.expression,
                "patched": [tensor.name for tensor in row.tensors if tensor.patched],
                "warnings": list(row.warnings),
                "outputs": [_tensor_data(tensor, trace.numbers, values) for tensor in row.tensors],
            }
            for row in step_rows(trace)
        ],
    }


def _tensor_data(tensor: TensorRow, numbers: Numbers, values: bool) -> dict[str, Any]:
    mask, kept = tensor.mask, values and tensor.value is not None
    return {
        "name": tensor.name,
        **spec_data(tensor.spec),
        "value": _value_data(tensor.value, tensor.spec, numbers) if kept else None,
        "masked": mask if mask is not None and any(nested.flat(mask)) else None,
    }


def _value_data(value: Any, spec: Spec, numbers: Numbers) -> Any:
    if spec.kind != "float":
        return _mapped(value, spec.rank, _printed) if spec.kind == "int" else value
    if numbers is not FLOAT:
        return _mapped(value, spec.rank, lambda row: [numbers.text(cell) for cell in row])
    return _mapped(value, spec.rank, _finite)


def _printed(row: list[int]) -> list[Any]:
    """Integers that Python's own JSON does not write stand as text."""
    return [integer(cell) if abs(cell) >= PRINTED else cell for cell in row]


def _finite(row: list[float]) -> list[Any]:
    if all(map(math.isfinite, row)):
        return row
    return [cell if math.isfinite(cell) else repr(cell) for cell in row]


def _mapped(value: Any, rank: int, function: Any) -> Any:
    """A function of rows, over all rows of a tensor."""
    if rank == 0:
        return function([value])[0]
    if rank == 1:
        return function(value)
    return [_mapped(item, rank - 1, function) for item in value]


# ---------------------------------------------------------------- reading


def _integers(value: Any, name: str) -> Any:
    """Texts in the place of integers become integers."""
    if isinstance(value, list):
        return [_integers(item, name) for item in value]
    if not isinstance(value, str):
        return value
    try:
        return read_integer(value)
    except ValueError:
        raise GraphError(f"{name} holds {shortened(value)}; expected an integer") from None


@uncollected()
def read_trace_json(text: str) -> Trace:
    """The trace that a JSON text holds. Raises a `GraphError` that names the place and says what was
    expected there."""
    return trace_of(read_json(text, "trace JSON"), "trace JSON")


def trace_of(data: Any, what: str, tensors: Mapping[str, Any] | None = None) -> Trace:
    """The trace in JSON data as `trace_data` gives it; `tensors` are values that stand elsewhere, by name."""
    check_format(data, FORMAT, what)
    graph = graph_of(entry(data, "graph", dict, what), f"{what}: graph")
    need_sources(graph, what)
    with place(what):
        numbers = of(entry(data, "numbers", str, "", "float"))
    labels = {
        axis: [
            need(item, str, f"{what}: a label of axis {axis!r}")
            for item in need(items, list, f"{what}: labels")
        ]
        for axis, items in entry(data, "labels", dict, what, {}).items()
    }
    reader = _Steps(graph, numbers)
    for i, step in enumerate(entry(data, "steps", list, what)):
        with place(f"{what}: steps[{i}]"):
            reader.read(need(step, dict, "it"))
    with place(what):
        reader.values.update(tensors or {})
        return reader.restore(labels)


class _Steps(Recording):
    """Reads the recorded steps."""

    def read(self, step: Mapping[str, Any]) -> None:
        """Take in one step."""
        node = self.step(
            entry(step, "name", str),
            [need(item, str, "a warning") for item in entry(step, "warnings", list, "", [])],
            [need(item, str, "a patched tensor") for item in entry(step, "patched", list, "", [])],
        )
        outputs = entry(step, "outputs", list)
        if len(outputs) != len(node.ports):
            raise GraphError(f"it has {len(outputs)} outputs; {node.op.name} gives {len(node.ports)}")
        for port, output in enumerate(outputs):
            name, spec = node.tensor_name(port), node.outputs[port]
            if entry(need(output, dict, "an output"), "name", str, "an output") != name:
                raise GraphError(f"output {port} is {output['name'][:40]!r}; expected {name!r}")
            value = output.get("value")
            if value is not None and spec.kind == "float":
                value = self._value(value, spec.rank, name)
            if value is not None and spec.kind == "int":
                value = _integers(value, name)
            self.tensor(name, value, output.get("masked"))

    def _value(self, value: Any, rank: int, name: str) -> Any:
        """Texts in the place of cells become numbers; what is wrong otherwise, `restore` tells."""
        if rank and isinstance(value, list):
            return [self._value(item, rank - 1, name) for item in value]
        if isinstance(value, str) and self.numbers is FLOAT and value not in ("inf", "-inf", "nan"):
            raise GraphError(f"{name} holds {shortened(value)}; expected a number, 'inf', '-inf' or 'nan'")
        if isinstance(value, float) and math.isinf(value):
            raise GraphError(f"{name} holds a number that is too large; expected one that a double can hold")
        return read_number(value, self.numbers) if isinstance(value, str) else value
