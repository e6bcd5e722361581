"""The two exceptions of graphattn, and how a sentence offers the nearest known name.

>>> suggest("sofmax", ["softmax", "matmul"])
"; did you mean 'softmax'?"
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice


class GraphError(ValueError):
    """Anything a user can get wrong, told in one sentence: what, where, and what was expected."""


class Rejected(GraphError):
    """Raised by a rule of an op, which knows what was expected but not yet of which node.

    The graph catches it and raises a `GraphError` that names the op, the node and each operand.
    """


def _text(name: object) -> str:
    try:
        return str(name)
    except ValueError:  # an int of thousands of digits
        return ""


def suggest(name: object, known: Iterable[str]) -> str:
    """'; did you mean …?' for the known name nearest to `name`, or '' where none is near. Only the first
    10,000 are looked at: comparing takes a good while."""
    said = _text(name)
    names = list(islice(known, 10_000))
    near = [other for other in names if other.lower() == said.lower()] or difflib.get_close_matches(
        said, names, n=1
    )
    return f"; did you mean {near[0]!r}?" if near else ""
