"""The process that calls a learner's function: reads what to call from stdin, writes what it gave into a file.

It is run as text, with the standard library alone, so that it starts at once. When the learner's file has run,
a second file says so.

Each adapter turns the arguments of a case into what the function takes, and its result into nested lists:

    call         lists in, lists out
    values       numbers in lists become the file's own Values; results are their data and the inputs' gradients
    attention    a SelfAttention of the file's own: result, gradients, and its projections as matrices
"""

from __future__ import annotations

import copy
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

SEVERAL = 4


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    own = os.getpid()
    _limit(asked["megabytes"])
    sys.path.insert(0, os.path.dirname(asked["file"]))
    try:
        told: dict[str, Any] = _called(asked)
    except BaseException as error:
        told = {"failure": sentence(error, asked)}
    if os.getpid() != own:  # a fork of the learner's: only the first process answers
        os._exit(0)
    with open(f"{asked['answer']}.part", "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.replace(f"{asked['answer']}.part", asked["answer"])
    os._exit(0)


def _limit(megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has none
        return
    size = megabytes * 1024 * 1024
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def _called(asked: dict[str, Any]) -> dict[str, Any]:
    names = _names(asked["file"])
    with open(f"{asked['answer']}.loaded", "w", encoding="utf-8"):
        pass
    if asked["function"] not in names:
        return {"failure": f"the file does not define {asked['function']}; expected {asked['signature']}"}
    function = names[asked["function"]]
    if not callable(function):
        return {"failure": f"{asked['function']} is a {type(function).__name__}; expected a function"}
    used: list[str] = []
    if asked["instead"]:
        right = importlib.import_module(asked["module"])
        names.update((name, _noting(getattr(right, name), name, used)) for name in asked["instead"])
    adapter = ADAPTERS[asked["adapter"]]
    results = []
    for args, kwargs in asked["calls"]:
        before = copy.deepcopy((args, kwargs))
        try:
            result = adapter(function, args, kwargs, names)
        except BaseException as error:
            result = {"error": sentence(error, asked)}
        if (args, kwargs) != before and "error" not in result:
            result = {"error": "it changed what it was given; expected the inputs to stay as they are"}
        results.append(result)
    return {"results": results, "used": used}


def _noting(function: Callable[..., Any], name: str, used: list[str]) -> Callable[..., Any]:
    """The function, which notes that it was called."""

    def noted(*args: Any, **kwargs: Any) -> Any:
        if name not in used:
            used.append(name)
        return function(*args, **kwargs)

    return noted


def _names(path: str) -> dict[str, Any]:
    import types

    module = types.ModuleType("graded")
    module.__file__ = path
    sys.modules["graded"] = module
    with open(path, "rb") as file:
        code = file.read()
    exec(compile(code, path, "exec"), vars(module))
    return vars(module)


def sentence(error: BaseException, asked: dict[str, Any]) -> str:
    """An exception, with the line of the file that it came from; of a wrong call or argument, the signature."""
    path = asked["file"]
    if isinstance(error, SyntaxError):
        line = f"\n    {error.text.strip()}" if error.text else ""
        return f"line {error.lineno}: {error.msg}; expected Python{line}"
    if isinstance(error, SystemExit):
        return "it called exit"
    if isinstance(error, MemoryError):
        return "it took more memory than it may"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = f"line {lines[-1]}: " if lines else ""
    expected = f"; expected {asked['signature']}" if isinstance(error, TypeError) and asked["signature"] else ""
    return f"{where}{type(error).__name__}: {str(error)[:200]}".rstrip(": ") + expected


# ---------------------------------------------------------------- adapters


def call(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], names: Any) -> dict[str, Any]:
    return told(function(*args, **kwargs))


def values(function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], names: Any) -> dict[str, Any]:
    """The data of the results, and the gradients of Σ (i + 1) · resultᵢ by the arguments."""
    made: list[Any] = []
    given = [lifted(arg, names["Value"], made) for arg in args]
    result = function(*given, **kwargs)
    out = told(result)
    if "value" in out and made:
        out["value"] = [out["value"], _gradients(result, made)]
        out["several"] = True
    return out


def attention(
    function: Callable[..., Any], args: list[Any], kwargs: dict[str, Any], names: Any
) -> dict[str, Any]:
    """(result, gradients of x, projections): each projection as its matrix and bias, found by asking it."""
    import random

    random.seed(0)
    width, x = args
    module = function(width)
    made: list[Any] = []
    given = lifted(x, names["Value"], made)
    result = module(given, **kwargs)
    out = told(result)
    if "value" in out:
        gradients = _gradients(result, made)
        linears = (getattr(module, name) for name in ("W_q", "W_k", "W_v", "W_o"))
        projections = [_affine(linear, width, names["Value"]) for linear in linears]
        out["value"] = [out["value"], gradients, projections]
        out["several"] = True
    return out


def _affine(linear: Callable[..., Any], width: int, value: Any) -> list[Any]:
    """[rows of the matrix (out × in), bias] of an affine map."""

    def at(row: list[float]) -> list[float]:
        return [_number(cell) for cell in linear([value(cell) for cell in row])]

    bias = at([0.0] * width)
    columns = [[a - b for a, b in zip(at([float(i == j) for j in range(width)]), bias)] for i in range(width)]
    return [[list(row) for row in zip(*columns)], bias]


def lifted(value: Any, make: Any, made: list[Any]) -> Any:
    if isinstance(value, list):
        return [lifted(item, make, made) for item in value]
    if isinstance(value, float):
        made.append(make(value))
        return made[-1]
    return value


def _gradients(result: Any, made: list[Any]) -> list[float]:
    cells = list(_flat(result))
    loss: Any = cells[0] * 1.0
    for i, cell in enumerate(cells[1:], 1):
        loss = loss + cell * float(i + 1)
    for cell in made:
        cell.grad = 0.0
    loss.backward()
    return [float(cell.grad) for cell in made]


def _flat(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value


ADAPTERS: dict[str, Callable[..., dict[str, Any]]] = {"call": call, "values": values, "attention": attention}


def told(result: Any) -> dict[str, Any]:
    """The result as JSON can hold it, or a sentence on what it is instead of numbers."""
    several = isinstance(result, tuple) and 1 < len(result) <= SEVERAL and all(map(_is_nest, result))
    notes: list[str] = []
    try:
        value = [_listed(part, notes) for part in result] if several else _listed(result, notes)
    except TypeError as error:
        return {"error": str(error)}
    return {"value": value, "several": several, "note": notes[0] if notes else ""}


def _is_nest(part: Any) -> bool:
    return isinstance(part, (list, tuple)) or hasattr(part, "tolist")


def _listed(value: Any, notes: list[str]) -> Any:
    if hasattr(value, "tolist"):
        notes.append(f"it gives a {type(value).__name__}; the contract says lists")
        value = value.tolist()
    if isinstance(value, tuple):
        notes.append("it gives tuples; the contract says lists")
    if isinstance(value, (list, tuple)):
        return [_listed(item, notes) for item in value]
    return _number(value)


def _number(cell: Any) -> Any:
    if isinstance(cell, (bool, int)):
        return cell
    data = getattr(cell, "data", cell)
    if isinstance(data, (int, float)):
        return float(data) if not isinstance(data, bool) else data
    if data is None:
        raise TypeError("it gives None; expected a result")
    raise TypeError(f"it gives a {type(cell).__name__} where a number is expected")


if __name__ == "__main__":
    main()
