"""What a page is told of a trace, as one JSON document and one array of doubles.

    {"format": "graphattn page 1", "title": …, "graph": …, "dot": "sumprod",
     "labels":  {axis: [[label as shown, …], [raw label, …] or null]},
     "ops":     [{name, title, glyph, formula, family, level, note?, moves?, fed?, given?, share?}],
     "rules":   [rule, …]      see `rules.py`
     "masks":   [text]         a bit for each cell, in hex
     "tensors": [{name, shape, axes, kind, rule or text?, mask?, data, patched?, below?}],
     "nodes":   [{name, op, operands: [tensor or null], outputs: [tensor], scope?, note, warnings?, absorbed?}],
     "scopes":  [{name, op or null, title, operands, outputs, parent, rules: [rule by output] or null}],
     "views":   {scope: view}  see `views.py`
     "outputs": {name: tensor}, "aliases": {name: tensor}, "notes": [sentence],
     "compared": {"first": tensor or null, "relation": text, "by": {status: [tensor, …]}}}

Operands, outputs, ops, rules, parents and tensors in views are numbers of places in these lists. `data`
says where a tensor's numbers begin in the array; it is left out for a tensor of an op that only moves
numbers, which the rule rebuilds, and null for one that was not kept.
"""

from __future__ import annotations

import array
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from graphattn.core.graph import Graph, Node, Ref, Scope
from graphattn.core.interpreter import padded
from graphattn.core.op import LEVELS, Op
from graphattn.core.trace import Trace
from graphattn.core.words import listed, subscript
from graphattn.dumps.page.record import Record, product_of_rows, record
from graphattn.dumps.page.rules import choosers, rule_json, rule_of, texts_json, texts_of
from graphattn.dumps.page.views import ROOT, tensor_names, views
from graphattn.dumps.rows import is_share
from graphattn.dumps.table import label
from graphattn.dumps.wording import clean

FORMAT = "graphattn page 1"


@dataclass
class Contents:
    """The document, and the numbers of each run that it shows."""

    document: dict[str, Any]
    numbers: list[array.array[float]] = field(default_factory=list)


def contents(
    trace: Trace,
    reference: Trace | None = None,
    most: int | None = None,
    comparison: Mapping[str, Any] | None = None,
) -> Contents:
    """What a page is told of a trace, and of another of the same graph that it is held against, with what
    `compare` says of the two (`Comparison.data()`). Where there are more than `most` numbers, the largest
    tensors that the page can compute are left out, and `notes` names them."""
    found = _Writer(trace, reference, most)
    written = found.write()
    if comparison is not None:
        written.document["compared"] = found.compared(comparison)
    return written


