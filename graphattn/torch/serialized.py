"""The graph of a .pt2 archive (its `models/model.json`) as a `Program`.

The schema is that of `torch/_export/serde/schema.py`, major version 8; what is not known there is refused by
name. Expressions of sizes are never evaluated: sizes come from the tensors that are fed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from ..core.errors import GraphError
from ..core.nested import shown
from .archive import TYPES, Archive
from .live import NOWHERE, call_of, named
from .operators import find
from .program import Module, Program, Source, Step, Use, bound, need_torch, others

MAJOR = 8
"""The version of the schema that is read."""
PLAIN = ("as_int", "as_float", "as_bool", "as_string", "as_ints", "as_floats", "as_bools", "as_strings")
STORED = {
    "parameter": ("parameter", "parameter_name"),
    "buffer": ("buffer", "buffer_name"),
    "tensor_constant": ("constant", "tensor_constant_name"),
}


def stored(path: str | os.PathLike[str]) -> Program:
    """The program of an archive; a `GraphError` that says what is wrong with it."""
    archive = Archive(path)
    models = archive.models
    if len(models) != 1:
        archive.refuse(f"holds {len(models)} programs; expected one")
    reader = Reader(archive, archive.json(f"models/{models[0]}.json"), archive.tensors(models[0]))
    try:
        return reader.program()
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, RecursionError) as error:
        if isinstance(error, GraphError):
            raise
        archive.refuse(
            f"has a graph that torch.export.save does not write: {type(error).__name__}: {str(error)[:120]}"
        )


class Reader:
    """Reads the JSON of one program."""

    def __init__(self, archive: Archive, data: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
        self.archive, self.data, self.tensors = archive, data, tensors

    def refuse(self, why: str) -> NoReturn:
        self.archive.refuse(why)

    def program(self) -> Program:
        version = self.data["schema_version"]["major"]
        if version != MAJOR:
            self.refuse(f"has a graph of schema {shown(version)}; expected {MAJOR}, as of torch 2.5 and newer")
        module = self.data["graph_module"]
        graph, signature = module["graph"], module["signature"]
        metas = graph["tensor_values"]
        sources = tuple(self._source(spec, metas) for spec in _listed(signature["input_specs"]))
        steps = tuple(self._step(node) for node in _listed(graph["nodes"]))
        results = [spec["user_output"]["arg"] for spec in signature["output_specs"] if "user_output" in spec]
        names = self._output_names(module.get("module_call_graph"), len(results))
        outputs = {name: self._argument(result) for name, result in zip(names, results, strict=True)}
        return Program(self.archive.path.stem, sources, steps, outputs)

    def _source(self, spec: Mapping[str, Any], metas: Mapping[str, Any]) -> Source:
        ((kind, record),) = spec.items()
        if kind == "constant_input":
            value = self._argument(record["value"])
            return Source(_text(record["name"]), "input", value=value)
        if kind == "user_input":
            argument = self._argument(record["arg"])
            if not isinstance(argument, Use):
                return Source("", "input", value=argument)
            meta = metas.get(argument.name)
            if meta is None:
                return Source(argument.name, "input", dtype="int")
            shape = tuple(_size(size) for size in _listed(meta["sizes"]))
            return Source(argument.name, "input", dtype=TYPES.get(meta["dtype"], "?"), shape=shape)
        if kind not in STORED:
            self.refuse(f"takes a {shown(kind)}; expected tensors and numbers, and no other objects")
        own, key = STORED[kind]
        name, path = _text(record["arg"]["name"]), _text(record[key])
        value = self.tensors.get(path)
        if value is None:
            why = "is pickled, which is never read" if path in self.tensors else "is not stored"
            self.refuse(
                f"has a {own} {shown(path)} that {why}; expected its numbers as torch.export.save writes them"
            )
        dtype = str(value.dtype).removeprefix("torch.")
        return Source(name, own, path, value, dtype, tuple(value.shape), others(self.tensors, path))

    def _step(self, node: Mapping[str, Any]) -> Step:
        target = _text(node["target"])
        outputs = [self._outputs(output) for output in _listed(node["outputs"])]
        names = [name for several, found in outputs for name in found]
        several = len(outputs) > 1 or any(several for several, _ in outputs)
        name = _text(node.get("name") or next(filter(None, names), target))
        modules = tuple(_modules(_text(node["metadata"].get("nn_module_stack", ""))))
        op = find(target)
        if op is None:
            return Step(name, target.removeprefix("torch.ops."), None, {}, tuple(names), several, modules)
        given = {_text(a["name"]): self._argument(a["arg"]) for a in _listed(node["inputs"])}
        if not op.name.startswith("aten."):
            given = dict(zip(op.positional, given.values()))
        return Step(
            name, op.name, op.call, bound(op.defaults, op.name, given), tuple(names), several, modules,
            op.positional, op.writes, op.shares,
        )  # fmt: skip

    @staticmethod
    def _outputs(output: Mapping[str, Any]) -> tuple[bool, list[str | None]]:
        ((kind, value),) = output.items()
        if kind == "as_tensor":
            return False, [_text(value["name"])]
        if kind == "as_tensors":
            return True, [_text(item["name"]) for item in _listed(value)]
        if kind in ("as_sym_int", "as_sym_bool", "as_sym_float"):
            return False, [_text(value["as_name"])]
        return False, [None]

    def _argument(self, argument: Mapping[str, Any]) -> Any:
        torch = need_torch()
        ((kind, value),) = argument.items()
        if kind == "as_none":
            return None
        if kind in PLAIN:
            items = value if isinstance(value, list) else [value]
            if not all(isinstance(item, (int, float, str)) for item in items):
                self.refuse(f"has an argument {shown(value)}; expected numbers or text")
            if kind in ("as_float", "as_floats"):  # "-Infinity" is text, since JSON has none
                items = [float(item) for item in items]
                return items if isinstance(value, list) else items[0]
            return value
        if kind in ("as_tensor", "as_optional_tensor"):
            return Use(_text(value["name"])) if "name" in value else self._argument(value)
        if kind in ("as_tensors", "as_optional_tensors"):
            return [
                Use(_text(item["name"])) if "name" in item else self._argument(item) for item in _listed(value)
            ]
        if kind in ("as_sym_int", "as_sym_bool", "as_sym_float"):
            ((inner, known),) = value.items()
            return Use(_text(known)) if inner == "as_name" else self._argument({inner: known})
        if kind in ("as_sym_ints", "as_sym_bools", "as_sym_floats"):
            return [self._argument({kind[:-1]: item}) for item in _listed(value)]
        if kind == "as_scalar_type":
            if value not in TYPES:
                self.refuse(f"has a type of cells numbered {shown(value)}; expected floats, integers or bools")
            return getattr(torch, TYPES[value])
        if kind == "as_device":
            return torch.device("cpu")
        if kind in ("as_memory_format", "as_layout"):
            return None
        self.refuse(f"has an argument of the kind {shown(kind)}; expected tensors, numbers and lists of them")

    def _output_names(self, calls: Any, count: int) -> list[str]:
        """Names of what comes out, by how it is nested; numbered where that is not said."""
        try:
            spec = json.loads(next(call for call in calls if not call["fqn"])["signature"]["out_spec"])[1]
            names = [named(path) for path in _leaves(spec, ())]
        except (ValueError, TypeError, KeyError, IndexError, StopIteration, RecursionError, AttributeError):
            names = []
        return names if len(set(names)) == count else [f"output{i}" for i in range(count)]


def _leaves(spec: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The way to each leaf of what is returned: keys of dicts, places of tuples."""
    if spec["type"] is None:
        yield path
        return
    children = _listed(spec["children_spec"])
    context = json.loads(spec["context"]) if spec["context"] else None
    keys = context if isinstance(context, list) and len(context) == len(children) else range(len(children))
    for key, child in zip(keys, children, strict=True):
        yield from _leaves(child, (*path, str(key)))


def _modules(stack: str) -> Any:
    """The calls of modules that a node stands in: `key,path,class;…`."""
    for entry in filter(None, stack.split(";")):
        key, path, kind = (*entry.split(",", 2), "", "")[:3]
        if key != NOWHERE:
            yield Module(path, kind.rpartition(".")[2], call_of(key))


def _listed(value: Any) -> Sequence[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{shown(value)} is no list")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{shown(value)} is no text")
    return value


def _size(size: Mapping[str, Any]) -> int | None:
    value = size.get("as_int")
    return value if type(value) is int and value >= 0 else None
