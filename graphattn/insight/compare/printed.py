"""With how many digits numbers were printed, and so how far each may be from the number that was meant.

Numbers of an array have their type, and nothing was left out. Of text, and of numbers of unknown origin:

    text       every cell with as many decimals (some of them zeros at the end, or 8 cells): fixed;
               every cell with an exponent and as many digits: significant
    numbers    D the most decimals that a cell needs, S the most digits: fixed with D decimals if more cells
               need D than need S, else significant with S digits. 15 digits, or whole numbers, are exact; and
               fewer than half of the cells needing it is no evidence. Sure from 8 distinct cells that need it.

Small tensors take the print of their group: inputs, or what was computed.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from .masked_cells import FLOOR, is_masked

EXACT_DIGITS = 15
FLOAT32_EXACT = 7
"""From so many digits on nothing was left out, of a double and of a float32."""
SURE_CELLS = 8
OWN_CELLS = 16
"""A tensor of so many distinct cells speaks for itself."""
WHOLE = 1e16
"""Whole numbers up to this size are exact."""
SAMPLE = 4096
"""At most so many cells are looked at."""


@dataclass(frozen=True)
class Print:
    """fixed: `places` decimals; significant: `places` digits; exact: nothing was left out. `sure`: whether
    there were cells enough to say so."""

    kind: str = "exact"
    places: int = 0
    sure: bool = True

    @property
    def exact(self) -> bool:
        return self.kind == "exact"

    def half(self, x: float) -> float:
        """Half a unit of the last place: how far a printed number may be from the number that was meant."""
        if self.kind == "fixed":
            return 0.500001 * 10.0**-self.places
        if self.kind == "significant" and x and math.isfinite(x):
            return 0.500001 * 10.0 ** (math.floor(math.log10(abs(x))) + 1 - self.places)
        return 0.0

    def unit(self, size: float) -> float:
        """The last place of a number of that size."""
        return 2 * self.half(size)

    def unsure(self) -> Print:
        return replace(self, sure=False)

    def __str__(self) -> str:
        what = {"fixed": "decimal", "significant": "significant digit"}.get(self.kind, "digit")
        return f"{self.places} {what}{'' if self.places == 1 else 's'}"


EXACT = Print()


def print_of_texts(texts: Sequence[str]) -> Print | None:
    """The print of cells as they stand in a text; None where the texts alone do not tell."""
    cells = [
        text.lstrip("+-") for text in texts if text.lstrip("+-")[:1].isdigit() or text.lstrip("+-")[:1] == "."
    ]
    if not cells:
        return None
    if all("e" in cell.lower() for cell in cells):
        mantissas = {len(cell.lower().partition("e")[0].replace(".", "")) for cell in cells}
        return (
            Print("significant", mantissas.pop(), len(set(cells)) >= SURE_CELLS)
            if len(mantissas) == 1
            else None
        )
    tails = {cell.partition(".")[2] for cell in cells}
    lengths = {len(tail) for tail in tails}
    if len(lengths) > 1 or any("e" in cell.lower() for cell in cells):
        return None
    (places,) = lengths
    if places == 0 or places >= EXACT_DIGITS:
        return EXACT if places else None
    padded = any(tail.endswith("0") for tail in tails)
    return Print("fixed", places) if padded or len(cells) >= SURE_CELLS else Print("fixed", places, False)


def print_of_float32(cells: Iterable[float]) -> Print | None:
    """The print that numbers look like which were rounded to float32 after it (an array of float32)."""
    return print_of_numbers((_decimal(x) for x in islice(cells, SAMPLE)), FLOAT32_EXACT)


def before_float32(cells: Iterable[float]) -> list[float] | None:
    """The short decimal numbers that cells were before they were rounded to float32; None where one was none,
    or none was rounded."""
    decimals, rounded = [], False
    for x in cells:
        short = float(f"{x:.{FLOAT32_EXACT - 1}g}")
        if short == x or x != x or is_masked(x):
            decimals.append(x)
        elif type(x) is float and array("f", (short,))[0] == x:
            decimals.append(short)
            rounded = True
        else:
            return None
    return decimals if rounded else None


def _decimal(x: float) -> float:
    """The decimal number of fewer digits than a float32 has that it is the nearest to; itself without one."""
    short = float(f"{x:.{FLOAT32_EXACT - 1}g}") if math.isfinite(x) else x
    return short if array("f", (short,))[0] == x else x


def print_of_numbers(cells: Iterable[float], exact: int = EXACT_DIGITS) -> Print | None:
    """The print that numbers look like; None where there is no evidence of any. `exact`: how many digits say
    that nothing was left out."""
    distinct: set[float] = set()
    needs = []
    for x in islice(cells, SAMPLE):
        if not x or type(x) is not float or not math.isfinite(x) or (x <= FLOOR and is_masked(x)):
            continue
        size = abs(x)
        if size not in distinct:
            distinct.add(size)
            needs.append(_shortest(size))
            if needs[-1][1] >= exact:
                return EXACT
    if not distinct:
        return None
    decimals, digits = max(d for d, _ in needs), max(s for _, s in needs)
    if decimals == 0 and max(distinct) < WHOLE:
        return None
    fixed = sum(d == decimals for d, _ in needs) if decimals else 0
    significant = sum(s == digits for _, s in needs)
    most = max(fixed, significant)
    if 2 * most < len(needs):
        return None
    sure = most >= SURE_CELLS
    return Print("fixed", decimals, sure) if fixed > significant else Print("significant", digits, sure)


def most_decimals(cells: Iterable[float], float32: bool = False) -> int:
    """How many decimals the cell needs that needs most; `float32`: they were rounded to float32 after it."""
    finite = (x for x in islice(cells, SAMPLE) if math.isfinite(x))
    return max((_shortest(_decimal(x) if float32 else x)[0] for x in finite), default=0)


def fits(shown: Print, cells: Iterable[float]) -> bool:
    """Whether the cells need just so many decimals, or digits: where all lie between 0.1 and 1, both do."""
    needs = [_shortest(x) for x in islice(cells, SAMPLE) if math.isfinite(x) and not is_masked(x)]
    return (
        not shown.exact
        and max((d if shown.kind == "fixed" else s for d, s in needs), default=0) == shown.places
    )


def in_full(cells: Iterable[float], digits: int) -> bool:
    """Whether no number, those of masks aside, needs more than so many digits to be read back."""
    return all(float(f"{x:.{digits}g}") == x or x != x for x in cells if not is_masked(x))


def significant_digits(x: float) -> int:
    """How many significant digits a number needs to be read back."""
    return _shortest(x)[1]


def _shortest(x: float) -> tuple[int, int]:
    """How many decimals and how many significant digits a number needs to be read back."""
    mantissa, _, exponent = repr(abs(x)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    digits = (whole + fraction).lstrip("0")
    return max(0, len(fraction) - int(exponent or 0)), len(digits.rstrip("0") or "0")
