"""What a constant factor probably means: √d_k, 1/√d_model, h, 2, ln 2, …

>>> meanings(2.0 * 2.0**0.5, Dimensions(d_k=8, d_model=16, h=2))
['√d_k (d_k = 8)', '2·√2']
>>> meanings(1.2345, Dimensions(d_k=8))
[]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Dimensions:
    """The sizes that a factor may be made of; None = unknown."""

    d_k: int | None = None
    d_model: int | None = None
    h: int | None = None
    n: int | None = None
    width: int | None = None
    """The length of a row of the tensor itself."""


def meanings(factor: float, dimensions: Dimensions, rtol: float = 1e-9) -> list[str]:
    """The constants that a factor is, the likeliest first; one that is the same number by other
    words (√d_k = 2 where d_k is 4) is listed too. Only where there is none it is one of variances."""
    return _meant(factor, known(dimensions), rtol) or _meant(factor, variances(dimensions), rtol)


def _meant(factor: float, constants: Iterable[tuple[float, str]], rtol: float) -> list[str]:
    names: list[str] = []
    for value, name in constants:
        if abs(abs(factor) - value) <= rtol * value and name not in names:
            names.append(name if factor > 0 else f"−{name}")
    return names


def known(dimensions: Dimensions) -> Iterator[tuple[float, str]]:
    """Every constant with a name, those of variances aside."""
    sizes = _sizes(dimensions)
    for power, form in ((0.5, "√{}"), (-0.5, "1/√{}"), (1.0, "{}"), (-1.0, "1/{}")):
        for name, size in sizes.items():
            if (
                size is not None
                and size > 1
                and not (name == "d" and size in (dimensions.d_model, dimensions.d_k))
            ):
                yield float(size) ** power, f"{form.format(name)} ({name} = {size})"
    d_k, d_model, h = dimensions.d_k, dimensions.d_model, dimensions.h
    if d_k and d_model and d_k != d_model:
        yield math.sqrt(d_model / d_k), f"√(d_model / d_k) ({d_model} / {d_k})"
        yield math.sqrt(d_k / d_model), f"√(d_k / d_model) ({d_k} / {d_model})"
    if h and h > 1:
        yield float(h) ** 2, f"h² (h = {h})"
    for name, size in sizes.items():
        if size is None or size < 2:
            continue
        yield float(size) ** 0.25, f"{name}^¼ ({name} = {size})"
        yield float(size) ** -0.25, f"{name}^−¼ ({name} = {size})"
        yield size / (size - 1), f"{name} / ({name} − 1) ({name} = {size})"
        yield (size - 1) / size, f"({name} − 1) / {name} ({name} = {size})"
    yield from (
        (2.0, "2"),
        (0.5, "1/2"),
        (math.log(2.0), "ln 2"),
        (1.0 / math.log(2.0), "1/ln 2 = log₂ e"),
        (math.sqrt(2.0), "√2"),
        (math.sqrt(0.5), "1/√2"),
        (2.0 * math.sqrt(2.0), "2·√2"),
        (math.log(10.0), "ln 10"),
        (1.0 / math.log(10.0), "log₁₀ e"),
        (math.pi, "π"),
        (2.0 * math.pi, "2π"),
        (math.pi / 180.0, "π/180, degrees for radians"),
        (180.0 / math.pi, "180/π, radians for degrees"),
        (math.e, "e"),
        (1.702, "1.702"),
        (3.0, "3"),
        (1.0 / 3.0, "1/3"),
        (4.0, "4"),
        (0.25, "1/4"),
        (8.0, "8"),
        (0.125, "1/8"),
        (10.0, "10"),
        (0.1, "1/10"),
        (100.0, "100"),
        (0.01, "1/100"),
        (1000.0, "1000"),
        (0.001, "1/1000"),
    )


def variances(dimensions: Dimensions) -> Iterator[tuple[float, str]]:
    """What a standard deviation is of one whose variance is divided by n − 1 for n, or by n for n − 1."""
    for name, size in _sizes(dimensions).items():
        if size is not None and size > 1:
            of = f"({name} = {size})"
            yield math.sqrt((size - 1) / size), f"√(({name} − 1) / {name}), an unbiased variance {of}"
            yield math.sqrt(size / (size - 1)), f"√({name} / ({name} − 1)), a biased variance {of}"


def _sizes(dimensions: Dimensions) -> dict[str, int | None]:
    return {
        "d_k": dimensions.d_k,
        "d_model": dimensions.d_model,
        "h": dimensions.h,
        "n": dimensions.n,
        "d": dimensions.width,
    }
