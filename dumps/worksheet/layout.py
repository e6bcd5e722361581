"""Where everything on a worksheet's page stands. Lengths are CSS pixels (1/96 inch); y runs down.

Steps are panels, packed from left to right and from top to bottom. In a panel a product stands where its left
operand's rows meet the other's columns; when the step before has just made the left operand, both share a
panel. An arrow leads from each result into the step that reads it next. The squares are as large as fit on one
side of A4.

    (1) scores = Q · Kᵀ              (2) scaled = scores ÷ √4
              ┌ Kᵀ ┐
              └────┘                       ┌────┐
      ┌ Q ┐ → ┌────┐ ─────────────────────→│    │
      └───┘   └────┘                       └────┘
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from graphattn.dumps.letters import fitted, text_width
from graphattn.dumps.worksheet.sheet import Box, Sheet, Step

WIDTH, HEIGHT = 794, 1119
MARGIN = 40
LEFT = MARGIN + 22
"""Where panels begin: arrows pass between there and the margin."""
ROOM = WIDTH - MARGIN + 8 - LEFT
"""How wide all that stands side by side may be."""
TOP, BOTTOM = 104, HEIGHT - 52
SIZES = (42, 40, 38, 36, 34, 32, 30, 28, 26, 24, 22, 21, 20, 19)
"""The sides of a square; the largest is taken that needs the fewest sides of paper (19 is 5 mm), of those in
which the numbers can be read."""
READABLE = 8.0
"""The least size of a number, where the paper is wide enough."""
ACROSS, DOWN = 50, 30
"""Between panels, at least."""
MEET, BESIDE, PARTS = 46, 40, 16
"""Between a product's operand and its result, an operand and what comes of it, a part and the next."""
TITLE, HINT, LABEL = 14.5, 12.0, 11.5
TITLE_LINE, HINT_LINE, LABEL_LINE = 21, 15.5, 15
LONGEST = 84
"""The most room for a row's label; a column's has the side of its square."""
HINT_WIDTH = 366
ON_A_SHELF = 6
"""The most panels of one row of columns."""
CHECK_WIDTH = 318

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Grid:
    """A box at its place, with squares of one size. `copied`: it is only there to be copied into."""

    x: float
    y: float
    side: float
    box: Box
    copied: bool = False

    @property
    def width(self) -> float:
        return self.side * self.box.size[1]

    @property
    def height(self) -> float:
        return self.side * self.box.size[0]

    @property
    def digits(self) -> float:
        """The size of its numbers: one for all of them, so that the longest fits into its square."""
        return min(0.42 * self.side, (self.side - 4) / _longest(self.box))


@dataclass(frozen=True, slots=True)
class Words:
    """A line of text; y is its base line."""

    x: float
    y: float
    text: str
    size: float
    role: str = "text"
    """title, name, text, muted, label, number: how it looks."""
    anchor: str = "start"


@dataclass(frozen=True, slots=True)
class Arrow:
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """The box around the checks."""

    x: float
    y: float
    width: float
    height: float


Item = Grid | Words | Arrow | Frame


@dataclass
class Panel:
    """A step, or two that share a panel. Where an arrow comes in and where one goes out."""

    items: list[Item] = field(default_factory=list)
    width: float = 0
    height: float = 0
    entry: Point | None = None
    exit: Point | None = None
    leave: Point | None = None
    """Where an arrow leaves that goes to a row further down: below the result."""

    def add(self, *items: Item) -> None:
        self.items += items

    def reach(self, x: float, y: float) -> None:
        self.width, self.height = max(self.width, x), max(self.height, y)


@dataclass(frozen=True)
class Page:
    items: Sequence[Item]


