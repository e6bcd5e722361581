"""How far apart the two sides of a tensor may be.

Given (rtol, atol); or derived from the format that both sides hold and the length of the sums on the way to the
tensor (`precision.growth`), and, where numbers were printed with few digits, half a unit of the last place.
"""

from __future__ import annotations

from itertools import chain

from ...core.errors import GraphError
from ...core.graph import Ref
from ...core.rounded import FLOAT32, Format
from .alignment import Pair
from .cell_classes import Tolerance
from .matched import Matched
from .precision import FLOAT64, default_bound, format_of, growth, precision_of, shown_precision
from .printed import EXACT, OWN_CELLS, Print, before_float32, fits, in_full, print_of_numbers
from .recording import Recorded, folded

ROOM = 3.0
"""How many times the derived bound two computations may be apart: both of them round."""
FLOAT32_DIGITS = 9
"""A float32 that was printed in full has so many significant digits or fewer, a double has more."""


class Prints:
    """With how many digits each tensor of yours was printed (`printed`).

    Small tensors take the print of their group: inputs, or what was computed. Where all that was computed is
    given in full, short inputs are exact; where inputs have fewer decimals than what was computed, they may be.
    """

    def __init__(self, matched: Matched) -> None:
        self.matched = matched
        self.by_name: dict[str, Print] = {}
        """By name of yours, where it was not printed in full."""
        self.computed = EXACT
        """The print of what was computed."""
        self.short = False
        """Whether what was computed may be float32 that was printed in full, or shorter."""
        if matched.yours.trace is None:
            self._read()

    def _read(self) -> None:
        groups: dict[bool, dict[str, Recorded]] = {True: {}, False: {}}
        whole = self.matched.yours.tensors
        for key, pairs in self.matched.by_key.items():
            if self.matched.kind(key) == "float":
                group = groups[self.matched.is_input(key)]
                for pair in pairs:
                    group[pair.other] = _as_printed(whole.get(pair.other, pair.yours))
        self.computed = _group_print(groups[False])
        inputs = _group_print(groups[True])
        loose = [t for t in groups[False].values() if t.printed is None or not t.printed.exact]
        self.short = bool(loose) and all(in_full(tensor.flat, FLOAT32_DIGITS) for tensor in loose)
        if self.computed.exact and groups[False]:
            inputs = EXACT
        elif not inputs.exact and (inputs.kind, inputs.places) < (self.computed.kind, self.computed.places):
            inputs = inputs.unsure()
        for shared, group in ((self.computed, groups[False]), (inputs, groups[True])):
            if not shared.exact:
                self.by_name |= {name: _own_print(tensor, shared) for name, tensor in group.items()}

    def of(self, pair: Pair) -> Print:
        return self.by_name.get(pair.other, EXACT)


def _as_printed(tensor: Recorded) -> Recorded:
    """A tensor without a type with the decimal numbers that were rounded to float32 after they were printed,
    where all its cells look so."""
    if tensor.dtype or tensor.printed is not None or not tensor.size:
        return tensor
    decimals = before_float32(chain.from_iterable(tensor.rows))
    return tensor if decimals is None else folded(tensor.name, tensor.shape, decimals, tensor)


def _group_print(tensors: dict[str, Recorded]) -> Print:
    """The print of tensors together: exact where any is known to be, or where there is no evidence."""
    if any(tensor.printed is not None and tensor.printed.exact for tensor in tensors.values()):
        return EXACT
    stated = [tensor.printed for tensor in tensors.values() if tensor.printed is not None]
    if stated:
        return max(stated, key=lambda print_: (print_.sure, print_.places))
    return print_of_numbers(chain.from_iterable(tensor.flat for tensor in tensors.values())) or EXACT


def _own_print(tensor: Recorded, shared: Print) -> Print:
    """The print of one tensor of a group."""
    if tensor.printed is not None:
        return tensor.printed if tensor.printed.sure else shared
    if len({x for x in tensor.flat if x}) < OWN_CELLS or fits(shared, tensor.flat):
        return shared
    own = print_of_numbers(tensor.flat)
    return own if own is not None and own.sure else shared


