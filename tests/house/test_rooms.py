"""A room's private names stay in it, and a class that is long says why.

A room is a folder of the house: core, ops, passes, dumps, each wing of insight, and so on. A name that
begins with an underscore is for the room that defines it: another room neither imports it nor reaches
for it (`trace._values`).
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from source import ROOT, modules, nodes, tree

LONG = 250
"""The lines from which on a class has to say in its docstring why it is one."""


def room(module: str) -> str:
    """`core`, `insight.why`, `cli`, …: the folder that a module is in; a lone file is a room of its own."""
    parts = module.removeprefix("graphattn").strip(".").split(".")
    return ".".join(parts[:2]) if parts[0] == "insight" else parts[0]


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def defined(module: ast.AST) -> set[str]:
    """The private names that a file defines: functions, classes, variables, attributes, parameters."""
    names: set[str] = set()
    for node in nodes(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _own(node):
            names.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
            names.add(node.value)  # in __slots__
    return {name for name in names if private(name)}


def _own(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def reached(module: ast.AST) -> Iterator[tuple[str, int]]:
    """The private names that a file takes from what is not itself, with their lines."""
    for node in nodes(module):
        if isinstance(node, ast.Attribute) and private(node.attr) and not _own(node):
            yield node.attr, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield from ((alias.name, node.lineno) for alias in node.names if private(alias.name))


@cache
def rooms() -> dict[str, set[str]]:
    """The private names that each room defines."""
    found: dict[str, set[str]] = {}
    for name, path in modules().items():
        found.setdefault(room(name), set()).update(defined(tree(path)))
    return found


def trespasses(name: str, module: ast.AST) -> Iterator[tuple[str, int]]:
    """What a module takes of another room's private names."""
    own = rooms().get(room(name), set())
    for attribute, line in reached(module):
        if attribute not in own and any(attribute in names for names in rooms().values()):
            yield attribute, line


def test_private_names_stay_in_their_room():
    found = [
        f"{name} line {line}: {attribute}"
        for name, path in modules().items()
        for attribute, line in trespasses(name, tree(path))
    ]
    assert found == []


@pytest.mark.parametrize("text", ["step._plan_step", "thing._masks = 1", "from ..core.trace import _walk"])
def test_a_private_reach_is_seen(text):
    assert list(trespasses("graphattn.scalar", ast.parse(text)))


@pytest.mark.parametrize("text", ["self._plan", "pair._replace(a=1)", "x.__class__", "trace.graph"])
def test_what_is_no_private_reach(text):
    assert not list(trespasses("graphattn.scalar", ast.parse(text)))


# ---------------------------------------------------------------- long classes


def long_classes(name: str, path: Path) -> Iterator[tuple[str, int, str]]:
    for node in nodes(tree(path)):
        if isinstance(node, ast.ClassDef) and (node.end_lineno or 0) - node.lineno >= LONG:
            lines = (node.end_lineno or 0) - node.lineno + 1
            yield f"{name}.{node.name}", lines, ast.get_docstring(node) or ""


def test_a_long_class_says_why():
    silent = {
        place: lines
        for name, path in modules().items()
        for place, lines, doc in long_classes(name, path)
        if "One class, because" not in doc
    }
    assert silent == {}


def test_a_long_class_is_seen(tmp_path):
    path = tmp_path / "planted.py"
    body = "".join(f"    x{i} = {i}\n" for i in range(LONG + 10))
    path.write_text(f"class Planted:\n{body}", encoding="utf-8")
    assert [place for place, _, _ in long_classes("planted", path)] == ["planted.Planted"]


def test_the_rooms_are_folders():
    assert {"core", "ops", "passes", "dumps", "cli", "insight.why", "insight.compare"} <= set(rooms())
    assert ROOT.is_dir()
