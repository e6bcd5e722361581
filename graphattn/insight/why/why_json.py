"""An explanation as JSON that recomputes: a list of cells, each with an expression of earlier ones.

    {"format": "graphattn why 1", "graph": …, "numbers": "float", "cell": 41, "complete": true,
     "cells": [
       {"id": 0, "tensor": "Q", "index": [2, 0], "kind": "fed", "value": -1.25},
       {"id": 7, "tensor": "scores", "index": [2, 1], "kind": "computed", "value": …,
        "expression": {"total": [{"multiply": [{"cell": 0}, {"cell": 3}]}, …]}}, …]}

Values are the exact doubles of the run; infinities and NaN are the texts "inf", "-inf" and "nan",
numbers of other types are texts. Every cell stands once, after those that it was computed from. An
expression is a number of the op's own {"literal": 2, "text": "…"}, a cell {"cell": id} (with the
cells that chose it: "chosen_by"), a named part {"part": "max"} of the list "parts", or a function
(see `graphattn.core.cells`) of expressions. A cell without an expression is where it begins: "fed",
"patched", "unknown", or not followed since `depth` or the limit was reached.

>>> from graphattn import Graph, run
>>> g = Graph("example")
>>> y = g.exp(g.input("x", shape=()), name="y")
>>> recompute(run(g, {"x": 0.0}).why("y", depth="all").data())
1.0
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Mapping
from typing import Any

from graphattn.core.cells import FUNCTIONS, Apply, Cell, Expression, Literal
from graphattn.core.errors import GraphError
from graphattn.core.numbers import FLOAT, Numbers, of
from graphattn.core.postorder import postorder
from graphattn.insight.why.derivation import Derivation, Entry, Key
from graphattn.insight.why.formula import Formula, Names

FORMAT = "graphattn why 1"
LIMIT = 100_000
"""The most cells of one explanation; where it stops is said."""
SIZE_LIMIT = 1_000_000
"""The most cells in all its expressions together."""


def data(derivation: Derivation, key: Key, tensor: str, depth: float, limit: int = LIMIT) -> dict[str, Any]:
    """What JSON holds of an explanation (see the module's docstring)."""
    if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
        raise GraphError(f"limit is {limit!r}; expected a whole number of 1 or more")
    followed, complete = _followed(derivation, key, depth, limit)
    order = _in_order(derivation, key, followed)
    ids = {k: number for number, k in enumerate(order)}
    names = Names(derivation, tensor)
    labels = derivation.labels(derivation.spec(key))
    shown = [names[i] if names else i for i, names in zip(key.index, labels)]
    return {
        "format": FORMAT,
        "graph": derivation.trace.graph.name,
        "numbers": derivation.numbers.name,
        "tensor": tensor,
        "index": list(key.index),
        "labels": shown,
        "value": _number(derivation.value(key), derivation.numbers),
        "depth": "all" if math.isinf(depth) else int(depth),
        "complete": complete,
        **(
            {}
            if complete
            else {"stopped": f"after {len(order)} cells; those that they depend on are not listed"}
        ),
        "cell": ids[key],
        "cells": [_cell(derivation, k, ids, k in followed, names) for k in order],
    }


def written(document: Mapping[str, Any]) -> str:
    """The JSON text of `data`: a cell on each line."""

    def one(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    head = ",\n".join(f"{one(key)}: {one(value)}" for key, value in document.items() if key != "cells")
    cells = ",\n".join(map(one, document["cells"]))
    return f'{{{head},\n"cells": [\n{cells}\n]}}\n'


def _followed(derivation: Derivation, key: Key, depth: float, limit: int) -> tuple[set[Key], bool]:
    """The cells whose expressions are written, nearest first; whether that is all of them."""
    best: dict[Key, float] = {}
    todo: deque[tuple[float, Key]] = deque([(depth, key)])
    listed = {key}
    size = 0
    while todo:
        left, now = todo.popleft()
        if best.get(now, 0.0) >= left:
            continue
        entry = derivation.entry(now)
        if entry.kind != "computed":
            continue
        new = [k for k in entry.sources.values() if k not in listed]
        size += len(entry.sources)
        if len(listed) + len(new) > limit or size > SIZE_LIMIT:
            return set(best), False
        listed.update(new)
        best[now] = left
        copied = entry.copied is not None and now != key
        for source in entry.sources.values():
            if copied:
                todo.appendleft((left, source))
            elif left > 1:
                todo.append((left - 1, source))
    return set(best), True


def _in_order(derivation: Derivation, key: Key, followed: set[Key]) -> list[Key]:
    """Every cell after those that it was computed from."""
    return postorder(key, lambda now: list(derivation.entry(now).sources.values()) if now in followed else [])


def _cell(
    derivation: Derivation, key: Key, ids: Mapping[Key, int], followed: bool, names: Names
) -> dict[str, Any]:
    entry = derivation.entry(key) if followed else derivation.bare(key)
    numbers = derivation.numbers
    told: dict[str, Any] = {
        "id": ids[key],
        "tensor": entry.name,
        "index": list(key.index),
        "op": entry.node.op.name,
        "kind": entry.kind,
        "value": _number(entry.value, numbers),
    }
    if entry.hidden:
        told["hidden"] = True
    if entry.reason:
        told["reason"] = entry.reason
    if not followed or entry.kind != "computed" or entry.expression is None:
        return told
    parts = Formula(derivation, names, entry).parts()
    places = {id(part): part.name for part in parts}
    if parts:
        told["parts"] = [{"name": part.name, "is": _tree(part, entry, ids, places, True)} for part in parts]
    told["expression"] = _tree(entry.expression, entry, ids, places)
    if entry.branches:
        told["since"] = [
            {"condition": _tree(branch.condition, entry, ids, places), "is": branch.true}
            for branch in entry.branches
        ]
    return told


def _tree(
    tree: Expression, entry: Entry, ids: Mapping[Key, int], parts: Mapping[int, str], whole: bool = False
) -> dict[str, Any]:
    if isinstance(tree, Cell):
        told: dict[str, Any] = {"cell": ids[entry.sources[tree]]}
        chosen = [ids[entry.sources[i]] for i in tree.index if isinstance(i, Cell)]
        if chosen:
            told["chosen_by"] = chosen
        return told
    if isinstance(tree, Literal):
        value = tree.value
        if isinstance(value, float) and not math.isfinite(value):
            value = str(value)
        return {"literal": value, **({"text": tree.text} if tree.text else {})}
    if id(tree) in parts and not whole:
        return {"part": parts[id(tree)]}
    return {tree.function: [_tree(arg, entry, ids, parts) for arg in tree.args]}


def _number(value: Any, numbers: Numbers) -> Any:
    if value is None or isinstance(value, (bool, int)):
        return value
    if numbers is FLOAT:
        return value if math.isfinite(value) else str(value)
    return numbers.text(value)


# ---------------------------------------------------------------- computing it again


def recompute(document: Mapping[str, Any] | str, numbers: str | Numbers | None = None) -> Any:
    """The value of the cell that an explanation is of, from its first cells alone.

    Takes what `data` or `json` gave. `numbers` is another number type than the run's. Raises a
    `GraphError` where the document is not one, or a first cell has no value.
    """
    if isinstance(document, str):
        try:
            document = json.loads(document)
        except (ValueError, RecursionError) as error:
            raise GraphError(f"the explanation is not JSON: {error}") from None
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise GraphError(f"this is no explanation; expected 'format': {FORMAT!r}")
    values: dict[int, Any] = {}
    try:
        kind = of(document["numbers"] if numbers is None else numbers)
        for cell in document["cells"]:
            values[cell["id"]] = _again(cell, values, kind)
        return values[document["cell"]]
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"the explanation is damaged: {type(error).__name__}: {error}") from None


def _again(cell: Mapping[str, Any], values: Mapping[int, Any], numbers: Numbers) -> Any:
    if "expression" not in cell:
        value = cell["value"]
        if value is None:
            raise GraphError(f"{cell['tensor']}{cell['index']} has no value, so it cannot be computed from it")
        return value if isinstance(value, bool) else numbers.lift(value)
    parts: dict[str, Any] = {}

    def compute(tree: Mapping[str, Any]) -> Any:
        if "cell" in tree:
            return values[tree["cell"]]
        if "part" in tree:
            return parts[tree["part"]]
        if "literal" in tree:
            value = tree["literal"]
            return value if isinstance(value, bool) else numbers.lift(value)
        ((function, args),) = tree.items()
        return FUNCTIONS[function](numbers, *map(compute, args))

    for part in cell.get("parts", ()):
        parts[part["name"]] = compute(part["is"])
    return compute(cell["expression"])


__all__ = ["Apply", "data", "recompute"]
