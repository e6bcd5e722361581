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
import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from graphattn.axes import Spec, describe
from graphattn.dumps.function_source import OPERATORS, Definitions, Expression
from graphattn.errors import GraphError
from graphattn.graph import Graph, Node, Ref
from graphattn.interpreter import padded
from graphattn.numbers import FLOAT
from graphattn.op import Kernel


def python_source(graph: Graph, level: str = "op", trace: bool = False) -> str:
    """The text of a Python file that computes what the graph computes (see the module's docstring).

    level: "op" or "primitive"; trace: whether the function returns every tensor by its name beside
    the outputs. A graph without outputs returns what no node uses. Raises a `GraphError` where a
    node has no kernel at this level, or one without a source of its own.
    """
    graph = graph.at(level)
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
        arguments = [_identifier(name) for name in graph.inputs]
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
        return [node for node in self.graph.nodes.values() if node.op.fed]

    def _kernel_call(self, node: Node) -> KernelCall:
        assert node.op.kernel is not None
        specs = padded(node.op, self.graph.operand_specs(node.operands))
        kernel = node.op.kernel(FLOAT, *specs, **node.attributes)
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
        arguments = [self.names[Ref(node.name)] for node in self._fed()]
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
            yield f"    {self._statement(node)}"

    def _heading(self, name: str | None) -> str:
        if name is None:
            return self.graph.name
        scope = self.graph.scopes[name]
        told = [scope.op.name if scope.op else "", scope.title or ""]
        return _printable("   ".join([name, *filter(None, told)]))

    def _comment(self, node: Node) -> str:
        names = node.name if len(node.ports) == 1 else f"{node.name}: {', '.join(node.ports)}"
        specs = self.graph.operand_specs(node.operands)
        note = node.op.note(*padded(node.op, specs), **node.attributes) if node.op.note else ""
        shape = describe(node.outputs[0]) if node.outputs else ""
        return "   ".join(filter(None, [names, shape, node.op.formula, note]))

    def _statement(self, node: Node) -> str:
        targets = ", ".join(self.names[Ref(node.name, port)] for port in range(len(node.ports)))
        operands = [None if ref is None else self.names[ref] for ref in padded(node.op, node.operands)]
        labels = [node.op.operand_name(slot) for slot in range(len(operands))]
        return f"{targets} = {self.calls[node.name].written(operands, labels, self.taken)}"

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


class KernelCall:
    """How a kernel is called in a file: its function there, mapped over the axes before its blocks.

    What is the same wherever the op is used (functions and constants of the number type, operands
    that are left out, options that are text) is put into the function; sizes and numbers are arguments.
    """

    def __init__(self, definitions: Definitions, kernel: Kernel, specs: Sequence[Spec | None]) -> None:
        function: Any = kernel.function
        bound = dict(kernel.bound)
        while isinstance(function, partial):
            bound = {**function.keywords, **bound}
            function = function.func
        self.definitions = definitions
        self.kernel = kernel
        self.shapes = [None if spec is None else spec.shape for spec in specs]
        self.operator = OPERATORS.get(function)
        if self.operator is not None:
            return
        parameters = _parameters(function)
        fixed = {name: value for name, value in bound.items() if _is_fixed(value)}
        left_out = [slot for slot, spec in enumerate(specs) if spec is None]
        fixed |= {parameters[slot].name: None for slot in left_out if slot < len(parameters)}
        defaults = {parameter.name: parameter.default for parameter in parameters}
        self.arguments = [
            f"{name}={definitions.literal(value)}"
            for name, value in bound.items()
            if name not in fixed and repr(defaults.get(name)) != repr(value)
        ]
        self.name = definitions.use(function, fixed)

    def written(self, operands: Sequence[str | None], labels: Sequence[str], taken: Iterable[str] = ()) -> str:
        """The call on operands that are written so; labels are what the op calls them."""
        kernel = self.kernel
        given = [
            (text, shape, rank + kernel.along, label)
            for text, shape, rank, label in zip(operands, self.shapes, kernel.ranks, labels)
            if text is not None and shape is not None
        ]
        self.taken = set(taken)
        leads = [shape[: max(len(shape) - rank, 0)] for _, shape, rank, _ in given]
        return self._level([text for text, *_ in given], leads, given)

    def _level(self, texts: list[str], leads: list[tuple[int, ...]], given: list[Any]) -> str:
        """One leading axis as a comprehension, the next ones inside it."""
        depth = max(map(len, leads), default=0)
        if not depth:
            return self._block(texts)
        sizes = [lead[0] if len(lead) == depth else None for lead in leads]
        count = next((size for size in sizes if size not in (None, 1)), 1)
        items, loops, inner = [], [], []
        for text, size, lead, (_, _, rank, label) in zip(texts, sizes, leads, given, strict=True):
            inner.append(lead if size is None else lead[1:])
            if size is None:
                items.append(text)
            elif size == count:
                alone = sum(s == count for s in sizes) == 1
                variable = self._variable(rank + len(lead) - 1, "" if alone else label)
                loops.append((variable, text))
                items.append(variable)
            else:
                items.append(f"{text}[0]")
        variables = ", ".join(variable for variable, _ in loops)
        over = loops[0][1] if len(loops) == 1 else f"zip({', '.join(text for _, text in loops)})"
        several = self.kernel.outputs
        if several != 1 and not count:
            return f"({', '.join(['[]'] * several)})"
        mapped = f"[{self._level(items, inner, given)} for {variables} in {over}]"
        return mapped if several == 1 else f"map(list, zip(*{mapped}))"

    def _block(self, texts: list[str]) -> str:
        if self.kernel.along:
            return self._along(texts[0], self.kernel.along)
        return self._call(texts)

    def _along(self, text: str, inside: int) -> str:
        """Along an axis with others within: transposed, row by row, and back (`nested.along`)."""
        if not inside:
            return self._call([text])
        variable = self._variable(inside, "column")
        within = self._along(variable, inside - 1)
        row = self._variable(inside, "row")
        return f"[list({row}) for {row} in zip(*[{within} for {variable} in zip(*{text})])]"

    def _call(self, texts: list[str]) -> str:
        if self.operator is not None:
            return self.operator.format(*texts)
        return f"{self.name}({', '.join([*texts, *self.arguments])})"

    def _variable(self, rank: int, label: str) -> str:
        """A name for the items of a loop: v, row, matrix, block3, and whose they are if several."""
        label = _identifier(label.replace("[", "").replace("]", ""))
        kind = ("v", "row", "matrix")[rank] if rank < 3 else f"block{rank}"
        name = (
            kind if not label else label if not rank and label not in ("column", "row") else f"{label}_{kind}"
        )
        return _free(name, self.taken)


def _is_fixed(value: Any) -> bool:
    """Whether a bound value is put into the function: it does not vary from node to node."""
    if isinstance(value, Expression):
        return False
    if isinstance(value, float):
        return value == 0.0 or not math.isfinite(value)
    return value is None or isinstance(value, (bool, str)) or callable(value)


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []


def _tensor_names(node: Node) -> list[str]:
    return [node.tensor_name(port) for port in range(len(node.ports))]


def _shortest(names: list[str]) -> dict[str, str]:
    """For each dotted name its shortest ending that no other name has."""
    endings = {name: [name.split(".", skip)[-1] for skip in range(name.count("."), -1, -1)] for name in names}
    count = Counter(ending for found in endings.values() for ending in found)
    return {name: next((e for e in found if count[e] == 1), name) for name, found in endings.items()}


def _identifier(name: str) -> str:
    return name.replace(".", "_")


def _free(name: str, taken: Iterable[str]) -> str:
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
