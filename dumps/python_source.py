"""A graph as one straight-line Python file that imports nothing but `math`.

`python_source(graph)` is the text of a file that defines one function: inputs and parameters are
its arguments, its result is the dict of outputs. Each node is one statement, under a comment that
says which tensor it is, its shape and its formula; above the function stand the few functions that
the statements call, cut out of the kernels themselves. Run on the same Python, the file gives the
numbers of `run`, bit for bit.

    # scores   token 4 × token 4   y[i, j] = Σₖ a[i, k] · b[k, j]
    scores = matmul(Q, keys)
    # weights   token 4 × token 4   exp(x − max) / Σ exp(x − max), each row
    weights = [softmax(row) for row in masked]

Names are those of the graph, cut to the shortest ending that is unique: `block.head0.weights` is
`head0_weights`. A name that is a builtin's or a function's gets an underscore. Comments have the full
names.
"""

from __future__ import annotations

import builtins
from collections import Counter
from collections.abc import Container, Iterator, Sequence

from graphattn.core import nested
from graphattn.core.axes import describe
from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node, Ref
from graphattn.core.interpreter import padded
from graphattn.core.numbers import FLOAT
from graphattn.dumps.function_source import Definitions
from graphattn.dumps.kernel_call import KernelCall
from graphattn.dumps.rows import NodeRow


def python_source(graph: Graph, level: str = "op", trace: bool = False) -> str:
    """The text of a Python file that computes what the graph computes (see the module's docstring).

    level: "op" or "primitive"; trace: whether the function returns every tensor by its name beside
    the outputs. A graph without outputs returns what no node uses. An op without a kernel stands as its
    expansion. Raises a `GraphError` for a coarser level, and where a kernel has no source of its own.
    """
    graph = graph.callable(level) if level in ("op", "primitive") else graph.at(level)
    for node in graph.nodes.values():
        if node.op.kernel is None and not node.op.fed:
            raise GraphError(
                f"{node.op.name} {node.name!r} has no kernel that Python source could call;"
                " expected level 'op' or 'primitive'"
            )
    return _Writer(graph).file(trace)


