"""The record of an op, and the registry of all ops.

An op is one kind of operation. Its file in `ops/` states everything there is to know of it as
plain functions, gathered in one frozen `Op`. Its **shape rule** is also its signature:

    def shape(x: Spec, *, axis: int = -1, empty: str = "zero") -> Spec: ...

Parameters annotated `Spec` are operands (`Spec | None` may be left out, `*xs: Spec` takes any
number); all others are attributes. The other rules get the same operands by position and every
attribute by keyword:

    kernel(numbers, x, *, axis, empty)      what the interpreter calls, as a `Kernel`
    expand(g, x, *, axis, empty)            builds the same value of smaller ops
    explain(index, x, *, axis, empty)       one cell, as an expression (`cells.py`)
    cost(x, *, axis, empty)                 floating-point operations (a multiply-add counts 2)
    masked(masks, values, x, *, …)          which cells of the result are hidden (`masks.py`)
    warn(values, y, x, *, …)                sentences on what a reader should know of this step
    gradient(g, dy, y, x, *, axis, empty)   builds the cotangent of each operand (a tuple)
    onnx(o, x, *, axis, empty)              writes the same value with ONNX operators

A rule that an op does not have is None. Operands are `Spec`s in every rule but `expand` and
`gradient`, where they are the symbolic `Tensor`s of a graph.

`gradient` gets the cotangent `dy` of the result and the result `y` itself: tensors, or tuples of
them where there are several results (with None in dy for one that nothing depends on). It returns a
cotangent of the operand's shape for each operand, None for one that has none (left out, bool, int).

`onnx` is the name of an operator that takes the same operands and no attribute ("Tanh"), or a rule whose
`o` has every ONNX operator as a method (`o.Softmax(x, axis=axis)`; see `graphattn.onnx.writing.operators`).
It may return None where there is no such operator for a call: the op is expanded then, as is one without.

A composite that **hands on** options says so once, with `hands_on` and `**`:

    def shape(x: Spec, gamma: Spec | None = None, *, eps: float = 1e-05, **attention) -> Spec: ...
    def expand(g, x, gamma, *, eps, **attention):
        return g.multi_head(norm, norm, norm, **attention)

    Op(..., hands_on="multi_head", sets=("q", "k", "v"))

Every parameter of that op that the rule does not name, and that is not in `sets`, is one of its own:
`graph.block(x, window=(3, 0), cos=cos, sin=sin)`. Its rules get those by keyword, operands too.
"""

from __future__ import annotations

import inspect
import keyword
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, update_wrapper
from string import Formatter
from types import MappingProxyType
from typing import Any

from .axes import Spec
from .cells import Expression
from .errors import GraphError, suggest
from .words import shown, typed

LEVELS = ("block", "head", "op", "primitive")
"""The magnifications, from coarse to fine: at a level, ops of coarser levels are expanded."""


class Kernel:
    """A function on blocks of the given ranks; `nested.lift` maps it over the axes before them.

    `bound` are keyword arguments that are the same at every call. `outputs` is the number of
    blocks that the function returns. With `along`, a function on one row is applied along an axis
    that has so many axes within (`nested.along`). `by_rows` says that it only goes through the rows of
    its operands, so that what is `Packed` may come as it is; any other is given lists. The function is
    a plain one of a module, since the Python export copies its source.
    """

    __slots__ = ("along", "bound", "by_rows", "function", "outputs", "ranks")

    def __init__(
        self,
        function: Callable[..., Any],
        *ranks: int,
        outputs: int = 1,
        along: int = 0,
        by_rows: bool = False,
        **bound: Any,
    ) -> None:
        self.function = function
        self.ranks = ranks
        self.outputs = outputs
        self.along = along
        self.by_rows = by_rows
        self.bound = bound


