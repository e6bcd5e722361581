"""Colours as `#RRGGBB`: how well one reads on another, and what lies between two.

>>> round(contrast("#000000", "#FFFFFF"), 1)
21.0
>>> blend(("#000000", "#FFFFFF"), 0.0), blend(("#000000", "#FFFFFF"), 1.0)
('#000000', '#FFFFFF')
>>> ink_on("#33084F")
'#FFFFFF'
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

READABLE = 4.5
"""The least contrast of text (WCAG 2.2, level AA)."""

INKS = ("#000000", "#FFFFFF")
"""On any colour one of the two reads well: the worst colour has a contrast of √21 = 4.58 with both."""


def contrast(a: str, b: str) -> float:
    """The contrast of two colours, from 1 (none) to 21 (WCAG 2.2, relative luminance)."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """How bright a colour is, from 0 (black) to 1 (white)."""
    r, g, b = linear(colour)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def linear(colour: str) -> tuple[float, float, float]:
    """Red, green and blue as amounts of light, from 0 to 1."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return r, g, b


def encoded(light: Sequence[float]) -> str:
    """The colour with these amounts of light, cut to what a screen can show."""
    clipped = (min(max(c, 0.0), 1.0) for c in light)
    channels = (12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055 for c in clipped)
    return "#" + "".join(f"{round(255 * c):02X}" for c in channels)


def oklab(colour: str) -> tuple[float, float, float]:
    """Lightness and two axes of hue, in which equal steps look equal (B. Ottosson, 2020)."""
    r, g, b = linear(colour)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    middle = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )


def _from_oklab(lightness: float, a: float, b: float) -> str:
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return encoded(
        (
            4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
            -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
            -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
        )
    )


@lru_cache(maxsize=4096)
def blend(stops: tuple[str, ...], at: float) -> str:
    """The colour at a place from 0 (the first stop) to 1 (the last), in even steps for the eye."""
    place = min(max(at, 0.0), 1.0) * (len(stops) - 1)
    first = min(int(place), len(stops) - 2)
    share = place - first
    if share in (0.0, 1.0):
        return stops[first + int(share)]
    return _from_oklab(
        *(a + (b - a) * share for a, b in zip(oklab(stops[first]), oklab(stops[first + 1]), strict=True))
    )


@lru_cache(maxsize=4096)
def ink_on(surface: str) -> str:
    """Black or white, whichever reads better on a surface."""
    return max(INKS, key=lambda ink: contrast(ink, surface))