class _Writer:
    """Writes one graph: first which functions it needs, then the names, then the statements."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._short = _shortest([name for node in graph.nodes.values() for name in _tensor_names(node)])
        self.function = _free(_identifier(graph.name), {"math", *dir(builtins)})
        arguments = [_identifier(name) for name in graph.fed]
        self.definitions = Definitions([self.function, *arguments])
        self.calls = {n.name: self._kernel_call(n) for n in graph.nodes.values() if not n.op.fed}
        taken = {"math", self.function, *dir(builtins), *self.definitions.names}
        self.names: dict[Ref, str] = {}
        for node in (*self._fed(), *(n for n in graph.nodes.values() if not n.op.fed)):
            for port, full_name in enumerate(_tensor_names(node)):
                name = _free(_identifier(full_name if node.op.fed else self._short[full_name]), taken)
                taken.add(name)
                self.names[Ref(node.name, port)] = name
        self.taken = taken

    def _fed(self) -> list[Node]:
        """What is fed: first what must be, then what may be."""
        defaults = self.graph.defaults
        fed = [node for node in self.graph.nodes.values() if node.op.fed]
        return sorted(fed, key=lambda node: node.name in defaults)

    def _kernel_call(self, node: Node) -> KernelCall:
        assert node.op.kernel is not None
        specs = padded(node.op, self.graph.operand_specs(node.operands))
        kernel = node.op.told("kernel", node.name, FLOAT, *specs, **node.attributes)
        try:
            return KernelCall(self.definitions, kernel, specs)
        except GraphError as error:
            raise GraphError(f"{node.op.name} {node.name!r}: {error}") from None

    # ------------------------------------------------------------ the file

    def file(self, trace: bool) -> str:
        head = [f'"""{_docstring(self._summary(trace))}\n"""', "import math"]
        statements = list(self._body())
        if statements and not statements[0]:
            del statements[0]
        body = "\n".join([self._signature(), *statements, self._result(trace)])
        return "\n\n".join(head) + "\n\n\n" + "\n\n\n".join([*self._functions(), body]) + "\n"

    def _functions(self) -> list[str]:
        return [text for _, text in self.definitions.texts()]

    def _summary(self, trace: bool) -> str:
        graph = self.graph
        lines = [_printable(f"{graph.name}: {graph.title}" if graph.title else graph.name), ""]
        lines += [
            "Written by graphattn. Tensors are nested lists; nothing is checked, nothing is modified.",
            "",
        ]
        for node in self._fed():
            lines.append(f"    {self.names[Ref(node.name)]}   {_printable(describe(node.outputs[0]))}")
        for name, ref in self._outputs().items():
            lines.append(f"    → {name}   {_printable(describe(graph.spec(ref)))}")
        if trace:
            lines.append("    → every tensor besides, by its name")
        return "\n".join(lines)

    def _signature(self) -> str:
        arguments = []
        for node in self._fed():
            default = self.graph.defaults.get(node.name)
            cells = (
                None if default is None else nested.tuples(nested.full(node.outputs[0].shape, float(default)))
            )
            given = "" if cells is None else f"={self.definitions.literal(cells)}"
            arguments.append(self.names[Ref(node.name)] + given)
        return _wrapped(f"def {self.function}(", arguments, "):", "")

    def _body(self) -> Iterator[str]:
        scope = None
        for node in self.graph.nodes.values():
            if node.op.fed:
                continue
            if node.scope != scope:
                scope = node.scope
                yield from ("", f"    # ---------------- {self._heading(scope)}", "")
            yield f"    # {_printable(self._comment(node))}"
            yield from (f"    {line}" for line in self._statement(node))

    def _heading(self, name: str | None) -> str:
        if name is None:
            return self.graph.name
        scope = self.graph.scopes[name]
        told = [scope.op.name if scope.op else "", scope.title or ""]
        return _printable("   ".join([name, *filter(None, told)]))

    def _comment(self, node: Node) -> str:
        names = node.name if len(node.ports) == 1 else f"{node.name}: {', '.join(node.ports)}"
        row = NodeRow(self.graph, node)
        shape = describe(node.outputs[0]) if node.outputs else ""
        return "   ".join(filter(None, [names, shape, row.formula, row.note]))

    def _statement(self, node: Node) -> list[str]:
        targets = ", ".join(self.names[Ref(node.name, port)] for port in range(len(node.ports)))
        operands = [None if ref is None else self.names[ref] for ref in padded(node.op, node.operands)]
        labels = [node.op.operand_name(slot) for slot in range(len(operands))]
        return self.calls[node.name].lines(f"{targets} = ", operands, labels, self.taken)

    def _outputs(self) -> dict[str, Ref]:
        """The declared outputs, or else what no node uses."""
        declared = {name: tensor.ref for name, tensor in self.graph.outputs.items()}
        if declared:
            return declared
        used = {ref for node in self.graph.nodes.values() for ref in node.operands}
        return {self.graph.tensor_name(ref): ref for ref in self.names if ref not in used}

    def _result(self, trace: bool) -> str:
        found = self._outputs()
        if trace:
            found = {**found, **{self.graph.tensor_name(ref): ref for ref in self.names}}
        items = [f'"{name}": {self.names[ref]}' for name, ref in found.items()]
        return _wrapped("    return {", items, "}", "    ")


def _tensor_names(node: Node) -> list[str]:
    return [node.tensor_name(port) for port in range(len(node.ports))]


def _shortest(names: list[str]) -> dict[str, str]:
    """For each dotted name its shortest ending that no other name has."""
    endings = {name: [name.split(".", skip)[-1] for skip in range(name.count("."), -1, -1)] for name in names}
    count = Counter(ending for found in endings.values() for ending in found)
    return {name: next((e for e in found if count[e] == 1), name) for name, found in endings.items()}


def _identifier(name: str) -> str:
    return name.replace(".", "_")


def _free(name: str, taken: Container[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _printable(text: str) -> str:
    """Text that may stand in a comment of one line: what is not printable as an escape."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', '\\"""').rstrip()


def _wrapped(start: str, items: Sequence[str], end: str, indent: str, width: int = 100) -> str:
    """Items on one line, or where that is too long each on its own."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= width:
        return line
    return "\n".join([start, *(f"{indent}    {item}," for item in items), f"{indent}{end}"])