@dataclass(frozen=True)
class Sample:
    """A call that works: operands as nested lists (or None), and attributes. Tests run them."""

    operands: tuple[Any, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reject:
    """A call that must be refused: operand specs, attributes, and the words of the refusal."""

    operands: tuple[Any, ...]
    attributes: Mapping[str, Any]
    words: str


@dataclass(frozen=True)
class Declared:
    """Another way to build a composite's or kernel's value, with `expand`'s signature: a mistake that people
    make, or a guise, which gives the same value. It may return None where it does not apply to a call."""

    name: str
    phrase: str
    """Goes on from "yours is this graph …"."""
    build: Callable[..., Any]
    sentence: str = ""
    """What is wrong and how to mend it, in words of its own."""
    price: float = 1.2
    """What it costs to believe, against 1 for the likeliest changes of one attribute."""
    only_nan: bool = False
    """Of a guise: whether all that it ever gives otherwise is NaN."""
    number: float | None = None
    """A number that the mistake leaves open, where it is looked for first: `build` takes it, as `number`,
    beside the attributes, and the phrase says {number}."""
    between: tuple[float, float] = (-math.inf, math.inf)
    """The least and the largest that such a number may be."""

    @property
    def words(self) -> str:
        """The phrase, with the number that is looked for first."""
        return self.phrase.replace("{number}", f"{self.number}")

    def first(self, g: Any, *operands: Any, **attributes: Any) -> Any:
        """What it builds, with that number."""
        more = {} if self.number is None else {"number": g.constant(self.number, name="number")}
        return self.build(g, *operands, **attributes, **more)


@dataclass(frozen=True)
class Parameter:
    """One parameter of an op's signature."""

    name: str
    operand: bool
    variadic: bool
    required: bool
    keyword_only: bool
    default: Any
    annotation: str


RULES = {
    "shape": 0, "kernel": 1, "expand": 1, "explain": 1, "cost": 0, "masked": 3, "warn": 2, "gradient": 3,
    "note": 0, "onnx": 1, "stated": 0, "caution": 0, "torch": 0,
}  # fmt: skip
"""The rules that are called with operands, and how many arguments come before these."""


def broken(what: str, error: Exception) -> Exception:
    """What to raise for a rule that raised something by mistake: one sentence. One that is a sentence stays
    as it is, and running out of memory is not the op's fault."""
    if isinstance(error, (GraphError, MemoryError, RecursionError)):
        return error
    said = " ".join(str(error).split())
    return GraphError(f"{what} raised {type(error).__name__}{f': {said[:200]}' if said else ''}")


def _sentences(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item for item in value)


PROMISED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "kernel": (lambda value: isinstance(value, Kernel), "a Kernel"),
    "explain": (lambda value: isinstance(value, Expression), "an expression of cells"),
    "cost": (lambda value: type(value) is int and value >= 0, "an int of 0 or more"),
    "masked": (lambda value: value is None or isinstance(value, (bool, list, tuple)), "None or nested lists"),
    "warn": (_sentences, "a list of sentences"),
    "note": (lambda value: isinstance(value, str), "text"),
    "torch": (lambda value: isinstance(value, str), "text"),
    "stated": (lambda value: isinstance(value, str), "text"),
    "caution": (_sentences, "a list of sentences"),
    "linear": (
        lambda value: isinstance(value, tuple) and all(isinstance(group, tuple) for group in value),
        "a tuple of tuples of operands",
    ),
    "summed": (lambda value: value is None or hasattr(value, "ref"), "a tensor of the graph or None"),
}
"""What a rule gives, as a test and in words."""


def _tuple_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, (tuple, list)) and all(isinstance(item, kind) for item in value)


def _mapping_to(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, Mapping) and all(isinstance(k, str) and test(v) for k, v in value.items())
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_symbol(value: Any) -> bool:
    try:
        return {field for _, field, *_ in Formatter().parse(value)} <= {None, "name", "title", "x", "i"}
    except (TypeError, ValueError):
        return False


def _is_range(value: Any) -> bool:
    numbers = isinstance(value, tuple) and all(type(x) in (int, float) for x in value)
    return value is None or (numbers and len(value) == 2 and value[0] <= value[1])


