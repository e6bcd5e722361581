"""How colours look with each kind of colour vision."""

from __future__ import annotations

import math

from graphattn.dumps.colour import encoded, linear, oklab

DEFICIENCIES = {  # G. Machado and others, 2009, severity 1, on amounts of light
    "none": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900),
    ),
}  # fmt: skip


def seen(colour: str, deficiency: str) -> str:
    """A colour as it is seen with a deficiency of colour vision."""
    light = linear(colour)
    return encoded([sum(a * b for a, b in zip(row, light, strict=True)) for row in DEFICIENCIES[deficiency]])


def apart(a: str, b: str) -> float:
    """How different two colours look; 0.02 can just be told."""
    return math.dist(oklab(a), oklab(b))
