"""Pixels as a PNG file: red, green and blue, a byte each.

>>> png(1, 1, b"\\xff\\x00\\x00")[:8]
b'\\x89PNG\\r\\n\\x1a\\n'
"""

from __future__ import annotations

import struct
import zlib


def png(columns: int, rows: int, pixels: bytes) -> bytes:
    """The file of an image whose rows follow each other, from the top (ISO/IEC 15948)."""
    width = 3 * columns
    lines = b"".join(b"\0" + pixels[at : at + width] for at in range(0, width * rows, width))
    header = struct.pack(">IIBBBBB", columns, rows, 8, 2, 0, 0, 0)
    chunks = (b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
