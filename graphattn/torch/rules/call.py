"""One step on its way into the graph: what the rule of its operator builds with."""

from __future__ import annotations

from typing import Any, NoReturn

from ...core.builders import Builders
from ...core.errors import GraphError
from ...core.graph import Tensor
from ..draft import Draft
from ..names import base
from ..program import Step
from ..values import Value, cells, kind_of


class Call(Builders):
    """Builder methods for one step, as a graph has them, whose operands may be values of the program too.

    Nodes stand in the step's scope. One without a name gets the step's own, so a rule that builds several
    names the others: `name=c.inner("squared")`.
    """

    def __init__(self, draft: Draft, step: Step, dtype: str, named: bool) -> None:
        self.step = step
        self.dtype = dtype
        """The type of the program's floats."""
        self.note, self.fixed = draft.note, draft.rests
        self._draft = draft
        self._scope = draft.paths.within(step.modules)
        self.name = draft.new(self._scope, base(step)) if named else ""

    def apply(self, op: str, /, *args: Any, **kwargs: Any) -> Any:
        """Add a node of the op of that name."""
        kwargs["name"] = kwargs.get("name") or self.name
        args = tuple(self._operand(value) for value in args)
        kwargs = {key: self._operand(value) for key, value in kwargs.items()}
        with self._draft.inside(self._scope):
            return self._draft.graph.apply(op, *args, **kwargs)

    def constant(self, value: Any, name: str | None = None) -> Tensor:
        """A tensor that is part of the graph."""
        return self.apply("constant", value, name=name)

    def inner(self, what: str) -> str:
        """A name for a node on the way to the result."""
        return self._draft.new(self._scope, f"{self.name}_{what}")

    @staticmethod
    def _operand(value: Any) -> Any:
        return value.tensor if isinstance(value, Value) else value

    # ------------------------------------------------------------ what a rule asks

    def tensor(self, value: Any) -> Tensor:
        """A value in the graph; a number as a constant."""
        if isinstance(value, Value):
            return value.tensor
        return value if isinstance(value, Tensor) else self.constant(value, self.inner("number"))

    def known(self, value: Any, what: str) -> Any:
        """Nested lists of a value that is known; refused where it depends on computed data."""
        if isinstance(value, Value):
            if value.known is None:
                self.refuse(f"{what} depends on computed data; expected it to be known")
            self.fixed(value)
            return cells(value.known)
        return value

    def kind(self, value: Any) -> str:
        """float, int or bool."""
        if isinstance(value, Tensor):
            return value.kind
        if not isinstance(value, Value):
            return "float" if isinstance(value, float) else "bool" if isinstance(value, bool) else "int"
        return value.tensor.kind if value.known is None else kind_of(value.known)

    def shape(self, value: Any) -> tuple[int, ...]:
        """Its sizes."""
        if isinstance(value, Tensor):
            return value.shape
        if not isinstance(value, Value):
            return ()
        return value.tensor.shape if value.known is None else tuple(value.known.shape)

    def refuse(self, why: str) -> NoReturn:
        raise GraphError(why)