def pages(sheet: Sheet) -> list[Page]:
    """The sides of a sheet: one, where the smallest squares fit on it that can be read; nothing stands beyond
    the edge where smaller squares help."""
    best: list[list[Item]] = []
    least = (True, True, math.inf)
    longest = max(_longest(box) for step in sheet.steps for box in _all_boxes(step))
    for side in SIZES:
        groups = list(_grouped(sheet.steps, side))
        panels = [_panel(step, then, side) for step, then in groups]
        beyond = any(panel.width > ROOM for panel in panels)
        follows = [step.follows for step, _ in groups]
        placed = list(_packed([*panels, _checks(sheet)], follows))
        small = side < READABLE * longest + 4 and side < SIZES[0]
        if (beyond, small, len(placed)) < least:
            best, least = placed, (beyond, small, len(placed))
        if least == (False, False, 1):
            break
    return [Page(items) for items in best]


# ---------------------------------------------------------------- panels on pages


@dataclass
class Column:
    """Panels below each other."""

    panels: list[Panel] = field(default_factory=list)

    @property
    def width(self) -> float:
        return max(panel.width for panel in self.panels)

    @property
    def height(self) -> float:
        return sum(panel.height for panel in self.panels) + DOWN * (len(self.panels) - 1)


Shelf = list[Column]


def _packed(panels: Sequence[Panel], reads: Sequence[bool]) -> Iterator[list[Item]]:
    """The items of each side of paper; `reads`: whether each panel reads what the one before it made."""
    shelves = _shelves(panels)
    sides: list[list[Shelf]] = [[]]
    used = 0.0
    for shelf in shelves:
        height = _height(shelf)
        if sides[-1] and TOP + used + height > BOTTOM:
            sides.append([])
            used = 0.0
        sides[-1].append(shelf)
        used += height + DOWN
    follows = {id(panel): read for panel, read in zip(panels, reads)}
    for chosen in sides:
        yield list(_placed(chosen, follows))


def _shelves(panels: Sequence[Panel]) -> list[Shelf]:
    """The panels in order, in the rows of columns that take the least height."""
    best: list[tuple[float, list[Shelf]]] = [(0.0, [])]
    for end in range(1, len(panels) + 1):
        found = [
            (best[start][0] + _height(shelf) + DOWN, [*best[start][1], shelf])
            for start in range(max(end - ON_A_SHELF, 0), end)
            for shelf in _shelf(panels[start:end])
        ]
        best.append(min(found, key=lambda way: way[0]))
    return best[-1][1]


def _shelf(panels: Sequence[Panel]) -> Iterator[Shelf]:
    """The ways to stack panels in columns that fit side by side; alone, one stands whatever its width."""
    for cuts in range(1 << (len(panels) - 1)):
        columns = [Column([panels[0]])]
        for at, panel in enumerate(panels[1:]):
            if cuts >> at & 1:
                columns.append(Column([panel]))
            else:
                columns[-1].panels.append(panel)
        width = sum(column.width for column in columns) + ACROSS * (len(columns) - 1)
        fits = width <= ROOM and _height(columns) <= BOTTOM - TOP
        if (len(columns) > 1 and fits) or len(panels) == 1:
            yield columns


def _height(shelf: Shelf) -> float:
    return max(column.height for column in shelf)


def _grouped(steps: Sequence[Step], side: float) -> Iterator[tuple[Step, Step | None]]:
    """The step of each panel, and the next one where it shares the panel and both fit across the paper."""
    rest = list(steps)
    while rest:
        step = rest.pop(0)
        joined = bool(rest) and _joins(rest[0]) and _panel(step, rest[0], side).width <= ROOM
        yield step, rest.pop(0) if joined else None


def _joins(step: Step) -> bool:
    """Whether a step is a product whose left operand the step before has just made."""
    return step.left is not None and step.left.source == step.number - 1 > 0


