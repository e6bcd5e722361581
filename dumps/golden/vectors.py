"""What golden vectors hold, whatever they are written in: each tensor with a name that programs can use."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

from graphattn.core.axes import Spec
from graphattn.core.errors import GraphError
from graphattn.core.numbers import FLOAT
from graphattn.core.trace import Trace

KEPT = """abstract alignas alignof and and_eq arguments as asm assert async auto await become bitand bitor
bool box break case catch char char16_t char32_t char8_t class co_await co_return co_yield compl concept
const const_cast consteval constexpr constinit continue crate debugger decltype def default del delete do
double dyn dynamic_cast elif else enum eval except explicit export extends extern false final finally
float fn for fortran friend from function gen global goto if impl implements import in inline instanceof
int interface is lambda let long loop macro match mod move mut mutable namespace new noexcept none
nonlocal not not_eq null nullptr of operator or or_eq override package pass priv private protected pub
public raise ref register reinterpret_cast requires restrict return self short signed sizeof static
static_assert static_cast struct super switch template this thread_local throw trait true try type typedef
typeid typename typeof typeof_unqual undefined union unsafe unsigned unsized use using var virtual void
volatile wchar_t where while with xor xor_eq yield"""
FILES = """aux com1 com2 com3 com4 com5 com6 com7 com8 com9 con lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9 nul
prn"""
WORDS = frozenset(f"{KEPT} {FILES}".split())
"""Words that a language keeps to itself, or that Windows takes for a device."""
MACRO = re.compile(
    r"_[A-Z_]\w*|M_(1|2|E|LN|LOG|PI|SQRT)\w*|(FP_|HUGE_VAL|MATH_ERR|SEEK_|RENAME_|EXIT_|SNAN)\w*|\w+_ENDIAN"
    r"|L_(ctermid|cuserid|tmpnam)|P_tmpdir|(FOPEN|FILENAME|TMP|RAND|MB_CUR)_MAX|BUFSIZ|EOF|FD_SETSIZE|NFDBITS"
    r"|INFINITY|MAXFLOAT|NAN|NULL|W(NO|EX|ST|UN|CO)[A-Z]+|std(in|out|err)|math_errhandling|errno|linux|unix|i386"
)
"""Names that C's headers, or its compilers, replace by something else."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A tensor. role: "fed", "constant" (part of the graph), "intermediate" or "output"."""

    name: str
    identifier: str
    role: str
    op: str
    spec: Spec
    value: Any


def vectors(trace: Trace) -> list[Vector]:
    """Every tensor of a trace, in order. Raises a `GraphError` where one was not kept."""
    if trace.numbers is not FLOAT:
        raise GraphError(f"the trace is in {trace.numbers.name}; expected a run in floats")
    results = {trace.graph.tensor_name(tensor.ref) for tensor in trace.graph.outputs.values()}
    taken: set[str] = set()
    found = []
    for step in trace.steps:
        for name, spec, value in zip(step.names, step.specs, step.outputs, strict=True):
            if value is None:
                raise GraphError(f"{name} was not kept in this run; expected every tensor of the trace")
            role = "fed" if step.op.fed else "constant" if not step.operands else "intermediate"
            role = "output" if name in results else role
            found.append(Vector(name, identifier(name, taken), role, step.op.name, spec, value))
    return found


def identifier(name: str, taken: set[str]) -> str:
    """ASCII letters, digits and `_`, none twice whatever the case: Q beside q is q_2. `log` and `log_shape`,
    which is what belongs to it, are taken together."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"\W", "_", plain) or "tensor"
    if plain[0].isdigit():
        plain = f"t_{plain}"
    elif plain.lower() in WORDS or MACRO.fullmatch(plain):
        plain = f"{plain}_"
    word, count = plain, 1
    while taken & _with_shape(word):
        count += 1
        word = f"{plain}_{count}"
    taken |= _with_shape(word)
    return word


def _with_shape(word: str) -> set[str]:
    return {word.lower(), f"{word.lower()}_shape"}
