"""Functions cut out of their modules, so that a file that imports nothing but `math` can hold them.

`Definitions` collects what such a file needs. For each function it takes the source of the
statements that bind its name, then of every function, class and constant of graphattn that those
use, and so on; functions of `operator` become small ones. The text is that of the op files, comments
included, with these changes: annotations are dropped, names are those of the new file, and
parameters that are fixed (which `dot` to call, an operand that is left out) are put in, with the
branches they decide.

>>> from graphattn.core import numbers
>>> definitions = Definitions()
>>> definitions.use(numbers.sqrt)
'sqrt'
>>> print(definitions.text())
def sqrt(x):
    \"\"\"√x; nan below 0.\"\"\"
    return math.nan if x < 0.0 else math.sqrt(x)
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import operator
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import accumulate
from types import FunctionType, ModuleType
from typing import Any

from graphattn.core import numbers
from graphattn.core.errors import GraphError
from graphattn.core.nested import lists
from graphattn.core.words import spelled

BUILTINS = frozenset(dir(builtins))
PACKAGE = __name__.partition(".")[0]

OPERATORS: dict[Any, str] = {
    operator.add: "{} + {}",
    operator.sub: "{} - {}",
    operator.mul: "{} * {}",
    operator.truediv: "{} / {}",
    operator.neg: "-{}",
    operator.lt: "{} < {}",
}
"""How a call of a function of `operator` is written."""

REMOVED = "\0"
REMOVED_LINE = rf"^[ \t]*{REMOVED}.*\n?"
TOOL_COMMENT = r" *# (pyright|type|noqa|fmt):?.*$"


class Expression(str):
    """Python source that stands for a value that is known when the file runs."""


class Definitions:
    """The definitions that a file needs, in the order in which they can stand there.

    `reserved` are names that the file uses otherwise; builtins and `math` are never taken.
    """

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._taken = {*BUILTINS, "math", *reserved}
        self._names: dict[Any, str] = {}
        self._defaults: dict[str, Mapping[str, Any]] = {}
        self._texts: list[tuple[str, str]] = []

    @property
    def names(self) -> set[str]:
        """Every name that the definitions bind."""
        return {name for name, _ in self._texts}

    def use(
        self,
        function: Callable[..., Any],
        fixed: Mapping[str, Any] | None = None,
        name: str | None = None,
        rename: Mapping[str, str] | None = None,
        doc: str | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> str:
        """The expression by which the file calls `function`; its definition is added if it is new.

        fixed: parameters with values that are put into the definition, which drops them; name: what
        the file calls it, "taken already" being the caller's concern; rename: other names for its
        parameters; doc: its docstring there; defaults: of parameters that have none. Raises a
        `GraphError` where the function has no source of its own (a lambda, a function in a function).
        """
        fixed = dict(fixed or {})
        while isinstance(function, partial):
            fixed = {**function.keywords, **fixed}
            function = function.func
        home = _home(function)
        if home is None:
            return self._outside(function)
        return self._define(*home, fixed, name, rename, doc, defaults)

    def add(self, name: str, text: str) -> None:
        """Add a definition that is written already."""
        self._texts.append((name, text))

    def defaults(self, name: str) -> Mapping[str, Any]:
        """The defaults that a definition was given."""
        return self._defaults.get(name, {})

    def literal(self, value: Any) -> str:
        """A value as Python source; functions by the names under which the file has them."""
        if isinstance(value, Expression):
            return value
        if isinstance(value, float) and not math.isfinite(value):
            return "math.nan" if value != value else "math.inf" if value > 0 else "-math.inf"
        if value is None or isinstance(value, (bool, int, float, str)):
            return spelled(value)
        value = lists(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self.literal, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.literal, value))}{',' * (len(value) == 1)})"
        return self.use(value)

    def text(self) -> str:
        """The definitions, two blank lines apart."""
        return "\n\n\n".join(text for _, text in self._texts)

    def texts(self) -> list[tuple[str, str]]:
        """Name and source of each definition."""
        return list(self._texts)

    # ------------------------------------------------------------ inner workings

    def new_name(self, name: str) -> str:
        """A name that is free, from now on taken."""
        found, count = name, 1
        while found in self._taken:
            count += 1
            found = f"{name}_{count}"
        self._taken.add(found)
        return found

    def _outside(self, function: Any) -> str:
        """A function of `math`, a builtin, or one of `operator` as a small definition."""
        if getattr(math, getattr(function, "__name__", ""), None) is function:
            return f"math.{function.__name__}"
        if getattr(builtins, getattr(function, "__name__", ""), None) is function:
            return function.__name__
        if function not in OPERATORS:
            raise _no_source(repr(function))
        if function not in self._names:
            count = OPERATORS[function].count("{}")
            self._names[function] = name = self.new_name(function.__name__)
            parameters = ("a", "b")[:count]
            body = OPERATORS[function].format(*parameters)
            self._texts.append((name, f"def {name}({', '.join(parameters)}):\n    return {body}"))
        return self._names[function]

    def _define(
        self, module: ModuleType, own: str, fixed: Mapping[str, Any], name: str | None = None,
        rename: Mapping[str, str] | None = None, doc: str | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> str:  # fmt: skip
        key = (module.__name__, own, tuple(sorted((p, spelled(value)) for p, value in fixed.items())))
        if key not in self._names:
            self._names[key] = name or self.new_name(own)
            self._defaults[self._names[key]] = defaults or {}
            writer = FunctionWriter(self, module, own, self._names[key], fixed, rename or {}, doc)
            self._texts.append((self._names[key], writer.written()))
        return self._names[key]

    def global_name(self, module: ModuleType, name: str, bound: set[str]) -> str:
        """How the file writes a global name of a module, inside code that binds the names `bound`."""
        if name in BUILTINS and name not in vars(module):
            return name
        value = vars(module)[name]
        if isinstance(value, ModuleType):
            if value is not math:
                raise GraphError(f"{module.__name__} uses the module {name}; expected math alone")
            return "math"
        home, own = _origin(module, name)
        if _ours(home, module):
            written = self._define(home, own, {})
        else:
            written = self._outside(value)
        if written not in bound:
            return written
        alias = self.new_name(name)
        self._texts.append((alias, f"{alias} = {written}"))
        return alias


class Rewriter:
    """The source of syntax nodes of a module, with changes.

    `replaced` says how one node is written (None = as it stands, with its children rewritten). What
    is between the nodes, comments too, stays.
    """

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.source = _parsed(module)

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends in the source, in bytes."""
        at: Any = node
        starts = self.source.starts
        return starts[at.lineno - 1] + at.col_offset, starts[at.end_lineno - 1] + at.end_col_offset

    def text(self, node: ast.AST) -> str:
        replaced = self.replaced(node)
        return replaced if replaced is not None else self.with_children(node, *self.span(node))

    def with_children(self, node: ast.AST, start: int, stop: int) -> str:
        """The source from `start` to `stop`, the children of `node` in there rewritten."""
        pieces = []
        for child in sorted(self._children(node), key=self.span):
            begin, end = self.span(child)
            if start <= begin and end <= stop:
                pieces += [self.source.data[start:begin].decode(), self.text(child)]
                start = end
        return "".join([*pieces, self.source.data[start:stop].decode()])

    def _children(self, node: ast.AST) -> Iterator[ast.AST]:
        if isinstance(node, ast.JoinedStr):  # places inside an f-string are right from Python 3.12 on
            return
        for child in ast.iter_child_nodes(node):
            if hasattr(child, "lineno"):
                yield child
            else:
                yield from self._children(child)

    def statements(self, body: list[ast.stmt]) -> str:
        """The text of consecutive statements, from the first to the last."""
        block = ast.Module(body, [])
        return self.with_children(block, self.span(body[0])[0], self.span(body[-1])[1])

    def replaced(self, node: ast.AST) -> str | None:
        return None