def _placed(shelves: Sequence[Shelf], follows: dict[int, bool]) -> Iterator[Item]:
    spare = BOTTOM - TOP - sum(map(_height, shelves)) - DOWN * (len(shelves) - 1)
    gap = DOWN + min(max(spare, 0) / max(len(shelves), 1), 26)
    y = float(TOP)
    before: tuple[Panel, float, float] | None = None
    for shelf in shelves:
        rest = WIDTH - MARGIN - LEFT - sum(c.width for c in shelf) - ACROSS * (len(shelf) - 1)
        across = ACROSS + min(max(rest, 0) / max(len(shelf) - 1, 1), 40)
        x = float(LEFT)
        for column in shelf:
            down = y
            for panel in column.panels:
                yield from (_moved(item, x, down) for item in panel.items)
                if before is not None and follows.get(id(panel)) and panel.entry is not None:
                    yield _arrow(before, (panel, x, down))
                before = (panel, x, down)
                down += panel.height + DOWN
            x += column.width + across
        y += _height(shelf) + gap


def _arrow(before: tuple[Panel, float, float], after: tuple[Panel, float, float]) -> Arrow:
    """From the result of a panel into the next one: through the gap beside it where that is to the right,
    else through the gap above it."""
    panel, x, y = before
    following, x2, y2 = after
    assert panel.exit is not None and panel.leave is not None and following.entry is not None
    end = (x2 + following.entry[0] - 4, y2 + following.entry[1])
    start = (x + panel.exit[0] + 5, y + panel.exit[1])
    if x2 > start[0]:
        return Arrow((start, (x2 - 20, start[1]), (x2 - 20, end[1]), end))
    start = (x + panel.leave[0], y + panel.leave[1] + 5)
    between, turn = y2 - DOWN / 2 - 1, x2 - 14
    return Arrow((start, (start[0], between), (turn, between), (turn, end[1]), end))


def _moved(item: Item, x: float, y: float) -> Item:
    if isinstance(item, Grid):
        return Grid(item.x + x, item.y + y, item.side, item.box, item.copied)
    if isinstance(item, Words):
        left, size = item.x + x, item.size
        if item.anchor == "start":  # a long name becomes smaller before it leaves the paper
            wide = text_width(item.text, size, bold=item.role in ("title", "name"))
            size = min(size, size * (WIDTH - MARGIN / 2 - left) / max(wide, 1))
        return Words(left, item.y + y, item.text, size, item.role, item.anchor)
    if isinstance(item, Frame):
        return Frame(item.x + x, item.y + y, item.width, item.height)
    return Arrow(tuple((px + x, py + y) for px, py in item.points))


# ---------------------------------------------------------------- one panel


def _panel(step: Step, then: Step | None, side: float) -> Panel:
    panel = Panel()
    head = _header(panel, step, 0, _body_width(step, side), HINT_WIDTH if then is None else 230)
    if step.left is not None and step.above is not None:
        grid = _product(panel, step, head, side)
    elif then is None:
        grid = _row(panel, step, head, side)
    else:
        across = max(_body_width(step, side), panel.width)
        assert then.above is not None
        from_top = _header(panel, then, across + MEET, _meeting_width(then, side), 230)
        head = max(head, from_top)
        labels = LABEL_LINE * bool(then.above.columns)
        low = head + LABEL_LINE + labels + then.above.size[0] * side + MEET / 2 + 4
        made = _row(panel, step, max(low - LABEL_LINE * (1 + _labelled(step)), head), side, low)
        grid = _meet(panel, then, across + MEET, head, side, made)
    panel.exit = (grid.x + grid.width, grid.y + grid.height / 2)
    panel.leave = (grid.x + grid.width / 2, grid.y + grid.height)
    return panel


def _header(panel: Panel, step: Step, x: float, body: float, least: float = HINT_WIDTH) -> float:
    """Number, title and hints; where they end."""
    panel.add(Words(x, 11, str(step.number), TITLE, "number"), Words(x + 26, 16, step.title, TITLE, "title"))
    panel.reach(x + 26 + text_width(step.title, TITLE, bold=True), TITLE_LINE)
    y = float(TITLE_LINE)
    worked = [f"done for you: {step.worked}"] if step.worked else []
    for hint in (*step.hint, *worked):
        for line in _wrapped(hint, max(body - 26, least), HINT):
            y += HINT_LINE
            panel.add(Words(x + 26, y - 3, line, HINT, "muted"))
            panel.reach(x + 26 + text_width(line, HINT), y)
    return y + 8


