"""The expansion of a composite as a plain function on matrices, for a file of Python source.

An expansion is Python that builds graph: `scores = g.matmul(q, keys, name="scores")`. Here the same
statements, comments and branches become Python that computes, at any size:

    scores = matmul(Q, keys)

Each call of a builder becomes the call of that op's kernel (`kernel_call.py`), names and titles of
nodes are dropped, `x.shape[-1]` is `len(x[0])`, and what is fixed (a projection that is left out)
disappears with the branches that it decides.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphattn.core.axes import Spec
from graphattn.core.errors import GraphError
from graphattn.core.numbers import FLOAT, Numbers
from graphattn.core.op import Op, find
from graphattn.dumps.function_source import REMOVED, Definitions, Expression, FunctionWriter
from graphattn.dumps.kernel_call import KernelCall

MATRIX = (2, 2)
"""The shape that stands for any matrix: the ranks of a kernel do not depend on the sizes."""


@dataclass(frozen=True)
class Signature:
    """How a file calls an op: the name of its function, and for each parameter of the op that is left
    the name that it has there, in the order of the function's parameters."""

    name: str
    parameters: Mapping[str, str]
    doc: str = ""


def define_expansion(
    definitions: Definitions,
    op: Op,
    signature: Signature,
    others: Mapping[str, Signature],
    masks: tuple[str, ...] = (),
) -> None:
    """Add the function of a composite to the definitions.

    others: composites that the file has already, by op; masks: the parameters of the op that are
    matrices of bools (all other operands are matrices of floats). Attributes that the signature does
    not list have their defaults, operands None.
    """
    if op.expand is None:
        raise GraphError(f"op {op.name!r} has no expansion; expected a composite")
    writer = _ExpansionWriter(definitions, op, signature, others, masks)
    definitions.add(signature.name, writer.written())


