"""How exact observed numbers are: which format holds them, or with how many digits they were printed.

    accuracy = accuracy_of(tensors)
    accuracy.half        half a unit of the last printed decimal, 0 where they were not printed so
    accuracy.relative    the rounding unit of the format (2⁻ᵇ), or half a unit of the last printed digit

The format and the print are told as in compare (`held`, `print_of_numbers`). An array of float32
may hold printed numbers too. Where too few cells show a print, but none needs more than a few decimals, the
numbers may still have been rounded to them (`if_rounded`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from ...core.errors import GraphError
from ...core.rounded import Format
from ..compare.masked_cells import is_masked
from ..compare.precision import FLOAT64, PRECISIONS, held, precision_of
from ..compare.printed import (
    EXACT,
    EXACT_DIGITS,
    Print,
    before_float32,
    in_full,
    most_decimals,
    print_of_float32,
    print_of_numbers,
)
from ..compare.recording import Recorded

DOUBLE = 2.0**-53
bits = attrgetter("bits")
MOST_DECIMALS = 8
"""Numbers that need more decimals were not rounded by anyone."""


@dataclass(frozen=True)
class Accuracy:
    """See the module's docstring. `text` is how a report calls it."""

    text: str
    half: float = 0.0
    relative: float = DOUBLE
    computed: float = DOUBLE
    """The rounding unit of the computation itself."""
    shown: Print = EXACT
    """How they were printed."""
    supposed: bool = False
    """Whether that is only supposed: nothing but the numbers' shortness says so."""

    def rounds(self, tensor: Recorded) -> bool:
        """Whether a tensor that is fed has the print of what was observed: with fewer digits it is exact."""
        shown, cells = self.shown, before_float32(tensor.flat) or tensor.flat
        if shown.exact or not in_full(cells, EXACT_DIGITS - 1):
            return False
        if shown.kind == "significant":
            return not in_full(cells, shown.places - 1)
        return any(round(x, shown.places - 1) != x for x in cells if x == x)

    @property
    def coarse(self) -> bool:
        """Whether so little is known of each cell that a mistake may hide in it."""
        return self.half > 1e-7 or self.relative > 1e-5

    @property
    def loose(self) -> float:
        """How many times what rounding can do a variant may be off before it is looked at closely."""
        return 1e4 if self.computed <= 1e-12 else 30.0 if self.computed <= 1e-6 else 4.0


FULL = Accuracy("float64")
FLOAT32_BITS = 24
SINGLE = Accuracy("float32", 0.0, 2.0**-FLOAT32_BITS, 2.0**-FLOAT32_BITS)
"""Numbers of float64 that something computed in float32 went into."""


def accuracy_of(tensors: Sequence[Recorded], given: str | int | None = None) -> Accuracy:
    """`given` says it instead: a format by name, or a number of decimals."""
    if isinstance(given, bool) or (isinstance(given, int) and given < 0):
        raise GraphError(f"precision is {given!r}; expected a format such as float32, or a number of decimals")
    if isinstance(given, int):
        return _printed(given)
    fmt = _held_or_told(tensors) if given is None else precision_of(given)
    unit = 2.0**-fmt.bits
    full = Accuracy(fmt.name, 0.0, unit, unit)
    if given is None and tensors and (told := _told_short(tensors)) is not None:
        return told
    if given is not None or fmt.bits < FLOAT32_BITS:
        return full
    shown = _told_by_text(tensors)
    if shown is None:
        cells = (cell for tensor in tensors for cell in tensor.flat if not is_masked(cell))
        shown = print_of_float32(cells) if fmt.bits == FLOAT32_BITS else print_of_numbers(cells)
    if shown is None or shown.exact or not shown.sure:
        return full
    if shown.kind == "fixed":
        return _printed(shown.places, full)
    told = f"{shown.places} printed digits"
    return replace(full, text=told, relative=0.5 * 10.0 ** (1 - shown.places), shown=shown)


def _held_or_told(tensors: Sequence[Recorded]) -> Format:
    """The format that the cells hold, or that all tensors are said to have, where that is coarser."""
    told = [PRECISIONS.get(tensor.dtype, FLOAT64) for tensor in tensors]
    return min((held(tensors), *([max(told, key=bits)] if told else [])), key=bits)


def _told_by_text(tensors: Sequence[Recorded]) -> Print | None:
    """The print of which the texts of all tensors tell, the coarsest; None where they do not."""
    told = [tensor.printed for tensor in tensors if tensor.printed is not None and tensor.printed.sure]
    alike = len(told) == len(tensors) and len({shown.kind for shown in told}) == 1
    return min(told, key=lambda shown: shown.places) if alike and not told[0].exact else None


def _told_short(tensors: Sequence[Recorded]) -> Accuracy | None:
    """How exact numbers are of which a text says that they are float16 or bfloat16, printed with few digits."""
    formats = [PRECISIONS.get(tensor.dtype) for tensor in tensors]
    known = [fmt for fmt in formats if fmt is not None and fmt.bits < FLOAT32_BITS]
    seen = [tensor.printed or print_of_numbers(tensor.flat) for tensor in tensors]
    prints = [shown for shown in seen if shown is not None and not shown.exact]
    if len(known) < len(tensors) or not prints:
        return None
    coarsest = min(known, key=lambda fmt: fmt.bits)
    shown = min(prints, key=lambda shown: shown.places)
    unit = 2.0**-coarsest.bits
    return Accuracy(coarsest.name, shown.half(1.0), unit, unit, shown)


def if_rounded(tensors: Sequence[Recorded], taken: Accuracy) -> Accuracy | None:
    """How exact the numbers are if they were rounded to the most decimals that one of them needs; None where
    that is how they are `taken` already, or where it is none or more than a few."""
    if taken.shown.kind == "fixed" or taken.computed > 2.0**-FLOAT32_BITS:
        return None
    cells = [cell for tensor in tensors for cell in tensor.flat if not is_masked(cell)]
    places = most_decimals(cells, taken.computed > DOUBLE)
    if not 1 <= places <= MOST_DECIMALS:
        return None
    what = "decimal" if places == 1 else f"{places} decimals"
    rounded = _printed(places, FULL if taken.computed == DOUBLE else replace(taken, relative=taken.computed))
    return replace(rounded, text=f"the {what}, if they were rounded", supposed=True)


def _printed(places: int, full: Accuracy = FULL) -> Accuracy:
    text = f"{places} printed decimals" + ("" if full.text == FULL.text else f" of {full.text}")
    return replace(full, text=text, half=0.5 * 10.0**-places, shown=Print("fixed", places))