class FunctionWriter(Rewriter):
    """Writes the statements that bind one name of a module (see the module's docstring)."""

    def __init__(
        self, definitions: Definitions, module: ModuleType, own: str, name: str,
        fixed: Mapping[str, Any], rename: Mapping[str, str], doc: str | None,
    ) -> None:  # fmt: skip
        super().__init__(module)
        self.definitions = definitions
        self.own = own
        self.name = name
        self.fixed = fixed
        self.rename = rename
        self.doc = doc
        self.bound: set[str] = set()

    def written(self) -> str:
        """The definition, under its new name."""
        if self.own not in self.source.statements:
            raise _no_source(f"{self.module.__name__}.{self.own}")
        return "\n\n\n".join(map(self._statement, self.source.statements[self.own]))

    def _statement(self, statement: ast.stmt) -> str:
        is_function = isinstance(statement, (ast.FunctionDef, ast.ClassDef))
        self.bound = _bound(statement) - (set() if is_function else {self.own})
        clash = self.bound & {new for old, new in self.rename.items() if new != old}
        if clash:
            raise GraphError(f"{self.own} uses {min(clash)!r} already; expected another name for a parameter")
        stop = self.span(statement)[1]
        line_end = self.source.data.find(b"\n", stop)
        text = self.text(statement) + self.source.data[stop:line_end].decode()
        return re.sub(f"{REMOVED_LINE}|{TOOL_COMMENT}", "", text, flags=re.MULTILINE).rstrip()

    def replaced(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.FunctionDef):
            return self.function(node)
        if isinstance(node, ast.Name):
            return self.named(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            return f"{self.text(node.target)} = {self.text(node.value)}"
        if isinstance(node, ast.If):
            return self._if(node)
        if isinstance(node, ast.IfExp):
            known, value = self.static(node.test)
            return self.text(node.body if value else node.orelse) if known else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            known, value = self.static(node.right)
            return self.text(node.left) if known and value == 0 and isinstance(value, int) else None
        if isinstance(node, ast.JoinedStr):
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and self.named(inner) not in (None, inner.id):
                    raise GraphError(
                        f"{self.own} uses {inner.id!r} in an f-string; expected a plain local name"
                    )
        return None

    # ------------------------------------------------------------ names

    def named(self, node: ast.Name) -> str | None:
        """A local name stays, unless it is a parameter with another name or a fixed value."""
        name = node.id
        if name in self.rename:
            return self.rename[name]
        if name in self.fixed:
            return self.definitions.literal(self.fixed[name])
        if name in self.bound:
            return None
        if name == self.own:
            return self.name
        return self.definitions.global_name(self.module, name, self.bound)

    def _attribute(self, node: ast.Attribute) -> str | None:
        """`nested.build` of a module of ours is the definition of `build`."""
        owner = node.value.id if isinstance(node.value, ast.Name) and node.value.id not in self.bound else None
        module = vars(self.module).get(owner or "")
        if isinstance(module, ModuleType) and module is not math:
            return self.definitions.global_name(module, node.attr, self.bound)
        return None

    def _call(self, node: ast.Call) -> str | None:
        """A call of a parameter that is fixed to a function of `operator` is written as that operator."""
        function = self.fixed.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if not callable(function) or function not in OPERATORS or node.keywords:
            return None
        return f"({OPERATORS[function].format(*map(self.text, node.args))})"

    # ------------------------------------------------------------ functions and branches

    def function(self, node: ast.FunctionDef) -> str:
        """A function without annotations and fixed parameters."""
        is_own = node.name == self.own
        name = self.name if is_own else node.name
        body = node.body
        if is_own and self.doc is not None and ast.get_docstring(node) is not None:
            body = body[1:]
        indent = " " * node.body[0].col_offset
        lines = [f"def {name}({', '.join(self.parameters(node.args))}):"]
        if is_own and self.doc is not None:
            lines.append(f'{indent}"""{self.doc}"""')
        lines.append(indent + self.statements(body))
        return "\n".join(lines)

    def parameters(self, args: ast.arguments) -> list[str]:
        """The parameters that are left, with their defaults."""
        written: list[str] = []
        positional = [*args.posonlyargs, *args.args]
        defaults: list[Any] = [None] * (len(positional) - len(args.defaults)) + args.defaults
        for arg, default in zip(positional, defaults, strict=True):
            written += self._parameter(arg, default)
        if args.vararg:
            written.append(f"*{args.vararg.arg}")
        keyword_only = [
            p for arg, default in zip(args.kwonlyargs, args.kw_defaults) for p in self._parameter(arg, default)
        ]
        if keyword_only and not args.vararg:
            written.append("*")
        return written + keyword_only

    def _parameter(self, arg: ast.arg, default: ast.expr | None) -> list[str]:
        if arg.arg in self.fixed:
            return []
        name = self.rename.get(arg.arg, arg.arg)
        given = self.definitions.defaults(self.name)
        if arg.arg in given:
            return [f"{name}={self.definitions.literal(given[arg.arg])}"]
        return [name if default is None else f"{name}={self.text(default)}"]

    def _if(self, node: ast.If) -> str | None:
        known, value = self.static(node.test)
        if not known:
            return None
        body = node.body if value else node.orelse
        if not body:
            return REMOVED
        outdent = "\n" + " " * (body[0].col_offset - node.col_offset)
        return self.statements(body).replace(outdent, "\n")

    def static(self, node: ast.AST) -> tuple[bool, Any]:
        """Whether an expression follows from the fixed parameters, and its value."""
        if isinstance(node, ast.Constant):
            return True, node.value
        if isinstance(node, ast.Name) and node.id in self.fixed:
            value = self.fixed[node.id]
            return not isinstance(value, Expression), value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            known, value = self.static(node.operand)
            return known, not value
        if isinstance(node, ast.BoolOp):
            parts = [self.static(part) for part in node.values]
            decisive = isinstance(node.op, ast.Or)
            if any(known and bool(value) is decisive for known, value in parts):
                return True, decisive
            return all(known for known, _ in parts), not decisive
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            (known_left, left), (known_right, right) = self.static(node.left), self.static(node.right)
            if known_left and known_right:
                return True, left + right
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            (known_left, left), (known_right, right) = self.static(node.left), self.static(node.comparators[0])
            compare = _COMPARISONS.get(type(node.ops[0]))
            if known_left and known_right and compare is not None:
                return True, compare(left, right)
        return False, None


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


# ---------------------------------------------------------------- modules


@dataclass(frozen=True)
class Source:
    """The source of a module: its bytes, its lines and where each begins, the statements that bind
    each of its names, and where each imported name comes from (dots, module, name there)."""

    data: bytes
    lines: list[bytes]
    starts: list[int]
    statements: Mapping[str, list[ast.stmt]]
    imports: Mapping[str, tuple[int, str, str]]


@cache
def _parsed(module: ModuleType) -> Source:
    try:
        text = inspect.getsource(module)
    except (OSError, TypeError):
        raise GraphError(f"the source of {module.__name__} is not there; expected its .py file") from None
    lines = text.encode().splitlines(keepends=True)
    statements: dict[str, list[ast.stmt]] = {}
    imports: dict[str, tuple[int, str, str]] = {}
    for statement in ast.parse(text).body:
        for name in _binds(statement):
            statements.setdefault(name, []).append(statement)
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                imports[alias.asname or alias.name] = statement.level, statement.module or "", alias.name
    return Source(b"".join(lines), lines, list(accumulate(map(len, lines), initial=0)), statements, imports)


def _home(function: Any) -> tuple[ModuleType, str] | None:
    """The module of graphattn and the name there that a function is bound to; None = not ours."""
    for name, value in vars(numbers).items():  # `dot` is math.sumprod where there is one
        if value is function and _origin(numbers, name)[0] is numbers:
            return numbers, name
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    name = getattr(function, "__qualname__", "")
    if module in (None, builtins) or not isinstance(function, (type, FunctionType)):
        return None
    if vars(module).get(name) is not function:
        raise _no_source(f"{module.__name__}.{name}")
    return module, name


def _no_source(what: str) -> GraphError:
    return GraphError(f"{what} has no source that can stand alone; expected a plain function of a module")


def _origin(module: ModuleType, name: str) -> tuple[ModuleType, str]:
    """The module and the name there that an imported name comes from."""
    if name not in _parsed(module).imports:
        return module, name
    level, source, own = _parsed(module).imports[name]
    package = module.__name__.rsplit(".", level)[0] if level else ""
    found = sys.modules[".".join(part for part in (package, source) if part)]
    return _origin(found, own) if _ours(found, module) else (found, own)


def _ours(found: ModuleType, module: ModuleType) -> bool:
    """Whether the source of a module may be copied: graphattn's, and that of an op's own package."""
    return found.__name__.partition(".")[0] in (PACKAGE, module.__name__.partition(".")[0])


def _binds(statement: ast.stmt) -> set[str]:
    """The module's names that a statement binds."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return set()
    inner = [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
    return {name for child in inner for name in _binds(child)} | {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and not inner
    }


def _bound(statement: ast.stmt) -> set[str]:
    """Every name that is bound anywhere inside a statement: parameters, locals, inner functions."""
    bound: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, (ast.ExceptHandler, ast.FunctionDef, ast.ClassDef)) and node is not statement:
            bound.add(node.name or "")
    return bound
