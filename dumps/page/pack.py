"""Documents and numbers made small enough for a page: raw deflate, four bytes in five letters.

Doubles are packed as they are, or with all their first bytes before all their second ones, and so on,
whichever comes out smaller: the bytes that hold the exponents are much alike, but copies of whole
numbers are found only where these stay together.
"""

from __future__ import annotations

import array
import base64
import json
import sys
import zlib
from typing import Any

from graphattn.dumps.page.contents import Contents

LARGE = 2_000_000
"""Bytes from which on it is packed quickly rather than as small as can be."""


def packed(contents: Contents) -> dict[str, Any]:
    """What stands in a page's data block."""
    text = json.dumps(contents.document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return {
        "contents": packed_text(text),
        "numbers": [_doubles(numbers) for numbers in contents.numbers],
    }


def _doubles(numbers: array.array[float]) -> dict[str, Any]:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    plain = numbers.tobytes()
    apart = b"".join(plain[place::8] for place in range(8))
    found = [(_deflated(plain), False), (_deflated(apart), True)]
    best, shuffled = min(found, key=lambda pair: len(pair[0]))
    return {"bytes": _text(best), "shuffled": shuffled}


def _deflated(data: bytes) -> bytes:
    machine = zlib.compressobj(9 if len(data) < LARGE else 5, zlib.DEFLATED, -15)
    return machine.compress(data) + machine.flush()


def packed_text(text: str) -> str:
    """A text, deflated, in letters that may stand in a script element and in JSON as they are."""
    return _text(_deflated(text.encode("utf-8", "surrogatepass")))


def _text(data: bytes) -> str:
    return base64.b85encode(data).decode("ascii").replace("<", ":")
