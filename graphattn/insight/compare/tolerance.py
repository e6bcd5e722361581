"""How far apart the two sides of a tensor may be.

Given (rtol, atol); or derived from the format that both sides hold and the length of the sums on the way to the
tensor (`precision.growth`); or, where yours was printed with few digits, half a unit of the last.
"""

from __future__ import annotations

from ...core.errors import GraphError
from ...core.graph import Ref
from ...core.rounded import FLOAT32, Format
from .alignment import Pair
from .cell_classes import Tolerance
from .matched import Matched
from .precision import (
    FLOAT64,
    decimals,
    default_bound,
    digits,
    growth,
    held,
    precision_of,
    recorded_precision,
)

ROOM = 3.0
"""How many times the derived bound two computations may be apart: both of them round."""
SURE = 0.5
"""How much of its tolerance a tensor may use to vouch, in a short format, for what it was computed from."""


class Tolerances:
    """The tolerance of each tensor of a comparison. `explicit`: given as rtol and atol; `derived`: from the
    numbers themselves, not from a precision that was asked for."""

    def __init__(self, matched: Matched, precision: str | None, rtol: float | None, atol: float | None) -> None:
        self.matched = matched
        self.explicit = rtol is not None or atol is not None
        self.rtol, self.atol = _checked("rtol", rtol), _checked("atol", atol)
        self.derived = precision is None
        self.digits: int | None = None
        self.decimals: int | None = None
        if precision is not None:
            self.precision = precision_of(precision)
        else:
            sides = [recorded_precision(matched.reference), recorded_precision(matched.yours)]
            self.precision: Format = min(sides, key=lambda fmt: fmt.bits)
            if matched.yours.trace is None and self.precision is FLOAT64:
                self._read_print()
        self.bounds = {} if matched.graph is None else growth(matched.graph, self.precision)
        self.units: dict[Ref, float] = {}
        """The unit in the last place of each tensor, as a part of 1: that of the coarsest that went into it."""

    def _read_print(self) -> None:
        """Find whether yours was printed with fewer digits than the reference has."""
        printed = digits(self.matched.yours.tensors.values())
        if printed is None or digits(self.matched.reference.tensors.values()) is not None:
            return
        self.precision = FLOAT32
        self.decimals = decimals(t for t in self.matched.yours.tensors.values() if t.width > 1)
        if self.decimals is None:
            self.digits = printed

    @property
    def wide(self) -> bool:
        """Whether tolerances are so wide that a difference may be watered down below them."""
        return not self.explicit and self.precision.bits < 24

    def of(self, key: str, pair: Pair) -> Tolerance:
        """The tolerance of a tensor."""
        if self.explicit:
            return Tolerance(self.rtol, self.atol, by_row=False)
        unit = 2.0**-self.precision.bits
        flow = self.matched.flow
        if flow is not None:
            ref = flow.refs[key]
            unit = max([unit, *(self.units.get(source, 0.0) for source in flow.above[ref])])
            self.units[ref] = unit
        atol = 0.0 if self.decimals is None else 0.500001 * 10.0**-self.decimals
        rtol = 0.0 if self.digits is None else 0.500001 * 10.0 ** (1 - self.digits)
        return Tolerance(unit * self.room(key, pair) + rtol, atol)

    def room(self, key: str, pair: Pair) -> float:
        """How many units of the precision two right runs may be apart."""
        ref = self.matched.refs.get(key)
        return ROOM * (
            default_bound(pair.reference, self.precision) if ref is None else max(self.bounds[ref], 2.0)
        )

    def coarser(self, key: str, pair: Pair) -> Tolerance | None:
        """The tolerance for a tensor that holds shorter numbers than the recording as a whole."""
        if not self.derived or self.explicit or self.precision is FLOAT64 or pair.reference.size < 4:
            return None
        own = min((held([pair.yours]), held([pair.reference])), key=lambda fmt: fmt.bits)
        if own.bits >= self.precision.bits:
            return None
        if key in self.matched.refs:
            self.units[self.matched.refs[key]] = 2.0**-own.bits
        return Tolerance(2.0**-own.bits * self.room(key, pair))

    @property
    def text(self) -> str:
        if self.explicit:
            return f"|yours − the reference| ≤ {self.atol:g} + {self.rtol:g} · |the reference|"
        how = "as asked" if not self.derived else "the coarser of what both hold"
        if self.decimals is not None:
            return f"half a unit of the {self.decimals} decimals that yours has, and the rounding of float32"
        if self.digits is not None:
            return f"half a unit of the {self.digits} digits that yours has, and the rounding of float32"
        return f"the rounding of {self.precision.name} ({how}), which grows with the length of each sum"


def _checked(what: str, value: float | None) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise GraphError(f"{what} is {value!r}; expected a number of 0 or more")
    return float(value)