FIELDS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "family": (_is_text, "text"),
    "shape": (callable, "a function"),
    **dict.fromkeys(
        ("kernel", "expand", "explain", "cost", "masked", "warn", "caution", "note", "stated", "gradient",
         "summed"),
        (lambda value: value is None or callable(value), "a function or None"),
    ),
    "range": (_is_range, "None or the least and the largest number"),
    **dict.fromkeys(("moves", "fed"), (lambda value: isinstance(value, bool), "True or False")),
    "drawn": (lambda value: value in (None, "inside", "beside"), "None, 'inside' or 'beside'"),
    "symbol": (_is_symbol, "text with no fields but {name}, {title}, {x} and {i}"),
    "symbols": (_mapping_to(_is_symbol), "a dict of texts with no fields but {name}, {title}, {x} and {i}"),
    "nonfinite": (_tuple_of(str), "a tuple of names"),
    "poles": (_tuple_of(int), "a tuple of slots"),
    "roles": (_mapping_to(_is_text), "a dict of texts"),
    "samples": (_tuple_of(Sample), "a tuple of Samples"),
    "rejects": (_tuple_of(Reject), "a tuple of Rejects"),
    "linear": (lambda value: callable(value) or _tuple_of(tuple)(value), "a tuple of tuples, or a function"),
    "values": (_mapping_to(lambda value: isinstance(value, (tuple, list))), "a dict of tuples"),
    **dict.fromkeys(("mistakes", "guises"), (_tuple_of(Declared), "a tuple of Declared")),
    "onnx": (lambda value: value is None or _is_text(value) or callable(value), "a name, a function or None"),
    "torch": (lambda value: value is None or _is_text(value) or callable(value), "text, a function or None"),
    "hands_on": (lambda value: value is None or _is_text(value), "the name of an op or None"),
    "sets": (_tuple_of(str), "a tuple of names"),
}  # fmt: skip
"""What may stand in the fields of an op, as a test and in words."""


class Handing:
    """A rule of an op that hands on parameters: called as any rule is, it passes the operands that are
    handed on by keyword, beside the attributes, so that the rule takes both with `**`."""

    def __init__(self, op: Op, rule: Callable[..., Any], before: int) -> None:
        update_wrapper(self, rule)
        self.op = op
        self.rule = rule.rule if isinstance(rule, Handing) else rule
        self.before = before

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        handed = self.op.handed_on
        own = self.before + sum(p.operand for p in self.op.own.values())
        given = {p.name: p.default for p in handed.values() if not p.required}
        given |= zip((name for name, p in handed.items() if p.operand), args[own:], strict=False)
        return self.rule(*args[:own], **{**given, **kwargs})