class _Writer:
    """The lists of the document in the making, and the places of what is in them."""

    def __init__(self, trace: Trace, reference: Trace | None, most: int | None = None) -> None:
        self.trace = trace
        self.records = [record(t) for t in (trace, reference) if t is not None]
        self.graph: Graph = self.records[0].graph
        self.scopes = {name: place for place, name in enumerate(self.graph.scopes)}
        self.ops: dict[str, dict[str, Any]] = {}
        self.rules: dict[Any, int] = {}
        self.rule_list: list[Any] = []
        self.masks: dict[bytes, int] = {}
        self.tensors: list[dict[str, Any]] = []
        self.place: dict[Ref, int] = {}
        self.names = tensor_names(self.graph)
        self.size = 0
        self.left: dict[Ref, None] = {}
        self.missing: dict[Ref, None] = {}
        self._choose(most)

    def _choose(self, most: int | None) -> None:
        """Leave out so much that about `most` numbers stay: of what was fed, the largest (`missing`), where
        that alone is more than half; then the largest tensors that the page computes (`left`)."""
        whole = [
            (node.outputs[port].size, Ref(node.name, port), node)
            for node in self.graph.nodes.values()
            for port in range(len(node.ports))
        ]
        room = math.inf if most is None else most
        total = sum(size for size, *_ in whole)
        fed = sum(size for size, _, node in whole if node.op.fed)
        for size, ref, node in sorted(whole, key=lambda entry: -entry[0]):
            if total > room and fed > room / 2 and node.op.fed:
                self.missing[ref] = None
                total, fed = total - size, fed - size
        for size, ref, node in sorted(whole, key=lambda entry: -entry[0]):
            known = all(o not in self.missing for o in node.operands if o is not None)
            given = any(ref in r.patched or ref in r.changed for r in self.records)
            if total > room and any(node.operands) and node.op.explain is not None and known and not given:
                self.left[ref] = None
                total -= size

    def write(self) -> Contents:
        nodes = [self._node(node) for node in self.graph.nodes.values()]
        scopes = [self._scope(scope) for scope in self.graph.scopes.values()]
        document = {
            "format": FORMAT,
            "title": clean(self.graph.title) or self.graph.name,
            "graph": self.graph.name,
            "dot": product_of_rows(),
            "labels": self._labels(),
            "ops": list(self.ops.values()),
            "rules": self.rule_list,
            "masks": [_hex(mask) for mask in self.masks],
            "tensors": self.tensors,
            "nodes": nodes,
            "scopes": scopes,
            "views": self._views(),
            "outputs": {name: self.place[tensor.ref] for name, tensor in self.graph.outputs.items()},
            "aliases": self._aliases(),
            "notes": [*self._left_notes(), *(note for found in self.records for note in found.notes)],
        }
        return Contents(document, [self._numbers(found) for found in self.records])

    def compared(self, comparison: Mapping[str, Any]) -> dict[str, Any]:
        """What the comparison says, by the places of tensors here."""
        place = {told["name"]: self.place[self.graph.resolve(told["name"])] for told in comparison["tensors"]}
        by: dict[str, list[int]] = {}
        for told in comparison["tensors"]:
            by.setdefault(told["status"], []).append(place[told["name"]])
        first = comparison["first"]
        return {
            "first": first and place[first["tensor"]],
            "relation": first["relations"][0]["text"] if first and first["relations"] else "",
            "by": by,
        }

    # ------------------------------------------------------------ tensors

    def _node(self, node: Node) -> dict[str, Any]:
        outputs = [self._tensor(node, port) for port in range(len(node.ports))]
        told: dict[str, Any] = {
            "name": node.name,
            "op": self._op(node.op),
            "operands": self._places(padded(node.op, node.operands)),
            "outputs": outputs,
        }
        scope = self.scopes.get(node.scope or "")
        for key, value in (("scope", scope), ("warnings", self.records[0].warnings.get(node.name))):
            if value is not None:
                told[key] = value
        return told

    def _places(self, refs: Any) -> list[int | None]:
        return [None if ref is None else self.place[ref] for ref in refs]

    def _tensor(self, node: Node, port: int) -> int:
        ref, spec = Ref(node.name, port), node.outputs[port]
        found = self.records[0]
        told: dict[str, Any] = {
            "name": self.names[ref],
            "shape": list(spec.shape),
            "axes": list(spec.axes),
            "kind": spec.kind,
        }
        rule = self._rule(node.name, node.op, node.operands, node.attributes, port, spec.shape, len(node.ports))
        if rule is not None:
            told["text" if not node.operands else "rule"] = rule
            for slot, size in choosers(self.rule_list[rule] if node.operands else []):
                operand = node.operands[slot]
                assert operand is not None  # a cell of it is read
                chooser = self.tensors[self.place[operand]]  # its numbers choose one of `size` places
                chooser["below"] = min(size, chooser.get("below", size))
        masks = [r.masks.get(ref) for r in self.records]
        for key, mask in zip(("mask", "mask2"), masks):
            if mask is not None and any(mask):
                told[key] = self.masks.setdefault(mask, len(self.masks))
        if ref in found.patched:
            told["patched"] = True
        if ref in self.missing or any(ref not in r.values for r in self.records):
            told["data"] = None
        elif not self._rebuilt(node, ref, rule):
            told["data"] = self.size
            self.size += spec.size
        self.place[ref] = len(self.tensors)
        self.tensors.append(told)
        return self.place[ref]

    def _rebuilt(self, node: Node, ref: Ref, rule: int | None) -> bool:
        """Whether the page makes the tensor from its operands: every bit of it where they are only moved."""
        if ref in self.left and rule is not None:
            return True
        if not node.op.moves or rule is None or not node.operands:
            return False
        operands = [r for r in node.operands if r is not None]
        return all(
            ref not in r.changed
            and ref not in r.patched
            and all(o in r.values and o not in self.missing for o in operands)
            for r in self.records
        )

    def _numbers(self, found: Record) -> array.array[float]:
        numbers = array.array("d")
        for ref, place in self.place.items():
            if self.tensors[place].get("data") is not None:
                numbers.extend(found.values[ref])
        return numbers

    def _rule(
        self, name: str, op: Op, operands: Any, attributes: Mapping[str, Any], port: int, shape: Any, ports: int
    ) -> int | None:
        """The place of the rule for one output; None where the op does not say how its cells come about."""
        if op.explain is None:
            return None
        specs = tuple(padded(op, self.graph.operand_specs(operands)))
        key = (op.name, specs, tuple(sorted(attributes.items(), key=str)), port)
        if key not in self.rules:
            given = {**attributes, **({"port": port} if ports > 1 else {})}
            explain = partial(op.told, "explain", name)
            written = (
                rule_json(rule_of(explain, shape, specs, given))
                if operands
                else texts_json(texts_of(explain, shape, given))
                if _worded(op)
                else None
            )
            if written is None:
                return None
            self.rules[key] = len(self.rule_list)
            self.rule_list.append(written)
        return self.rules[key]

    # ------------------------------------------------------------ ops, scopes, labels

    def _op(self, op: Op) -> int:
        if op.name not in self.ops:
            told: dict[str, Any] = {
                "name": op.name,
                "title": op.title,
                "glyph": op.glyph,
                "formula": op.formula,
                "family": op.family,
                "level": op.level,
            }
            flags = (("moves", op.moves), ("fed", op.fed), ("share", is_share(op)), ("beside", bool(op.drawn)))
            told.update((key, True) for key, flag in flags if flag)
            self.ops[op.name] = told
        return list(self.ops).index(op.name)

    def _scope(self, scope: Scope) -> dict[str, Any]:
        told: dict[str, Any] = {"name": scope.name, "title": clean(scope.title or "")}
        if scope.parent in self.scopes:
            told["parent"] = self.scopes[scope.parent]
        if scope.op is not None:
            told["op"] = self._op(scope.op)
            told["operands"] = self._places(padded(scope.op, scope.operands))
            told["outputs"] = self._places(scope.outputs)
            rules = [
                self._rule(
                    scope.name, scope.op, scope.operands, scope.attributes, port, self.graph.spec(ref).shape,
                    len(scope.outputs),
                )
                for port, ref in enumerate(scope.outputs)
            ]  # fmt: skip
            if all(rule is not None for rule in rules):
                told["rules"] = rules
        return told

    def _views(self) -> dict[str, Any]:
        """The views, with the places of tensors for their names."""
        closed = self.graph.fused() if self.graph.at(LEVELS[-1]) is self.graph else self.graph
        known = {ROOT, *self.graph.scopes}
        found = {name: view for name, view in views(closed).items() if name in known}
        for view in found.values():
            for box in view["boxes"]:
                if box.get("scope") not in known:  # nothing is known of what is inside
                    box.pop("scope", None)
            for arrow in (*view["arrows"], *view["in"], *view["out"]):
                arrow["tensor"] = self.place[self.graph.resolve(arrow["tensor"])]
        return found

    def _left_notes(self) -> Iterator[str]:
        """What is left out, in words."""
        for refs, what in ((self.missing, "are left out"), (self.left, "are computed by the page itself")):
            if refs:
                names = listed((self.names[ref] for ref in refs), 6)
                yield f"with all numbers in it the page would be too large; these {what}: {names}"

    def _aliases(self) -> dict[str, int]:
        """What else tensors are called."""
        known = set(self.names.values())
        own = {
            node.tensor_name(p): Ref(node.name, p)
            for node in self.graph.nodes.values()
            for p in range(len(node.ports))
        }
        return {n: self.place[ref] for n, ref in {**own, **self.graph.aliases}.items() if n not in known}

    def _labels(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for axis, names in self.trace.labels.items():
            shown = [
                label(name) + (subscript(i) if names.count(name) > 1 else "") for i, name in enumerate(names)
            ]
            found[axis] = [shown, None if shown == list(names) else list(names)]
        return found


def _worded(op: Op) -> bool:
    """Whether an op without operands says of its cells, in a text of its own, why they are so."""
    return not op.fed and "value" not in op.parameters


def _hex(mask: bytes) -> str:
    """Bits, eight to a byte, the first one lowest."""
    bits = sum(1 << i for i, hidden in enumerate(mask) if hidden)
    return bits.to_bytes(math.ceil(len(mask) / 8), "little").hex()