class Tolerances:
    """The tolerance of each tensor. `explicit`: given as rtol and atol; `derived`: from the numbers
    themselves, not from a precision that was asked for."""

    def __init__(self, matched: Matched, precision: str | None, rtol: float | None, atol: float | None) -> None:
        self.matched = matched
        self.explicit = rtol is not None or atol is not None
        self.rtol, self.atol = _checked("rtol", rtol), _checked("atol", atol)
        self.derived = precision is None
        self.prints = Prints(matched)
        self.precision = self._precision() if precision is None else precision_of(precision)
        self.bounds = {} if matched.graph is None else growth(matched.graph, self.precision)
        self.units: dict[Ref, float] = {}
        """The unit in the last place of each tensor, as a part of 1, where something coarser went into it."""

    def _precision(self) -> Format:
        """The coarser of what both sides hold; what was printed may have been computed in float32."""
        pairs = list(chain.from_iterable(self.matched.by_key.values()))
        own, theirs = [pair.reference for pair in pairs], [pair.yours for pair in pairs]
        sides = (
            shown_precision(self.matched.reference, own, theirs),
            shown_precision(self.matched.yours, theirs, own),
        )
        coarser = min(sides, key=lambda fmt: fmt.bits)
        return FLOAT32 if coarser is FLOAT64 and self._is_short(own) else coarser

    def _is_short(self, own: list[Recorded]) -> bool:
        """Whether yours has no more digits than a float32 has, and the reference has more."""
        printed = self.prints.computed
        if printed.sure and not printed.exact and printed.places <= FLOAT32_DIGITS:
            return True
        return self.prints.short and not all(in_full(tensor.flat, FLOAT32_DIGITS) for tensor in own)

    @property
    def wide(self) -> bool:
        """Whether tolerances are so wide that a difference may be watered down below them."""
        return not self.explicit and (self.precision.bits < 24 or not self.prints.computed.exact)

    def of(self, key: str, pair: Pair) -> Tolerance:
        """The tolerance of a tensor whose numbers were given in full."""
        if self.explicit:
            return Tolerance(self.rtol, self.atol, by_row=False)
        return Tolerance(self.unit(key) * self.room(key, pair))

    def unit(self, key: str) -> float:
        """The unit in the last place of a tensor, as a part of 1."""
        unit, flow = 2.0**-self.precision.bits, self.matched.flow
        if flow is None or not self.units:
            return unit
        ref = flow.refs[key]
        coarsest = max(self.units.get(source, unit) for source in (ref, *flow.above[ref]))
        if coarsest > unit:
            self.units[ref] = coarsest
        return coarsest

    def room(self, key: str, pair: Pair) -> float:
        """How many units of the precision two right runs may be apart."""
        ref = self.matched.refs.get(key)
        return ROOM * (
            default_bound(pair.reference, self.precision) if ref is None else max(self.bounds[ref], 2.0)
        )

    def printed(self, key: str, pair: Pair) -> tuple[Tolerance, Print] | None:
        """The tolerance of a tensor whose numbers were printed with few digits; None where they were not."""
        shown = self.prints.of(pair)
        if self.explicit or shown.exact:
            return None
        tolerance = self.of(key, pair)
        if shown.kind == "fixed":
            return Tolerance(tolerance.rtol, shown.half(1.0)), shown
        return Tolerance(tolerance.rtol, digits=shown.places), shown

    def coarser(self, key: str, pair: Pair) -> Tolerance | None:
        """The tolerance for a tensor that holds shorter numbers than the recording as a whole."""
        if not self.derived or self.explicit or self.precision is FLOAT64:
            return None
        sides = (format_of(pair.yours, pair.reference), format_of(pair.reference, pair.yours))
        own = min(sides, key=lambda fmt: fmt.bits)
        if own.bits >= self.precision.bits:
            return None
        if key in self.matched.refs:
            self.units[self.matched.refs[key]] = 2.0**-own.bits
        return Tolerance(2.0**-own.bits * self.room(key, pair))

    @property
    def text(self) -> str:
        if self.explicit:
            return f"|yours − the reference| ≤ {self.atol:g} + {self.rtol:g} · |the reference|"
        printed = self.prints.computed
        if not printed.exact:
            return f"half a unit of the {printed} that were printed, and the rounding of {self.precision.name}"
        how = "as asked" if not self.derived else "the coarser of what both hold"
        return f"the rounding of {self.precision.name} ({how}), which grows with the length of each sum"


def _checked(what: str, value: float | None) -> float:
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise GraphError(f"{what} is {value!r}; expected a number of 0 or more")
    return float(value)
