"""What a worksheet is at most, and how the text in its spreadsheet says what it is."""

FORMAT, VERSION = "graphattn worksheet", 1
CELLS = 20_000
"""The most computed cells of a graph of which a worksheet is made."""
