"""Values as a number type, so that any graph runs on them: `run(graph, feeds, numbers="value")`.

The numbers of a run on Values are bit for bit those of the same run on floats.
"""

from __future__ import annotations

import math

from ..core.numbers import Numbers
from .value import Value, add, divide, dot, lift, maximum, multiply, negate, subtract, total

VALUE = Numbers(
    name="value", cell=Value, lift=lift, dot=dot, total=total, maximum=maximum,
    less=lambda a, b: a.data < b.data, isfinite=lambda x: math.isfinite(x.data), divide=divide,
    exp=Value.exp, log=Value.log, sqrt=Value.sqrt, tanh=Value.tanh, erf=Value.erf,
    sin=Value.sin, cos=Value.cos, add=add, subtract=subtract, multiply=multiply, negate=negate,
    text=lambda x: repr(x.data), near=lambda x: x.data,
)  # fmt: skip