class _ExpansionWriter(FunctionWriter):
    def __init__(
        self, definitions: Definitions, op: Op, signature: Signature, others: Mapping[str, Signature],
        masks: tuple[str, ...],
    ) -> None:  # fmt: skip
        assert op.expand is not None
        expand: Any = inspect.unwrap(op.expand)
        self.builder = expand.__code__.co_varnames[0]
        fixed = {p.name: p.default for p in op.parameters.values() if p.name not in signature.parameters}
        super().__init__(
            definitions, sys.modules[expand.__module__], expand.__name__, signature.name,
            {self.builder: Expression(self.builder), **fixed}, signature.parameters, signature.doc or None,
        )  # fmt: skip
        self.op = op
        self.others = others
        self.masks = masks
        self.live: set[str] = set()

    def function(self, node: ast.FunctionDef) -> str:
        while True:  # until no statement is found that a live one needs
            found = {name for statement in node.body for name in self._loads(statement)}
            if found <= self.live:
                break
            self.live |= found
        return super().function(node)

    def parameters(self, args: ast.arguments) -> list[str]:
        return [
            new if self.op.parameters[old].required else f"{new}={self.op.parameters[old].default!r}"
            for old, new in self.rename.items()
        ]

    def replaced(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.Assign):
            return self._assign(node)
        if isinstance(node, ast.Subscript):
            return self._size(node)
        if isinstance(node, ast.Call) and self._builds(node):
            return self._built(node)
        return super().replaced(node)

    # ------------------------------------------------------------ statements that nothing needs

    def _loads(self, node: ast.AST) -> Iterator[str]:
        """The names that the statements which stay read."""
        if isinstance(node, ast.Assign) and not self._targets(node) & self.live:
            return
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        skipped: list[ast.AST] = []
        if isinstance(node, (ast.If, ast.IfExp)):
            known, value = self.static(node.test)
            dropped: Any = (node.orelse if value else node.body) if known else []
            skipped = dropped if isinstance(dropped, list) else [dropped]
        elif isinstance(node, ast.Call) and self._builds(node):
            skipped = [keyword for keyword in node.keywords if keyword.arg in ("name", "title")]
        for child in ast.iter_child_nodes(node):
            if child not in skipped:
                yield from self._loads(child)

    @staticmethod
    def _targets(node: ast.Assign) -> set[str]:
        return {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}

    def _assign(self, node: ast.Assign) -> str | None:
        """An assignment that nothing reads is dropped, and so are the idle ones of `a, b = x, y`."""
        if not self._targets(node) & self.live:
            return REMOVED
        target, value = node.targets[0], node.value
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = zip(target.elts, value.elts, strict=True)
            kept = [(self.text(t), self.text(v)) for t, v in pairs if getattr(t, "id", None) in self.live]
            return f"{', '.join(t for t, _ in kept)} = {', '.join(v for _, v in kept)}"
        return None

    # ------------------------------------------------------------ expressions

    def _size(self, node: ast.Subscript) -> str | None:
        """`x.shape[-2]` and `x.shape[-1]` of a matrix."""
        if not (isinstance(node.value, ast.Attribute) and node.value.attr == "shape"):
            return None
        owner, axis = self.text(node.value.value), ast.unparse(node.slice)
        if axis not in ("-1", "-2"):
            raise GraphError(f"{self.op.name} reads axis {axis} of {owner}; expected -1 or -2, of a matrix")
        return f"len({owner}[0])" if axis == "-1" else f"len({owner})"

    def _builds(self, node: ast.Call) -> bool:
        function = node.func
        return (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Name)
            and function.value.id == self.builder
        )

    def _built(self, node: ast.Call) -> str:
        """A call of a builder, as the call of what it builds."""
        assert isinstance(node.func, ast.Attribute)
        op = find(node.func.attr)
        if op.name in self.others:
            return self._other(op, node)
        if op.kernel is None:
            raise GraphError(
                f"{op.name} has neither a kernel nor a function in this file; expected one of them"
            )
        given = self._given(op, node)
        attributes = {k: self._value(given[k]) if k in given else v for k, v in op.defaults.items()}
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            return self._together(op, node.args, attributes)
        variadic = any(p.variadic for p in op.operands)
        operands = node.args if variadic else [given.get(p.name) for p in op.operands]
        specs = [self._spec(operand) for operand in operands]
        texts = [None if o is None or s is None else self.text(o) for o, s in zip(operands, specs, strict=True)]
        labels = [op.operand_name(slot) for slot in range(len(operands))]
        call = self._call_of(op, specs, attributes)
        lines = call.lines(" " * node.col_offset, texts, labels, self.bound | set(self.rename.values()))
        line = self.source.lines[node.lineno - 1]
        indent = line[: len(line) - len(line.lstrip())].decode()
        return ("\n" + indent).join(lines).lstrip()

    def _together(self, op: Op, arguments: list[ast.expr], attributes: Mapping[str, Any]) -> str:
        """A call with any number of matrices, `g.concat(*parts)`."""
        (starred,) = arguments
        assert isinstance(starred, ast.Starred)
        parts = self.text(starred.value)
        call = self._call_of(op, [Spec(MATRIX)] * 2, attributes)
        if call.kernel.ranks[0] == len(MATRIX):
            return call.call([f"*{parts}"])
        return f"[{call.call(['*rows'])} for rows in zip(*{parts})]"

    def _call_of(self, op: Op, specs: Sequence[Spec | None], attributes: Mapping[str, Any]) -> KernelCall:
        assert op.kernel is not None
        return KernelCall(self.definitions, op.kernel(_symbolic(self.definitions), *specs, **attributes), specs)

    def _given(self, op: Op, node: ast.Call) -> dict[str, ast.expr]:
        """The arguments of a builder by the op's parameters."""
        positional = [p.name for p in op.parameters.values() if not p.keyword_only and not p.variadic]
        keywords = {k.arg: k.value for k in node.keywords if k.arg is not None and k.arg in op.parameters}
        if any(k.arg is None for k in node.keywords):  # what is handed on, by its own names
            keywords |= {
                name: ast.Name(name, ast.Load()) for name in self.op.handed_on if name in op.parameters
            }
        return {**dict(zip(positional, node.args)), **keywords}

    def _other(self, op: Op, node: ast.Call) -> str:
        """A composite, as the call of its function in this file."""
        signature = self.others[op.name]
        given = self._given(op, node)
        for name, value in given.items():
            default = op.parameters[name].default
            if name not in signature.parameters and self._value(value) != default:
                raise GraphError(
                    f"{self.op.name} calls {op.name} with {name}; expected none, as in its function"
                )
        arguments = [
            self.text(given[name])
            for name in signature.parameters
            if name in given and self._value(given[name]) is not None
        ]
        return f"{signature.name}({', '.join(arguments)})"

    def _value(self, node: ast.expr) -> Any:
        known, value = self.static(node)
        return value if known else Expression(self.text(node))

    def _spec(self, node: ast.expr | None) -> Spec | None:
        if node is None or self._value(node) is None:
            return None
        is_mask = isinstance(node, ast.Name) and node.id in self.masks
        return Spec(MATRIX, kind="bool" if is_mask else "float")


def _symbolic(definitions: Definitions) -> Numbers:
    """Floats, whose kernels also take expressions: √ of an expression is an expression."""

    def lifted(value: Any) -> Any:
        return value if isinstance(value, Expression) else FLOAT.lift(value)

    def root(value: Any) -> Any:
        return _applied(definitions, FLOAT.sqrt, value)

    return replace(FLOAT, lift=lifted, sqrt=root)


def _applied(definitions: Definitions, function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, Expression):
        return Expression(f"{definitions.use(function)}({value})")
    return function(value)
