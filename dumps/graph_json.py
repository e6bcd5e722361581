"""A graph as JSON in networkx's node-link form, and back.

    {"format": "graphattn graph", "version": 1, "directed": true, "multigraph": true,
     "graph": {"name": …, "title": …, "scopes": […], "aliases": {…}, "outputs": {…}},
     "nodes": [{"id": "y", "op": "softmax", "attributes": {…}, "title": …, "scope": …, "outputs": […]}],
     "edges": [{"source": "x", "target": "y", "key": 0, "slot": 0, "port": 0}]}

`networkx.node_link_graph(data, edges="edges")` loads it too. An edge says which output (`port`) of
its source is which operand (`slot`) of its target. Nodes may come in any order in a file: they are
sorted, and keep their order where it is right already. JSON has no infinities: in attributes they
are {"float": "inf"}, since a text may be "inf" too; tuples are lists.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import networkx as nx

from graphattn.core import nested
from graphattn.core.axes import Spec, describe
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node, Ref
from graphattn.core.nested import RANK_LIMIT
from graphattn.core.op import find
from graphattn.core.words import DECIMAL_LIMIT, read_integer, typed
from graphattn.dumps.assembly import Assembly, need_readable, place
from graphattn.dumps.literals import printable, shortened
from graphattn.dumps.rows import operand_names, scopes_in_order, shown_attributes

FORMAT = "graphattn graph"
VERSION = 1
_LONG = 10**4000  # Python neither prints nor reads longer integers in decimal


# ---------------------------------------------------------------- writing


def graph_json(graph: Graph) -> str:
    """The graph as JSON text, a line for each node and edge; `read_graph_json` reads it back."""
    return json_text(graph_data(graph))


def graph_data(graph: Graph) -> dict[str, Any]:
    """The graph as dicts and lists that JSON can hold (see the module's docstring). Raises a `GraphError` where
    it would not be read back."""
    need_readable(graph)
    return {
        "format": FORMAT,
        "version": VERSION,
        "directed": True,
        "multigraph": True,
        "graph": {
            "name": graph.name,
            "title": graph.title,
            "scopes": [
                {
                    "name": scope.name,
                    "parent": scope.parent,
                    "title": scope.title,
                    "op": scope.op and scope.op.name,
                    "operands": list(operand_names(graph, scope.operands)),
                    "attributes": _attributes(scope.op, scope.attributes) if scope.op else {},
                    "outputs": list(operand_names(graph, scope.outputs)),
                }
                for scope in scopes_in_order(graph)
            ],
            "aliases": {name: graph.tensor_name(ref) for name, ref in graph.aliases.items()},
            "outputs": {name: tensor.name for name, tensor in graph.outputs.items()},
        },
        "nodes": [
            {
                "id": node.name,
                "op": node.op.name,
                "attributes": _attributes(node.op, node.attributes),
                "title": node.title,
                "scope": node.scope,
                "outputs": [
                    {"name": node.tensor_name(port), **spec_data(spec)}
                    for port, spec in enumerate(node.outputs)
                ],
            }
            for node in graph.nodes.values()
        ],
        "edges": [
            {"source": ref.node, "target": node.name, "key": slot, "slot": slot, "port": ref.port}
            for node in graph.nodes.values()
            for slot, ref in enumerate(node.operands)
            if ref is not None
        ],
    }


def spec_data(spec: Spec) -> dict[str, Any]:
    """Shape, axes and kind of a tensor."""
    return {"shape": list(spec.shape), "axes": list(spec.axes), "kind": spec.kind}


def _attributes(op: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _plain(value) for key, value in shown_attributes(op, attributes).items()}


def _plain(value: Any) -> Any:
    """An attribute as JSON can hold it."""
    value = nested.tuples(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= _LONG:
        return {"int": hex(value)}
    return value


def json_text(data: Mapping[str, Any]) -> str:
    """Strict JSON with a line for each entry, and for each item of a list of dicts."""
    return printable("".join(_pieces(data, "")) + "\n")


def _pieces(data: Mapping[str, Any], margin: str) -> Iterator[str]:
    yield "{"
    for place_, (key, value) in enumerate(data.items()):
        yield f"{',' if place_ else ''}\n{margin} {_compact(key)}: "
        if isinstance(value, dict) and any(isinstance(item, (dict, list)) for item in value.values()):
            yield from _pieces(value, margin + " ")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            items = f",\n{margin}  ".join(map(_compact, value))
            yield f"[\n{margin}  {items}\n{margin} ]"
        else:
            yield _compact(value)
    yield f"\n{margin}}}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# ---------------------------------------------------------------- reading


def read_graph_json(text: str) -> Graph:
    """The graph that a JSON text holds. Raises a `GraphError` that names the place and says what was
    expected there."""
    return graph_of(read_json(text, "graph JSON"), "graph JSON")


def read_json(text: str, what: str) -> Any:
    """Strict JSON: no NaN, no infinities, no key twice. `what` is how messages call the text."""
    if not isinstance(text, str):
        raise GraphError(f"{what} is {typed(text)}; expected text")

    def constant(word: str) -> Any:
        raise GraphError(f"{what}: {word} is not JSON; expected a number or a text")

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            keys = [key for key, _ in items]
            twice = next(key for key in keys if keys.count(key) > 1)
            raise GraphError(f"{what}: key {shortened(twice)} is there twice in one object; expected it once")
        return found

    try:
        return json.loads(
            text.removeprefix("\ufeff"),
            parse_constant=constant,
            parse_int=read_integer,
            object_pairs_hook=pairs,
        )
    except GraphError:
        raise
    except json.JSONDecodeError as error:
        end = "; the text ends too early" if error.pos >= len(text.rstrip()) else ""
        raise GraphError(f"{what}, line {error.lineno}, column {error.colno}: {error.msg}{end}") from None
    except (RecursionError, MemoryError):
        raise GraphError(f"{what} is nested too deep; expected at most some {RANK_LIMIT} levels") from None
    except ValueError:
        raise GraphError(
            f"{what} holds an integer of more than {DECIMAL_LIMIT:,} digits; expected fewer"
        ) from None


def check_format(data: Any, form: str, what: str) -> None:
    """Raise unless JSON data says that it is of this format, in a version that is known."""
    need(data, dict, what)
    if data.get("format") != form:
        raise GraphError(f"{what}: format is {_shown(data.get('format'))}; expected {form!r}")
    if data.get("version") != VERSION or isinstance(data.get("version"), bool):
        raise GraphError(f"{what}: version {_shown(data.get('version'))} is not known; expected {VERSION}")


def graph_of(data: Any, what: str) -> Graph:
    """The graph in JSON data as `graph_data` gives it."""
    check_format(data, FORMAT, what)
    if data.get("directed") is not True or data.get("multigraph") is not True:
        raise GraphError(f"{what}: directed and multigraph must be true; expected a node-link form of a DAG")
    head = entry(data, "graph", dict, what)
    with place(what):
        assembly = Assembly(entry(head, "name", str, "graph"), entry(head, "title", str, "graph", ""))
    scopes = [
        need(item, dict, f"{what}: scopes[{i}]") for i, item in enumerate(entry(head, "scopes", list, what, []))
    ]
    for i, scope in enumerate(scopes):
        where = f"{what}: scopes[{i}]"
        with place(where):
            assembly.scope(*(entry(scope, key, kind, "", None) for key, kind in _SCOPE_KEYS))
    for record, refs in _sorted(data, what):
        where = f"{what}: node {_shown(record['id'])}"
        with place(where):
            _add(assembly, record, refs)
    for i, scope in enumerate(scopes):
        if scope.get("op") is not None:
            with place(f"{what}: scopes[{i}]"):
                _composite(assembly, scope)
    for key, what_it_is, name_it in (
        ("aliases", "alias", assembly.alias),
        ("outputs", "output", assembly.output),
    ):
        for name, tensor in entry(head, key, dict, what, {}).items():
            with place(what):
                name_it(name, _tensor(assembly, tensor, f"{what_it_is} {name!r}"))
    return assembly.graph


_SCOPE_KEYS = (("name", str), ("title", str), ("parent", str))


def need(value: Any, kind: type, what: str) -> Any:
    """The value itself, if it is of that JSON type."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise GraphError(f"{what} is {_shown(value)}; expected {_KINDS[kind]}")
    return value


_KINDS = {dict: "an object", list: "a list", str: "a text", int: "an integer", bool: "true or false"}
_MISSING: Any = object()


def entry(data: Mapping[str, Any], key: str, kind: type, what: str = "", default: Any = _MISSING) -> Any:
    """The value of a key, of that JSON type; the default where there is none (or null, if that is
    the default). `what` is how messages call the object, where they do not already."""
    value = data.get(key, default)
    if value is _MISSING:
        raise GraphError(f"{what or 'it'} has no {key!r}; expected {_KINDS[kind]}")
    return value if value is default else need(value, kind, f"{what}: {key}" if what else key)


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return shortened(value) if isinstance(value, str) else json.dumps(value)[:40]


def _sorted(
    data: Mapping[str, Any], what: str
) -> Iterator[tuple[dict[str, Any], list[tuple[str, int] | None]]]:
    """Node records with their operands, producers before consumers, else in the order of the file."""
    records: dict[str, dict[str, Any]] = {}
    for i, item in enumerate(entry(data, "nodes", list, what)):
        where = f"{what}: nodes[{i}]"
        name = entry(need(item, dict, where), "id", str, where)
        if name in records:
            raise GraphError(f"{where}: node {name!r} is there already; expected a new name")
        records[name] = item
    operands = _operands(data, records, what)
    dag = nx.DiGraph()
    dag.add_nodes_from(records)
    dag.add_edges_from((ref[0], name) for name, refs in operands.items() for ref in refs if ref)
    position = {name: i for i, name in enumerate(records)}
    try:
        for name in nx.lexicographical_topological_sort(dag, position.__getitem__):
            yield records[name], operands[name]
    except nx.NetworkXUnfeasible:
        raise GraphError(
            f"{what}: {' → '.join(_cycle(dag))} is a cycle; expected a graph without one"
        ) from None


def _operands(
    data: Mapping[str, Any], records: Mapping[str, Any], what: str
) -> dict[str, list[tuple[str, int] | None]]:
    """For each node, the source and port of each operand."""
    found: dict[str, dict[int, tuple[str, int]]] = {name: {} for name in records}
    for i, edge in enumerate(entry(data, "edges", list, what)):
        where = f"{what}: edges[{i}]"
        need(edge, dict, where)
        source, target = entry(edge, "source", str, where), entry(edge, "target", str, where)
        slot, port = entry(edge, "slot", int, where), entry(edge, "port", int, where)
        for end, name in (("source", source), ("target", target)):
            if name not in records:
                raise GraphError(
                    f"{where}: {end} {shortened(name)} is not among the nodes; expected one of them"
                )
        if slot in found[target]:
            raise GraphError(f"{where}: slot {slot} of {target!r} has an edge already; expected one")
        if slot < 0 or port < 0:
            raise GraphError(f"{where}: slot {slot} and port {port} must be 0 or more")
        found[target][slot] = (source, port)
    operands: dict[str, list[tuple[str, int] | None]] = {}
    for name, slots in found.items():
        with place(f"{what}: node {shortened(name)}"):
            declared = len(find(entry(records[name], "op", str)).operands)
        count = max(slots, default=-1) + 1
        if count > max(declared, len(slots)):
            raise GraphError(
                f"{what}: node {shortened(name)} has an operand in slot {count - 1} and holes before it"
            )
        operands[name] = [slots.get(slot) for slot in range(count)]
    return operands


def _cycle(dag: nx.DiGraph) -> list[str]:
    """The nodes of one cycle, in the direction of the data, from the one that stands first in the file."""
    path = [edge[0] for edge in nx.find_cycle(dag)]
    order = {name: place for place, name in enumerate(dag)}
    start = path.index(min(path, key=order.__getitem__))
    path = path[start:] + path[:start]
    shown = path if len(path) <= 8 else [*path[:7], f"({len(path) - 7} more)"]
    return [*shown, shown[0]]


def _add(assembly: Assembly, record: Mapping[str, Any], operands: Iterable[tuple[str, int] | None]) -> None:
    name, graph = record["id"], assembly.graph
    refs = []
    for operand in operands:
        if operand is not None and operand[1] >= len(graph.nodes[operand[0]].ports):
            raise GraphError(f"operand {operand[0]!r} has no output {operand[1]}")
        refs.append(None if operand is None else Ref(*operand))
    title, scope = entry(record, "title", str, "", None), entry(record, "scope", str, "", None)
    attributes = read_attributes(entry(record, "attributes", dict, "", {}))
    assembly.node(name, record["op"], refs, attributes, title, scope)
    if record.get("outputs") is not None:
        _check_outputs(graph.nodes[name], entry(record, "outputs", list))


def _check_outputs(node: Node, told: Sequence[Any]) -> None:
    """What the file says of shapes must be what the op's rule gives."""
    if len(told) != len(node.outputs):
        raise GraphError(f"it has {len(told)} outputs; {node.op.name} gives {len(node.outputs)}")
    for spec, item in zip(node.outputs, told, strict=True):
        need(item, dict, "an output")
        shape, kind = entry(item, "shape", list, "an output"), entry(item, "kind", str, "an output")
        if shape != list(spec.shape) or kind != spec.kind:
            said = f"{' × '.join(map(str, shape[:8])) or 'scalar'} of {shortened(kind)}"
            raise GraphError(f"an output is {said}; {node.op.name} gives {describe(spec)}")


def _tensor(assembly: Assembly, name: Any, who: str) -> Ref:
    return assembly.exactly(need(name, str, f"{who}: a tensor"), who)


def _composite(assembly: Assembly, scope: Mapping[str, Any]) -> None:
    name = scope["name"]
    who = f"scope {name!r}"
    refs = [
        None if tensor is None else _tensor(assembly, tensor, who)
        for tensor in entry(scope, "operands", list, "", [])
    ]
    outputs = [_tensor(assembly, tensor, who) for tensor in entry(scope, "outputs", list, "", [])]
    attributes = read_attributes(entry(scope, "attributes", dict, "", {}))
    assembly.composite(name, entry(scope, "op", str), refs, attributes, outputs)


def read_attributes(data: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes from JSON data."""
    return {key: _attribute(value, key) for key, value in data.items()}


def _attribute(value: Any, key: str, depth: int = 0) -> Any:
    if isinstance(value, list):
        if depth >= RANK_LIMIT:
            raise GraphError(f"attribute {key!r} is nested deeper than {RANK_LIMIT} lists")
        return tuple(_attribute(item, key, depth + 1) for item in value)
    if not isinstance(value, dict):
        if isinstance(value, float) and math.isinf(value):
            raise GraphError(f"attribute {key!r} is too large; expected a number that a double can hold")
        return value
    if value.keys() == {"float"} and value["float"] in ("inf", "-inf", "nan"):
        return float(value["float"])
    if value.keys() == {"int"} and isinstance(value["int"], str):
        try:
            return int(value["int"], 16)
        except ValueError:
            pass
    raise GraphError(
        f'attribute {key!r} is an object; expected a value, {{"float": "inf"}} or {{"int": "0x…"}}'
    )
