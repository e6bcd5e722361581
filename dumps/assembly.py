"""Build a graph from a file that nobody vouches for.

Readers hand over what a file says, record by record, and where it says so. Everything is checked
again as if it had been built by hand: names, operands, attributes, and each shape by the rule of
its op. What is wrong raises a `GraphError` of one sentence, which begins with the place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from graphattn.core.axes import describe
from graphattn.core.errors import GraphError, suggest
from graphattn.core.graph import Graph, Node, Ref, Scope, check_name
from graphattn.core.op import Op, find
from graphattn.dumps.literals import shortened

NAME_LIMIT = 1000
DEPTH_LIMIT = 64


@contextmanager
def place(where: str) -> Iterator[None]:
    """Let every `GraphError` that is raised inside begin with `where`."""
    try:
        yield
    except GraphError as error:
        raise GraphError(f"{where}: {error}") from None


class Assembly:
    """A graph in the making (see the module's docstring)."""

    def __init__(self, name: str, title: str = "") -> None:
        _check(name)
        self.graph = Graph(name, title)
        self.tensors: dict[str, Ref] = {}
        """Every output by its tensor name, and by the node's name where that has only one."""
        self._depths: dict[str, int] = {}

    def node(
        self,
        name: str,
        op: str,
        refs: Sequence[Ref | None],
        attributes: Mapping[str, Any],
        title: str | None = None,
        scope: str | None = None,
    ) -> None:
        """Add a node."""
        _check(name)
        if name in self.tensors:
            raise GraphError(f"node {name!r}: the name is taken; expected a new one")
        if scope is not None:
            self._need_scope(scope, f"node {name!r}")
        node = self._inferred(find(op), name, refs, attributes, title, scope)
        self.graph.adopt(node)
        if len(node.ports) == 1:
            self.tensors[name] = Ref(name)
        if node.ports == ("",):
            return
        for port in range(len(node.ports)):
            tensor = node.tensor_name(port)
            if self.tensors.setdefault(tensor, Ref(name, port)) != Ref(name, port):
                raise GraphError(f"node {name!r}: its output {tensor!r} has the name of another tensor")

    def scope(self, name: str, title: str | None = None, parent: str | None = None) -> None:
        """Declare a scope; what it was expanded from is told by `composite` when all nodes are there."""
        _check(name)
        if name in self.graph.scopes or name in self.graph.nodes or name in self.tensors:
            raise GraphError(f"scope {name!r}: the name is taken; expected a new one")
        if parent is not None:
            self._need_scope(parent, f"scope {name!r}")
        self._depths[name] = depth = 1 + (0 if parent is None else self._depths[parent])
        _need_shallow(name, depth)
        self.graph.adopt_scope(Scope(name, title=title, parent=parent))

    def composite(
        self,
        name: str,
        op: str,
        refs: Sequence[Ref | None],
        attributes: Mapping[str, Any],
        outputs: Sequence[Ref],
    ) -> None:
        """Say which call a declared scope was expanded from, and which tensors its outputs are."""
        scope = self.graph.scopes[name]
        node = self._inferred(find(op), name, refs, attributes, scope.title, scope.parent)
        if len(outputs) != len(node.ports):
            raise GraphError(f"scope {name!r} returns {len(outputs)} tensors; {op} gives {len(node.ports)}")
        for ref, spec in zip(outputs, node.outputs, strict=True):
            got = self.graph.spec(ref)
            if (got.shape, got.kind) != (spec.shape, spec.kind):
                raise GraphError(
                    f"scope {name!r} returns {self.graph.tensor_name(ref)!r}, which is {describe(got)};"
                    f" {op} gives {describe(spec)}"
                )
        self.graph.adopt_scope(
            Scope(
                name,
                node.op,
                node.operands,
                node.attributes,
                tuple(outputs),
                node.ports,
                scope.title,
                scope.parent,
            )
        )

    def alias(self, name: str, ref: Ref) -> None:
        """Let another name stand for a tensor: any text, as other formats call their tensors."""
        self._free(name, ref, "alias", self.graph.aliases)
        self.graph.adopt_alias(name, ref)

    def output(self, name: str, ref: Ref) -> None:
        """Name a result."""
        self._free(name, ref, "output", self.graph.outputs)
        if self.graph.aliases.get(name, ref) != ref:
            raise GraphError(f"output {name!r} names another tensor already; expected a new name")
        self.graph.adopt_output(name, ref)

    def exactly(self, tensor: str, who: str, expected: str = "a tensor of the graph") -> Ref:
        """The output of that very name; `who` refers to it."""
        ref = self.tensors.get(tensor)
        if ref is not None:
            return ref
        node = self.graph.nodes.get(tensor)
        if node is not None:
            ports = ", ".join(node.tensor_name(port) for port in range(min(len(node.ports), 8)))
            raise GraphError(f"{who} refers to {tensor!r}, which has several outputs; expected one of {ports}")
        near = suggest(tensor, self.tensors) if len(self.tensors) <= 10_000 else ""
        raise GraphError(f"{who} refers to {shortened(tensor)}; expected {expected}{near}")

    def within(self, word: str, scope: str | None, who: str, expected: str) -> Ref:
        """The output that a word means inside a scope: the innermost of that name, seen from there.
        A word that begins with a dot is counted from the top."""
        if word.startswith("."):
            return self.exactly(word[1:], who, expected)
        while scope is not None:
            ref = self.tensors.get(f"{scope}.{word}")
            if ref is not None:
                return ref
            scope = self.graph.scopes[scope].parent
        return self.exactly(word, who, expected)

    def _need_scope(self, scope: str, who: str) -> None:
        if scope not in self.graph.scopes:
            raise GraphError(f"{who} is in scope {scope!r}; expected a scope that is declared before it")

    def _free(self, name: str, ref: Ref, what: str, table: Mapping[str, Any]) -> None:
        _check(name, what == "alias")
        if name in table:
            raise GraphError(f"{what} {name!r} is declared already; expected a new name")
        if self.tensors.get(name, ref) != ref or (name in self.graph.nodes and ref.node != name):
            raise GraphError(f"{what} {name!r} names another tensor already; expected a new name")

    def _inferred(
        self,
        op: Op,
        name: str,
        refs: Sequence[Ref | None],
        attributes: Mapping[str, Any],
        title: str | None,
        scope: str | None,
    ) -> Node:
        operands = list(refs)
        while operands and operands[-1] is None:
            operands.pop()
        _check_operands(op, name, operands)
        full = _check_attributes(op, name, attributes)
        try:
            return self.graph.infer(op, tuple(operands), full, name, title, scope)
        except GraphError:
            raise
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise GraphError(f"{_called(op, name)}: its attributes do not fit ({error})") from None
        except MemoryError:
            raise GraphError(f"{_called(op, name)}: its attributes ask for more memory than there is") from None


def need_readable(graph: Graph) -> None:
    """Raise a `GraphError` for a graph with names that no reader takes."""
    for name in (graph.name, *graph.nodes, *graph.aliases, *graph.outputs):
        _need_short(name)
    depths: dict[str | None, int] = {None: 0}
    for scope in graph.scopes.values():
        _need_short(scope.name)
        depths[scope.name] = depth = 1 + depths.get(scope.parent, 0)
        _need_shallow(scope.name, depth)


def _need_short(name: str) -> None:
    if len(name) > NAME_LIMIT or name.count(".") >= DEPTH_LIMIT:
        raise GraphError(
            f"{name[:40]!r}… is too long for a name; expected at most {NAME_LIMIT} letters"
            f" and {DEPTH_LIMIT} parts"
        )


def _need_shallow(scope: str, depth: int) -> None:
    if depth > DEPTH_LIMIT:
        raise GraphError(f"scope {scope!r} is nested {depth} deep; expected at most {DEPTH_LIMIT}")


def _check(name: Any, any_text: bool = False) -> None:
    if isinstance(name, str):
        _need_short(name)
    if not any_text:
        check_name(name)


def _called(op: Op, name: str) -> str:
    """What messages call a node."""
    return f"{op.name} {name!r}"


def _check_operands(op: Op, name: str, refs: Sequence[Ref | None]) -> None:
    if not op.variadic and len(refs) > len(op.operands):
        raise GraphError(f"{_called(op, name)} takes {len(op.operands)} operands, got {len(refs)}")
    for slot, p in enumerate(op.operands):
        if p.required and (slot >= len(refs) or refs[slot] is None):
            raise GraphError(f"{_called(op, name)} needs operand {p.name!r} (slot {slot})")
    if op.variadic and None in refs[len(op.operands) - 1 :]:
        raise GraphError(f"{_called(op, name)} has a hole among its operands; expected a tensor in each slot")


def _check_attributes(op: Op, name: str, attributes: Mapping[str, Any]) -> dict[str, Any]:
    full = {**op.defaults, **attributes}
    for key in attributes if len(full) > len(op.defaults) else ():
        if key not in op.defaults:
            raise GraphError(f"{_called(op, name)} takes no attribute {key!r}{suggest(key, op.defaults)}")
    for p in op.parameters.values():
        if p.required and not p.operand and p.name not in attributes:
            raise GraphError(f"{_called(op, name)} needs attribute {p.name!r}")
    return full