def _wrapped(text: str, width: float, size: float) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if line and text_width(longer, size) > width:
            yield line
            line = word
        else:
            line = longer
    if line:
        yield line


def _label_width(box: Box) -> float:
    return max((min(text_width(label, LABEL), LONGEST) for label in box.rows), default=-8.0) + 8


def _row_labels(panel: Panel, x: float, y: float, labels: Sequence[str], side: float) -> None:
    """The labels of rows, to the left of x."""
    for i, label in enumerate(labels):
        text = fitted(label, LABEL, LONGEST)
        panel.add(Words(x - 6, y + (i + 0.5) * side + 4, text, LABEL, "label", "end"))


def _longest(box: Box) -> float:
    """How wide its longest number is, in sizes of its font."""
    return max((text_width(square.text, 1) for row in box.squares for square in row), default=0.0) or 1.0


def _all_boxes(step: Step) -> list[Box]:
    return [box for box in (step.left, step.above) if box is not None] + _boxes(step)


def _boxes(step: Step) -> list[Box]:
    return [*step.beside, *step.parts, step.result]


def _labelled(step: Step) -> bool:
    return any(box.columns for box in _boxes(step))


def _body_width(step: Step, side: float) -> float:
    """How wide the boxes of a step are."""
    if step.left is not None and step.above is not None:
        return _label_width(step.left) + step.left.size[1] * side + _meeting_width(step, side) + MEET
    boxes = _boxes(step)
    gaps = BESIDE * len(step.beside) + PARTS * len(step.parts)
    widths = (
        max(box.size[1] * side, _name_width(box, box in step.beside) * (box is not step.result))
        for box in boxes
    )
    return _label_width(step.result) + sum(widths) + gaps


def _meeting_width(step: Step, side: float) -> float:
    assert step.above is not None
    return max(step.above.size[1] * side, text_width(f"{step.above.name} {step.above.shape}", LABEL))


def _row(panel: Panel, step: Step, top: float, side: float, low: float | None = None) -> Grid:
    """The boxes of a step side by side; the last is its result. `low`: where their squares begin."""
    y = low if low is not None else top + LABEL_LINE * (1 + _labelled(step))
    x = 0.0
    grid: Grid | None = None
    labels: Sequence[str] | None = None
    for number, box in enumerate(_boxes(step)):
        rows = box.rows or (step.result.rows if box.size[0] == step.result.size[0] else ())
        if (
            rows
            and rows != labels
            and (number == 0 or number < len(step.beside) or box.size[0] != grid_rows(grid))
        ):
            x += _label_width(Box("", "", (), rows))
            labels = rows
            _row_labels(panel, x, y, rows, side)
        elif number and grid is not None:
            x += BESIDE if number <= len(step.beside) else PARTS
            if number == len(step.beside):
                panel.add(Arrow(((grid.x + grid.width + 6, y + grid.height / 2), (x - 5, y + grid.height / 2))))
        grid = Grid(x, y, side, box)
        if number == 0:
            panel.entry = (0, y + grid.height / 2)
        said = [other.shape for other in step.beside]  # "box by box": what comes out is as large
        shape = number < len(step.beside) or (box is step.result and low is None and box.shape not in said)
        _captioned(panel, grid, shape)
        x += max(grid.width, 0.0 if box is step.result else _name_width(box, shape))
    assert grid is not None
    panel.reach(x, y + grid.height)
    return grid


def _name_width(box: Box, shape: bool = False) -> float:
    name = text_width(box.name, LABEL + 1, bold=True)
    return name + (5 + text_width(box.shape, LABEL) if shape else 0)


