"""Colours for what the commands print on a terminal, as `graphattn demo` has them: names bold, what stands
beside them dim, verdicts green or red.

A painter takes the lines of a text and gives them as rich's `Text`; the letters stay the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.text import Text

NAME, QUIET, WARNING = "bold cyan", "dim", "yellow"

Rules = tuple[tuple[str, tuple[str, ...]], ...]
"""Patterns, and a style for each of their groups. The first that a line matches paints it."""

TRACE: Rules = (
    (r"(graphattn trace .*)", (QUIET,)),
    (r"(graph|input|parameter|output|patched|only) +(\S+)(.*)", (QUIET, "bold", QUIET)),
    (r"([\w.]+)( = )([^ ].*?)(?:(   *)(.*))?", (NAME, QUIET, "", "", QUIET)),
    (r" {8}(! .*)", (WARNING,)),
    (
        r" {8}((?:rows|columns)\b.* sum to 1.*|(?:smallest|largest) .*|· = masked.*|\d+ of \d+ .* shown.*)",
        (QUIET,),
    ),
)
WHY: Rules = (
    (r"( *)(— .*)", ("", WARNING)),
    (r"( *)([^ =].*?)( = )(.*?)((?:   +).*)?", ("", NAME, QUIET, "", QUIET)),
    (r"( *)(=)( .*?)((?:   +).*)?", ("", QUIET, "", QUIET)),
    (r"( *… .*)", (QUIET,)),
)
COMPARISON: Rules = (
    (r"(different|not the same)(\b.*)", ("bold red", "bold")),
    (r"(undecided)(\b.*)", ("bold yellow", "bold")),
    (r"(same|equal|mistake|right|harmless)(\b.*)", ("bold green", "bold")),
    (r"(tensor +.*)", (QUIET,)),
    (r"(  )(yours is|at |right |where |match )(.*)", ("", QUIET, "")),
)
CHANGES: Rules = (
    (r"(with )(\S+)( .*?: )(.*)", (QUIET, "bold", QUIET, "bold")),
    (r"((?:tensor +shape|absolute: |lost: |\d[\d,]* (?:more )?tensors? ).*|    .*)", (QUIET,)),
    (r"(\S+)(  .*)", (NAME, "")),
)
CARD: Rules = (
    (r"( +op +family.*)", (QUIET,)),
    (r"([a-z][\w ,]*)", (NAME,)),
    (r"(\S{0,5} *)([a-z]\w+)(  +\w.*)", ("", NAME, "")),
)


def painter(rules: Rules) -> Callable[[Iterable[str]], Iterator[Text]]:
    """What paints the lines of a text by some rules."""
    compiled = [(re.compile(pattern), styles) for pattern, styles in rules]

    def painted(lines: Iterable[str]) -> Iterator[Text]:
        from rich.text import Text

        for line in lines:
            text = Text(line)
            for pattern, styles in compiled:
                found = pattern.fullmatch(line)
                if found is not None:
                    for group, style in enumerate(styles, 1):
                        if style and found.group(group):
                            text.stylize(style, *found.span(group))
                    break
            if rules is TRACE and line.startswith(" " * 8):
                for hidden in re.finditer(r"(?<= )·(?= |$)", line):
                    text.stylize(QUIET, *hidden.span())
            yield text

    return painted