@dataclass(frozen=True, eq=False)
class Op:
    """Everything there is to know of one kind of operation (see the module's docstring)."""

    name: str
    title: str
    glyph: str
    family: str
    """What it is drawn as: matmul, norm, scale, mask, softmax, add, move, function, source, …"""
    formula: str
    level: str
    shape: Callable[..., Any]
    """(operands, attributes) → Spec, or {port: Spec} where there are several outputs."""
    kernel: Callable[..., Kernel] | None = None
    expand: Callable[..., Any] | None = None
    explain: Callable[..., Any] | None = None
    cost: Callable[..., int] | None = None
    masked: Callable[..., Any] | None = None
    warn: Callable[..., list[str]] | None = None
    caution: Callable[..., list[str]] | None = None
    """(operands, attributes) → what whoever builds such a node should know, as warnings of Python."""
    range: tuple[float, float] | None = None
    moves: bool = False
    """Whether it only moves numbers (no arithmetic, no rounding)."""
    fed: bool = False
    """Whether its value comes from outside, with each run."""
    drawn: str | None = None
    """How a picture shows it: None = a node, "inside" its consumer's title, "beside" it."""
    symbol: str = "{name}"
    """Its short name on an edge; {name}, {x} (first operand's symbol), {i} (port, as subscript)."""
    symbols: Mapping[str, str] = field(default_factory=dict)
    """Short names of a composite's outputs in pictures; {i} is the subscript of its first operand."""
    note: Callable[..., str] | None = None
    """(operands, attributes) → a few words for the last line of its box (÷ √4, eps=1e-05)."""
    stated: Callable[..., str] | None = None
    """(operands, attributes) → the formula that is in force for them, where that is not always `formula`."""
    nonfinite: tuple[str, ...] = ()
    """Attributes that change nothing where every cell of the operands is finite: brief text shows them only
    elsewhere."""
    poles: tuple[int, ...] = ()
    """Slots of operands whose zeros count as not finite there: divisors."""
    roles: Mapping[str, str] = field(default_factory=dict)
    """Operands and outputs that play a known part (Q, K, V, weights), which colours them."""
    samples: tuple[Sample, ...] = ()
    rejects: tuple[Reject, ...] = ()
    linear: tuple[tuple[str, ...], ...] | Callable[..., Any] = ()
    """Groups of operands in which it is jointly linear (and 0 at 0) while the rest stands still: (("a", "b"),)
    for a sum, (("a",), ("b",)) for a product. A function of operands and attributes where that depends on
    them. Empty = none is known; its expansion may tell more."""
    gradient: Callable[..., Any] | None = None
    """None = that of its expansion; an op that has neither, and whose results are floats, has no
    gradient, unless it is fed or has no operands."""
    summed: Callable[..., Any] | None = None
    """(g, operands of a call, operands of another, …, *, attributes) → the sum of the results in fewer
    nodes, or None where that does not work out. Cotangents that arrive at a tensor are added so."""
    values: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """What an attribute may be, where it is one of a few words."""
    mistakes: tuple[Declared, ...] = ()
    """The ways in which people get it wrong that no generator reaches (see `insight.variants`)."""
    guises: tuple[Declared, ...] = ()
    """Other ways in which people write the same thing, in which other mistakes can be made."""
    onnx: str | Callable[..., Any] | None = None
    """How it is written in ONNX: an operator's name, or a rule. None = as its expansion."""
    torch: str | Callable[..., str] | None = None
    """How a call is written in PyTorch: an expression in which {x} stands for an operand or an attribute, after
    lines that it needs, or a rule (operands, attributes) → such text, "" where there is no short way."""
    hands_on: str | None = None
    """The op whose parameters it takes as its own and passes on (see the module's docstring)."""
    sets: tuple[str, ...] = ()
    """The parameters of that op that it gives itself."""

    def __post_init__(self) -> None:
        for name, (test, expected) in FIELDS.items():
            if not test(getattr(self, name)):
                raise GraphError(
                    f"op {self.name!r}: its {name} is {shown(getattr(self, name))}; expected {expected}"
                )
        if self.hands_on is None:
            return
        for name, before in RULES.items():
            rule = getattr(self, name)
            if callable(rule):
                object.__setattr__(self, name, Handing(self, rule, before))
        for name in ("mistakes", "guises"):
            declared = tuple(replace(d, build=Handing(self, d.build, 1)) for d in getattr(self, name))
            object.__setattr__(self, name, declared)

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """The signature: its own parameters and those that it hands on. Operands come first then, and
        among the attributes those that are required, those that are handed on, its own."""
        if self.hands_on is None:
            return self.own

        def place(p: Parameter) -> tuple[bool, bool, bool]:
            return not p.operand, not p.required, (p.name in self.handed_on) == p.operand

        both = {**self.own, **self.handed_on}
        return MappingProxyType({p.name: p for p in sorted(both.values(), key=place)})

    @cached_property
    def handed_on(self) -> Mapping[str, Parameter]:
        """The parameters that it takes for another op: all that it neither names nor sets itself."""
        if self.hands_on is None:
            return MappingProxyType({})
        return MappingProxyType({
            name: p if p.operand else replace(p, keyword_only=True)
            for name, p in find(self.hands_on).parameters.items()
            if name not in self.own and name not in self.sets
        })  # fmt: skip

    @cached_property
    def own(self) -> Mapping[str, Parameter]:
        """The parameters that its shape rule names."""
        found: dict[str, Parameter] = {}
        for name, p in inspect.signature(self.shape).parameters.items():
            if p.kind is p.VAR_KEYWORD and self.hands_on is not None:
                continue
            annotation = p.annotation if isinstance(p.annotation, str) else p.annotation.__name__
            found[name] = Parameter(
                name=name,
                operand="Spec" in annotation,
                variadic=p.kind is p.VAR_POSITIONAL,
                required=p.default is p.empty and p.kind is not p.VAR_POSITIONAL,
                keyword_only=p.kind is p.KEYWORD_ONLY,
                default=None if p.default is p.empty else p.default,
                annotation=annotation,
            )
        return MappingProxyType(found)

    @cached_property
    def operands(self) -> tuple[Parameter, ...]:
        return tuple(p for p in self.parameters.values() if p.operand)

    @cached_property
    def variadic(self) -> bool:
        """Whether it takes any number of operands."""
        return any(p.variadic for p in self.operands)

    @cached_property
    def positional(self) -> tuple[Parameter, ...]:
        """The parameters that a call may give by position."""
        return tuple(p for p in self.parameters.values() if not p.keyword_only)

    @cached_property
    def defaults(self) -> Mapping[str, Any]:
        """Every attribute with its default (None where it is required)."""
        return MappingProxyType({p.name: p.default for p in self.parameters.values() if not p.operand})

    @cached_property
    def doc(self) -> str:
        """The docstring of its file; of its shape rule, for an op that is registered elsewhere, or else of
        the file that this is in."""
        file = sys.modules.get(f"graphattn.ops.{self.name}")
        where = (file,) if file else (self.shape, inspect.getmodule(self.shape))
        return next(filter(None, map(inspect.getdoc, where)), "")

    def operand_name(self, slot: int) -> str:
        """What the operand in a slot is called."""
        if slot < len(self.operands) and not self.operands[slot].variadic:
            return self.operands[slot].name
        return f"{self.operands[-1].name}[{slot - len(self.operands) + 1}]"

    def linear_groups(
        self, operands: Sequence[Spec | None], attributes: Mapping[str, Any]
    ) -> list[tuple[int, ...]]:
        """The slots of each group of `linear`, for these operands."""
        groups = self.linear
        if callable(groups):
            try:
                groups = self.told("linear", None, *operands, **attributes)
            except GraphError as error:
                raise GraphError(f"op {self.name!r}: {error}") from error
        slots: dict[str, tuple[int, ...]] = {p.name: (slot,) for slot, p in enumerate(self.operands)}
        if self.variadic:
            slots[self.operands[-1].name] = tuple(range(len(self.operands) - 1, len(operands)))
        for name in (name for group in groups for name in group):
            if name not in slots:
                raise GraphError(f"op {self.name!r}: its linear names {shown(name)}; expected its operands")
        return [tuple(slot for name in group for slot in slots[name]) for group in groups]

    def coarser(self, level: str) -> bool:
        """Whether a graph at `level` shows what is inside this op instead."""
        return self.expand is not None and LEVELS.index(self.level) < LEVELS.index(level)

    @property
    def inside(self) -> str:
        """The level, "op" where that is fine enough, at which a graph shows what this op is made of.
        Raises a `GraphError` for an op that is made of nothing."""
        for level in ("op", "primitive"):
            if self.coarser(level):
                return level
        raise GraphError(f"op {self.name!r} has neither a kernel, or cost, nor an expansion; expected one")

    def told(self, rule: str, name: str | None, *args: Any, **kwargs: Any) -> Any:
        """What a rule says of the node `name`, held to its word: where it raises anything, or gives something
        else than it should, one sentence (a `GraphError`) names the op, the node and the rule. (Without a
        name the caller says which node.)"""
        who = f"{'' if name is None else f'{self.name} {name!r}: '}its {rule} rule"
        try:
            found = getattr(self, rule)(*args, **kwargs)
        except Exception as error:
            raise broken(who, error) from error
        holds, expected = PROMISED.get(rule, (None, ""))
        if holds is not None and not holds(found):
            raise GraphError(f"{who} gives {shown(found)}; expected {expected}")
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return find, (self.name,)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