def _name(grid: Grid) -> str:
    return f"{grid.box.name} (copy from step {grid.box.source})" if grid.copied else grid.box.name


def grid_rows(grid: Grid | None) -> int:
    """The rows of a grid; 0 where there is none."""
    return 0 if grid is None else grid.box.size[0]


def _captioned(panel: Panel, grid: Grid, shape: bool = True, labels: bool = True) -> None:
    """A grid with its column labels and its name above it."""
    box, y = grid.box, grid.y - 5
    if labels and box.columns:
        for j, label in enumerate(box.columns):
            text = fitted(label, LABEL, grid.side - 2)
            panel.add(Words(grid.x + (j + 0.5) * grid.side, y, text, LABEL, "label", "middle"))
        y -= LABEL_LINE
    name = _name(grid)
    told = box.shape if shape and not grid.copied else ""
    panel.add(grid, Words(grid.x, y, name, LABEL + 1, "name"))
    wide = text_width(name, LABEL + 1, bold=True)
    if told:
        panel.add(Words(grid.x + wide + 5, y, told, LABEL, "label"))
        wide += 5 + text_width(told, LABEL)
    panel.reach(grid.x + max(grid.width, wide), grid.y + grid.height)


def _product(panel: Panel, step: Step, head: float, side: float) -> Grid:
    """Left operand, the other above the result, the result where they meet."""
    assert step.left is not None and step.above is not None
    x = _label_width(step.left)
    labels = LABEL_LINE * bool(step.above.columns)
    y = head + LABEL_LINE + labels + step.above.size[0] * side + MEET / 2 + 4
    left = Grid(x, y, side, step.left, step.left.source > 0)
    _row_labels(panel, x, y, step.left.rows, side)
    _captioned(panel, left)
    panel.entry = (0.0, y + left.height / 2)
    named = text_width(_name(left), LABEL + 1, bold=True) if left.copied else _name_width(step.left, True)
    right = max(x + left.width + MEET, x + named + 12)
    return _meet(panel, step, right, head, side, left)


def _meet(panel: Panel, step: Step, x: float, head: float, side: float, left: Grid) -> Grid:
    """The second operand, and the result below it, beside the first."""
    assert step.above is not None
    box = step.above
    named = text_width(_name(left), LABEL + 1, bold=True)
    x = max(x, left.x + max(left.width + _label_width(box), named) + 12)
    above = Grid(x, head + LABEL_LINE + LABEL_LINE * bool(box.columns), side, box, box.source > 0)
    _row_labels(panel, x, above.y, box.rows, side)
    _captioned(panel, above)
    grid = Grid(x, left.y, side, step.result)
    middle = left.y + left.height / 2
    panel.add(
        grid,
        Arrow(((left.x + left.width + 5, middle), (x - 5, middle))),
        Arrow(((x + grid.width / 2, above.y + above.height + 4), (x + grid.width / 2, grid.y - 5))),
    )
    panel.reach(x + grid.width, grid.y + grid.height)
    return grid


def _checks(sheet: Sheet) -> Panel:
    """The sums to check oneself by, and what to say in words."""
    panel = Panel()
    inner, y = CHECK_WIDTH - 36, 28.0
    panel.add(Words(18, y, "Check yourself", TITLE, "title"))
    for told, value in sheet.checks:
        y += 19
        panel.add(
            Words(18, y, told, HINT, "muted"), Words(CHECK_WIDTH - 18, y, value, HINT + 1.5, "text", "end")
        )
    y += 8
    for text in (sheet.question, *sheet.notes):
        y += 4
        for line in _wrapped(text, inner, HINT):
            y += 16
            panel.add(Words(18, y, line, HINT, "muted"))
    panel.items.insert(0, Frame(0, 0, CHECK_WIDTH, y + 16))
    panel.reach(CHECK_WIDTH, y + 16)
    return panel
