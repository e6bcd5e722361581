"""What the tab key offers: sources, levels, ops, tensor names. Shells ask through click.

Where something goes wrong while completing (a file that is not there, a graph that does not load), nothing is
offered.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ..core.op import LEVELS

ENDINGS = (".txt", ".json", ".py", ".onnx", ".safetensors", ".npz")


def _matching(names: Any, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def sources(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Built-in graphs, the trained model, and files that can be a source."""
    from ..builtin import GRAPHS
    from .source import TOY

    folder, _, start = incomplete.rpartition("/")
    try:
        entries = sorted(Path(folder or ("/" if incomplete.startswith("/") else ".")).iterdir())
    except OSError:
        entries = []
    files = [
        f"{folder}/{entry.name}" if "/" in incomplete else entry.name
        for entry in entries
        if entry.name.startswith(start) and (entry.suffix.lower() in ENDINGS or entry.is_dir())
        if start or not entry.name.startswith(".")
    ]
    return [*_matching((*GRAPHS, TOY), incomplete), *map(CompletionItem, files)]


def levels(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The magnifications."""
    return _matching(LEVELS, incomplete)


def ops(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The registered ops."""
    from ..core.graph import Graph
    from ..core.op import OPS

    Graph()  # fills the registry
    return _matching(sorted(OPS), incomplete)


def tensors(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The tensors of SOURCE, at the level that is asked for. A Python file is not executed for this."""
    source = ctx.params.get("source") or next(iter(ctx.args), None)
    if not isinstance(source, str) or source.endswith(".py"):
        return []
    from .source import read_graph

    sizes: dict[str, Any] = {
        name: ctx.params.get(name) for name in ("n", "d", "heads", "causal", "projections", "text")
    }
    try:
        graph = read_graph(source, **sizes).at(ctx.params.get("level") or "op")
    except (ValueError, OSError, click.ClickException):
        return []
    names = list(graph.tensor_names())
    parts = [name.split(".") for name in names]
    endings = dict.fromkeys(".".join(path[start:]) for path in parts for start in range(1, len(path)))
    return _matching(names, incomplete) or _matching(filter(graph.__contains__, endings), incomplete)
