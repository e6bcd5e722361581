"""Values as text: None, numbers, text and nested tuples of them, written so that they read back the same.

The form is Python's (`(1, -0.5, inf, "1e-05")`), with text as JSON writes it in double quotes.
Whatever an editor or a terminal would not show as it stands (control characters, U+2028, marks that
turn the writing direction, halves of characters) is escaped, so one value never takes two lines.
Nothing is evaluated: `Line` cuts a line into words and marks, and reads values from those.

>>> literal((2, -0.0, float("inf"), 'a "b"', (None, True)))
'(2, -0.0, inf, "a \\\\"b\\\\"", (None, True))'
>>> line = Line('y = softmax(x, axis=-1)  # token 3')
>>> line.word(), line.take("="), line.word(), line.take("("), line.word(), line.take(",")
('y', True, 'softmax', True, 'x', True)
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from graphattn.core.errors import GraphError
from graphattn.core.nested import RANK_LIMIT, lists
from graphattn.core.words import DECIMAL_LIMIT, integer, read_integer

_UNSEEN = re.compile(
    "[\x7f-\xa0\xad\u061c\u180e\u200b-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff\ufff0-\uffff]"
)
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[=(),]|[^\s=(),"#]+|#.*|\S')
_WORDS = {"None": None, "True": True, "False": False, "inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def printable(text: str) -> str:
    """JSON text with everything escaped that could not be seen, or would break the line."""
    return _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def quote(text: str) -> str:
    """A text as a JSON string on one line."""
    return printable(json.dumps(text, ensure_ascii=False))


def plain(text: str) -> str:
    """The text itself where it can stand in a line as it is, else quoted."""
    if text.isprintable() and text == text.strip() and not text.startswith('"') and not _UNSEEN.search(text):
        return text
    return quote(text)


def unplain(text: str) -> str:
    """What `plain` wrote."""
    return unquote(text) if text.startswith('"') else text


def unquote(text: str) -> str:
    """The text that a JSON string stands for."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, str):
        raise GraphError(f"{shortened(text)} is not a text; expected a JSON string in double quotes")
    return value


def literal(value: Any) -> str:
    """A value as text that `Line.value` reads back."""
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return repr(value)
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, float):
        return float.__repr__(value)
    items = lists(value)
    return f"({', '.join(map(literal, items))}{',' if len(items) == 1 else ''})"


def number(word: str) -> Any:
    """The int or float that a word stands for."""
    try:
        if "x" in word or not any(letter in word for letter in ".eE"):
            return read_integer(word)
        value = float(word)
    except ValueError:
        if word.removeprefix("-").isdecimal():
            raise GraphError(
                f"{shortened(word)} has {len(word)} digits; expected at most {DECIMAL_LIMIT:,}, or 0x…"
            ) from None
        raise GraphError(f"{shortened(word)} is not a value; expected a number, text or a tuple") from None
    if math.isinf(value):
        raise GraphError(f"{shortened(word)} is too large; expected a number that a double can hold, or inf")
    return value


def shortened(text: str, width: int = 40) -> str:
    """A piece of foreign text for a message."""
    return repr(text if len(text) <= width else f"{text[: width - 1]}…")


class Line:
    """One line cut into words, marks (`= ( ) ,`) and texts; a comment ends it."""

    def __init__(self, text: str) -> None:
        self.tokens: list[str] = _TOKEN.findall(text)
        if self.tokens and self.tokens[-1][0] == "#":
            self.tokens.pop()
        if '"' in self.tokens:
            raise GraphError(
                f"a text is not closed in {shortened(text.strip())}; expected another double quote"
            )
        self.tokens += ("", "")
        self.place = 0

    def peek(self, ahead: int = 0) -> str:
        """The token that comes, or the one behind it; '' at the end."""
        return self.tokens[self.place + ahead]

    def take(self, mark: str) -> bool:
        """Whether this mark comes; if so, go past it."""
        if self.tokens[self.place] == mark:
            self.place += 1
            return True
        return False

    def need(self, mark: str) -> None:
        """Go past a mark that must come."""
        if not self.take(mark):
            raise GraphError(f"{self._found()}; expected {mark!r}")

    def word(self, what: str = "a name") -> str:
        """Go past a word, which is returned."""
        token = self.tokens[self.place]
        if not token or token[0] in '=(),"':
            raise GraphError(f"{self._found()}; expected {what}")
        self.place += 1
        return token

    def text(self) -> str:
        """Go past a quoted text, which is returned."""
        token = self.peek()
        if not token.startswith('"'):
            raise GraphError(f"{self._found()}; expected a text in double quotes")
        self.place += 1
        return unquote(token)

    def value(self, depth: int = 0) -> Any:
        """Go past a value, which is returned: None, a bool, a number, text, or a tuple of values."""
        token = self.peek()
        if token == "(":
            return self._tuple(depth)
        if token.startswith('"'):
            return self.text()
        word = self.word("a value")
        return _WORDS[word] if word in _WORDS else number(word)

    def _tuple(self, depth: int) -> Any:
        if depth >= RANK_LIMIT:
            raise GraphError(f"a value is nested deeper than {RANK_LIMIT} tuples")
        self.need("(")
        items = []
        while not self.take(")"):
            items.append(self.value(depth + 1))
            if not self.take(","):
                self.need(")")
                return items[0] if len(items) == 1 else tuple(items)
        return tuple(items)

    def end(self) -> None:
        """Nothing may follow."""
        if self.tokens[self.place]:
            raise GraphError(f"{self._found()}; expected the end of the line")

    def _found(self) -> str:
        return f"found {shortened(self.peek())}" if self.peek() else "the line ends too early"
