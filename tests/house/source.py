"""The source files of graphattn by module name, and what each imports, where."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
WINGS = {
    "graphattn": ROOT / "graphattn",
    "graphattn.passes": ROOT / "passes",
    "graphattn.dumps": ROOT / "dumps",
}


@cache
def modules() -> dict[str, Path]:
    """Every module of graphattn, by its installed name."""
    found: dict[str, Path] = {}
    for package, folder in WINGS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            name = ".".join((package, *(part for part in parts if part != "__init__")))
            found[name] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    return parsed().get(path) or _parsed(path)


@cache
def parsed() -> dict[Path, ast.Module]:
    """All files of `modules`; the garbage collector, which would look at each tree again and again, waits."""
    waits = gc.isenabled()
    gc.disable()
    try:
        return {path: _parsed(path) for path in modules().values()}
    finally:
        if waits:
            gc.enable()


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


@cache
def nodes(module: ast.AST) -> tuple[ast.AST, ...]:
    """Everything that stands in a file, walked through once for all rules."""
    return tuple(ast.walk(module))


@dataclass(frozen=True)
class Import:
    """`module` imports `target`, at the top (`inside` is "") or inside a function or method."""

    module: str
    inside: str
    target: str
    line: int

    def __str__(self) -> str:
        place = f"{self.module}:{self.inside}" if self.inside else self.module
        return f"{place} imports {self.target} (line {self.line})"


@cache
def imports() -> tuple[Import, ...]:
    """Every import, those for type checkers alone left out."""
    return tuple(found for name, path in modules().items() for found in imports_of(name, path))


def imports_of(name: str, path: Path) -> Iterator[Import]:
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node, inside in _walk(tree(path), ""):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(name, inside, alias.name, node.lineno)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = resolve_name("." * node.level + base, package)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield Import(name, inside, inner if inner in modules() else base, node.lineno)


def _walk(node: ast.AST, inside: str) -> Iterator[tuple[ast.AST, str]]:
    """Every statement with the function or method that it stands in."""
    for child in _statements(node):
        if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
            continue
        yield child, inside
        deeper = inside
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            deeper = f"{inside}.{child.name}" if inside else child.name
        yield from _walk(child, deeper)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """The statements that stand in this one, with its handlers and cases."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        yield from getattr(node, part, ())