OPS: dict[str, Op] = {}
"""Every registered op, by name, in the order of registration."""


def register(op: Op) -> Op:
    """Enter an op; a name that is taken is an error, and so is one that a graph's text cannot carry."""
    from .. import ops  # noqa: F401  (those that come with graphattn come first)

    if not isinstance(op, Op):
        raise GraphError(f"what is registered is {typed(op)}; expected an Op")
    if not isinstance(op.name, str) or not op.name.isidentifier() or keyword.iskeyword(op.name):
        raise GraphError(f"op {op.name!r} has a name that is no identifier; expected one like softmax")
    for what in ("title", "glyph", "formula"):
        text = getattr(op, what)
        if not isinstance(text, str) or not text.isprintable():
            raise GraphError(f"op {op.name!r}: its {what} is {text!r}; expected text on one line")
    if op.name in OPS:
        raise GraphError(f"op {op.name!r} is registered already; expected a new name")
    if op.level not in LEVELS:
        raise GraphError(f"op {op.name!r} has level {op.level!r}; expected one of {', '.join(LEVELS)}")
    OPS[op.name] = op
    return op


def find(name: str) -> Op:
    """The op of that name."""
    try:
        return OPS[name]
    except (KeyError, TypeError):
        raise GraphError(f"unknown op {name!r}{suggest(name, OPS)}") from None


def check_level(level: str) -> str:
    """`level` itself, or a `GraphError` that lists the levels."""
    if level not in LEVELS:
        raise GraphError(
            f"unknown level {level!r}; expected one of {', '.join(LEVELS)}{suggest(level, LEVELS)}"
        )
    return level


Operands = tuple[Spec | None, ...]
