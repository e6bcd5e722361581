"""A graph as text that reads back to an equal graph.

    graphattn graph 1
    graph example
    title "one head"

    x = input(shape=(3, 4), axes=("token", "feature"))      # token 3 × feature 4
    scope head = attention(x, x, x, causal=True)
        keys = transpose(x)                                 # feature 4 × token 3
        ...
        return out, weights
    output y = head.out
    end

One line per node, `name = op(operands, attribute=value)`, as in Python; attributes at their
defaults are left out. A scope holds, indented, the nodes that a composite was expanded into: its
first line is the composite, and `return` names its outputs. Inside a scope names are short:
`keys` is the tensor `head.keys`, and a word means the innermost tensor that it can mean there (a
word with a leading dot is counted from the top). `scope name` alone is a plain group; `again name`
goes on with a scope whose nodes do not stand together. An alias may be any text, in double quotes
where it is not a name. What follows `#` is for people. `end` is there so that a file that was cut off
is noticed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from graphattn.core.errors import GraphError
from graphattn.core.graph import Graph, Node, Ref, Scope
from graphattn.core.op import find
from graphattn.core.words import typed
from graphattn.dumps.assembly import Assembly, need_readable, place
from graphattn.dumps.literals import Line, quote, shortened
from graphattn.dumps.rows import call, scope_paths, scopes_in_order, shape_text

HEADER = "graphattn graph 1"
INDENT = "    "
COMMENT_COLUMN = 76


# ---------------------------------------------------------------- writing


def graph_text(graph: Graph, readable: bool = True) -> str:
    """The graph as text (see the module's docstring); `parse_graph` reads it back. Raises a `GraphError` where
    it would not, unless it need not be `readable`."""
    if readable:
        need_readable(graph)
    return "\n".join(_Writer(graph).lines()) + "\n"


class _Writer:
    """Writes a graph line by line. `path` is where it is: the open scopes, outermost first."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.path: tuple[str, ...] = ()
        self.paths = scope_paths(graph)
        self.opened: set[str] = set()
        self.last: dict[str, int] = {}
        """Where each scope is left for the last time."""
        self.tensors: set[str] = set()
        """Every name that a word can mean."""
        for node in graph.nodes.values():
            self.tensors.update(node.tensor_names)
            if len(node.ports) == 1:
                self.tensors.add(node.name)

    def lines(self) -> Iterator[str]:
        graph = self.graph
        yield HEADER
        yield f"graph {graph.name}"
        if graph.title:
            yield f"title {quote(graph.title)}"
        yield ""
        yield from self._body()
        for name, ref in graph.aliases.items():
            yield f"alias {name if _is_word(name) else quote(name)} = {graph.tensor_name(ref)}"
        for name, tensor in graph.outputs.items():
            yield f"output {name} = {tensor.name}"
        yield "end"

    def _body(self) -> Iterator[str]:
        """The nodes in their scopes, and after them the scopes that have no nodes."""
        filled = {scope for node in self.graph.nodes.values() for scope in self.paths[node.scope]}
        stops: list[tuple[str | None, Node | None]] = [(node.scope, node) for node in self.graph.nodes.values()]
        stops += [(scope.name, None) for scope in scopes_in_order(self.graph) if scope.name not in filled]
        for position, (scope, _) in enumerate(stops):
            for name in self.paths[scope]:
                self.last[name] = position
        for position, (scope, node) in enumerate(stops):
            yield from self._move(self.paths[scope], position)
            if node is not None:
                yield self._node(node)
        yield from self._move((), len(stops))

    def _move(self, path: tuple[str, ...], position: int) -> Iterator[str]:
        """Leave scopes and enter others; a composite returns when it is left for the last time."""
        if path == self.path:
            return
        common = 0
        while common < min(len(path), len(self.path)) and path[common] == self.path[common]:
            common += 1
        while len(self.path) > common:
            scope = self.graph.scopes[self.path[-1]]
            if scope.op is not None and self.last[scope.name] < position:
                yield INDENT * len(self.path) + f"return {', '.join(map(self._word_of, scope.outputs))}"
            self.path = self.path[:-1]
        for name in path[common:]:
            scope = self.graph.scopes[name]
            again = f"again {self._own(name)}"
            yield INDENT * len(self.path) + (again if name in self.opened else self._scope(scope))
            self.opened.add(name)
            self.path = (*self.path, name)

    def _scope(self, scope: Scope) -> str:
        name = self._own(scope.name)
        if scope.op is None:
            return f"scope {name}" + ("" if scope.title is None else f"(title={quote(scope.title)})")
        return f"scope {name} = {call(scope.op, self._words(scope.operands), scope.attributes, scope.title)}"

    def _node(self, node: Node) -> str:
        text = (
            f"{self._own(node.name)} = {call(node.op, self._words(node.operands), node.attributes, node.title)}"
        )
        return f"{INDENT * len(self.path) + text:<{COMMENT_COLUMN - 2}}  # {shape_text(node.outputs)}"

    def _own(self, name: str) -> str:
        """A name that is defined here, without the scope that it is in."""
        if not self.path:
            return name
        return name.removeprefix(f"{self.path[-1]}.") if name.startswith(f"{self.path[-1]}.") else f".{name}"

    def _words(self, refs: Sequence[Ref | None]) -> list[str | None]:
        return [None if ref is None else self._word_of(ref) for ref in refs]

    def _word_of(self, ref: Ref) -> str:
        """The shortest word that means an output here."""
        name = self.graph.tensor_name(ref)
        if not self.path:
            return name
        for depth in range(len(self.path), -1, -1):
            prefix = f"{self.path[depth - 1]}." if depth else ""
            if name.startswith(prefix):
                word = name[len(prefix) :]
                if not any(f"{inner}.{word}" in self.tensors for inner in self.path[depth:]):
                    return word
        return f".{name}"


# ---------------------------------------------------------------- reading


def parse_graph(text: str) -> Graph:
    """The graph that a text describes. Raises a `GraphError` that names the line and says what was
    expected there."""
    if not isinstance(text, str):
        raise GraphError(f"a graph text is {typed(text)}; expected text")
    lines = enumerate(text.split("\n"), 1)
    graph = read_lines(lines, "graph text")
    for number, line in lines:
        if line.strip():
            raise GraphError(f"graph text, line {number}: something follows 'end'; expected nothing")
    return graph


def read_lines(lines: Iterable[tuple[int, str]], what: str) -> Graph:
    """The graph in numbered lines, up to its `end`. `what` is how messages call the text."""
    reader = _Reader(what)
    number = 0
    for number, line in lines:
        try:
            if reader.read(line.rstrip("\r"), number):
                break
        except GraphError as error:
            raise GraphError(f"{what}, line {number}: {error}") from None
    else:
        raise GraphError(f"{what}, line {number}: the text stops without 'end'; expected a whole graph")
    return reader.finish()


class _Reader:
    """Reads a graph line by line. `path` is where it is: the open scopes, outermost first."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.begun = False
        self.name: str | None = None
        self.title = ""
        self.assembly: Assembly | None = None
        self.path: list[str] = []
        self.calls: dict[str, tuple[str, str | None, str, list[str | None], dict[str, Any]]] = {}
        self.returned: dict[str, list[str]] = {}

    def read(self, text: str, number: int) -> bool:
        """Take in one line; whether it was the last."""
        if not self.begun:
            check_header(text, HEADER)
            self.begun = True
            return False
        line = Line(text)
        first, second = line.peek(), line.peek(1)
        if not first or (self.assembly is None and self._preamble(line, first, second)):
            return False
        assembly = self.assembly or self._begin()
        self._leave(text)
        if first == "end" and not second:
            if self.path:
                raise GraphError(f"'end' stands inside scope {self.path[-1]!r}; expected it at the margin")
            return True
        if second == "=":
            self._node(assembly, line)
        elif first == "scope":
            self._scope(assembly, line, f"{self.what}, line {number}")
        elif first == "again":
            self._again(assembly, line)
        elif first == "return":
            self._return(line)
        elif first in ("alias", "output"):
            self._name(assembly, line)
        else:
            raise GraphError(
                f"{shortened(text.strip())} is not a line of a graph; expected name = op(operands),"
                " scope, again, return, alias, output or end"
            )
        line.end()
        return False

    def finish(self) -> Graph:
        """The graph that was read, its scopes tied to what they were expanded from."""
        assembly = self.assembly or self._begin()
        for name, (where, scope, op, words, attributes) in self.calls.items():
            with place(where):
                who, expected = f"scope {name!r}", "a tensor of the graph"
                operands = [assembly.within(word, scope, who, expected) if word else None for word in words]
                outputs = [assembly.within(word, name, who, expected) for word in self.returned.get(name, ())]
                assembly.composite(name, op, operands, attributes, outputs)
        return assembly.graph

    def _preamble(self, line: Line, first: str, second: str) -> bool:
        """Whether the line gives the name or the title of the graph."""
        if second == "=" or first not in ("graph", "title"):
            return False
        line.word()
        if first == "graph":
            if self.name is not None:
                raise GraphError("the graph is named twice; expected one name")
            self.name = line.word()
        else:
            self.title = line.text()
        line.end()
        return True

    def _begin(self) -> Assembly:
        if self.name is None:
            raise GraphError("the graph has no name; expected a line like 'graph block'")
        self.assembly = Assembly(self.name, self.title)
        return self.assembly

    def _leave(self, text: str) -> None:
        """Leave the scopes that the line stands left of."""
        if not self.path and not text[:1].isspace():
            return
        margin = len(text) - len(text.lstrip(" "))
        depth, rest = divmod(margin, len(INDENT))
        if text[margin : margin + 1].isspace():
            raise GraphError("the line is indented by a tab; expected spaces")
        if rest or depth > len(self.path):
            most = len(INDENT) * len(self.path)
            raise GraphError(f"the line is indented by {margin}; expected a multiple of 4, at most {most}")
        del self.path[depth:]

    def _here(self) -> str | None:
        return self.path[-1] if self.path else None

    def _full(self, word: str) -> str:
        """The name of what is defined here as `word`."""
        if word.startswith("."):
            return word[1:]
        return f"{self.path[-1]}.{word}" if self.path else word

    def _node(self, assembly: Assembly, line: Line) -> None:
        name = self._full(line.word())
        line.need("=")
        op, words, attributes, title = _read_call(line)
        who = f"{op} {name!r}"
        expected = "an input or the result of an earlier line"
        here = self._here()
        operands = [assembly.within(word, here, who, expected) if word else None for word in words]
        assembly.node(name, op, operands, attributes, title, here)

    def _scope(self, assembly: Assembly, line: Line, where: str) -> None:
        line.word()
        name, title = self._full(line.word()), None
        if line.take("="):
            op, words, attributes, title = _read_call(line)
            self.calls[name] = (where, self._here(), op, words, attributes)
        elif line.take("("):
            if line.word() != "title":
                raise GraphError(f"scope {name!r} is a plain group; expected nothing but a title")
            line.need("=")
            title = line.text()
            line.need(")")
        assembly.scope(name, title, self._here())
        self.path.append(name)

    def _again(self, assembly: Assembly, line: Line) -> None:
        line.word()
        name = self._full(line.word())
        scope = assembly.graph.scopes.get(name)
        if scope is None or scope.parent != self._here():
            raise GraphError(f"'again' goes on with {name!r}; expected a scope that was begun at this place")
        self.path.append(name)

    def _return(self, line: Line) -> None:
        line.word()
        if not self.path or self.path[-1] not in self.calls:
            raise GraphError("'return' stands outside of a composite; expected it indented in one")
        if self.path[-1] in self.returned:
            raise GraphError(f"scope {self.path[-1]!r} returns twice; expected one line with its outputs")
        words = self.returned[self.path[-1]] = [line.word("a tensor")]
        while line.take(","):
            words.append(line.word("a tensor"))

    def _name(self, assembly: Assembly, line: Line) -> None:
        what = line.word()
        quoted = what == "alias" and line.peek().startswith('"')
        name = line.text() if quoted else line.word()
        line.need("=")
        ref = assembly.exactly(line.word("a tensor"), f"{what} {name!r}")
        assembly.alias(name, ref) if what == "alias" else assembly.output(name, ref)


def _is_word(alias: str) -> bool:
    """Whether an alias, which may be any text, stands in a line as it is."""
    return all(map(str.isidentifier, alias.split(".")))


def check_header(text: str, header: str) -> None:
    """Raise unless the first line of a file is the header, with a version that is known."""
    text = text.removeprefix("\ufeff").strip()
    form, _, version = header.rpartition(" ")
    if text.startswith(f"{form} ") and text != header:
        found = shortened(text[len(form) + 1 :])
        raise GraphError(f"{form} version {found} is not known; expected version {version}")
    if text != header:
        raise GraphError(f"the first line is {shortened(text)}; expected {header!r}")


def _read_call(line: Line) -> tuple[str, list[str | None], dict[str, Any], str | None]:
    """op(operand, …, attribute=value, …): the op, its operands and attributes, and the title."""
    op = line.word("an op")
    named = find(op).operands
    line.need("(")
    operands: list[str | None] = []
    attributes: dict[str, Any] = {}
    while not line.take(")"):
        if line.peek(1) != "=":
            if attributes:
                raise GraphError(
                    f"operand {shortened(line.peek())} stands behind attributes; expected it before"
                )
            operands.append(line.word("an operand"))
        else:
            key = line.word("an attribute")
            line.need("=")
            slot = next((slot for slot, p in enumerate(named) if p.name == key and not p.variadic), None)
            if slot is not None:
                operands += [None] * (slot + 1 - len(operands))
                if operands[slot] is not None:
                    raise GraphError(f"operand {key!r} is given twice")
                operands[slot] = line.word("an operand")
            elif key in attributes:
                raise GraphError(f"{key!r} is given twice")
            else:
                attributes[key] = line.text() if key == "title" else line.value()
        if not line.take(","):
            line.need(")")
            break
    operands = [None if word == "None" else word for word in operands]
    return op, operands, attributes, attributes.pop("title", None)
