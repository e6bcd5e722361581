// The block diagram as SVG: boxes that open in place, arrows, and the keys that follow them.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { BoxRecord } from "./contract.ts";
import { HEADER, type Picture, type PlacedArrow, type PlacedBox } from "./layout.ts";

export interface DiagramProps {
  picture: Picture;
  title: string;
  /** Where a box's top centre has to stay, by the box's id: what was just opened or closed. */
  anchor: string | null;
  selected: string | null;
  tensor: number;
  producers: ReadonlySet<string>;
  consumers: ReadonlySet<string>;
  moved: ReadonlySet<string>;
  diverged: ReadonlySet<string>;
  first: string | null;
  canOpen: (box: BoxRecord) => boolean;
  onSelect: (box: PlacedBox) => void;
  onToggle: (box: PlacedBox) => void;
}

/** The room around the picture, so that scrolling can keep any box in its place; as in the style sheet. */
const SLACK = 240;
const EDGE = 12;
/** Below the picture there is room for the buttons that change its size. */
const BUTTONS = 50;
/** How large the diagram is at first, at least and at most: so that all its width is seen, if it can be read. */
const FIRST = [0.8, 1.4] as const;
const SCALES = [0.2, 3] as const;

export function Diagram(props: DiagramProps) {
  const { picture, anchor, selected } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const before = useRef<{ picture: Picture; scale: number } | null>(null);
  /** Whether the choice was made by a click: nothing moves under the pointer, so that a second click finds the box. */
  const pointed = useRef(false);
  const chosen = useRef(selected);
  const [scale, setScale] = useState(0);
  const { boxes, arrows } = picture;
  const frames = boxes.filter((box) => box.open);
  const closed = boxes.filter((box) => !box.open);

  /** Scrolls to the box that is chosen, if it is out of sight. */
  const reveal = () => {
    const area = scroller.current!;
    const box = picture.boxes.find((b) => b.id === selected);
    if (!box) return;
    const [left, top] = [SLACK + scale * box.x, SLACK + scale * box.y];
    const [width, height] = [scale * box.width, scale * (box.open ? HEADER : box.height)];
    if (top < area.scrollTop + 8 || top + height > area.scrollTop + area.clientHeight - 8) {
      area.scrollTop = within(top - area.clientHeight / 3, picture.height, area.clientHeight, BUTTONS);
    }
    if (left < area.scrollLeft + 8 || left + width > area.scrollLeft + area.clientWidth - 8) {
      area.scrollLeft = within(left + width / 2 - area.clientWidth / 2, picture.width, area.clientWidth);
    }
  };
  /** A place to scroll to from which nothing is seen but the picture, if it is large enough. */
  const within = (wanted: number, size: number, room: number, after = EDGE): number => {
    const [low, high] = [SLACK - EDGE, SLACK + scale * size + after - room];
    return high < low ? (low + high) / 2 : Math.min(Math.max(wanted, low), high);
  };
  const fitting = (least: number, most: number, both: boolean): number => {
    const area = scroller.current!;
    const across = area.clientWidth / (picture.width + 2 * EDGE);
    const down = both ? area.clientHeight / (picture.height + EDGE + BUTTONS) : Infinity;
    return Math.min(Math.max(Math.min(across, down), least), most);
  };

  useLayoutEffect(() => {
    const area = scroller.current!;
    const old = before.current;
    if (!scale) {
      setScale(fitting(...FIRST, false));
      return;
    }
    before.current = { picture, scale };
    if (!old) {
      area.scrollLeft = within(-Infinity, picture.width, area.clientWidth);
      area.scrollTop = SLACK - EDGE;
      reveal();
    } else if (old.scale !== scale) {
      const moved = (scroll: number, room: number) => SLACK + ((scroll + room / 2 - SLACK) * scale) / old.scale - room / 2;
      area.scrollLeft = within(moved(area.scrollLeft, area.clientWidth), picture.width, area.clientWidth);
      area.scrollTop = within(moved(area.scrollTop, area.clientHeight), picture.height, area.clientHeight, BUTTONS);
    } else if (old.picture !== picture) {
      const find = (p: Picture) => p.boxes.find((box) => box.id === anchor);
      const [was, is] = [find(old.picture), find(picture)];
      if (was && is) {
        area.scrollLeft += scale * (is.x + is.width / 2 - (was.x + was.width / 2));
        area.scrollTop += scale * (is.y - was.y);
      } else reveal();
    }
  }, [picture, scale]);
  useEffect(() => {
    if (selected !== chosen.current && selected !== anchor && !pointed.current) reveal();
    chosen.current = selected;
    pointed.current = false;
  });

  const focusOn = (box: PlacedBox | undefined) => {
    if (!box) return;
    props.onSelect(box);
    requestAnimationFrame(() => scroller.current?.querySelector<SVGGElement>(`[data-box="${CSS.escape(box.id)}"]`)?.focus({ preventScroll: true }));
  };
  const keys = (e: KeyboardEvent, box: PlacedBox) => {
    const next = followed(e.key, box, picture);
    if (e.key === "Enter" || e.key === " ") props.onSelect(box);
    else if ((e.key === "+" || e.key === "=") && !box.open && props.canOpen(box.record)) props.onToggle(box);
    else if (e.key === "-" && box.open) props.onToggle(box);
    else if (e.key === "-" && box.scope) focusOn(boxes.find((b) => b.record.scope === box.scope));
    else if (next) focusOn(next);
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  const stop = selected ?? closed[0]?.id;
  const [width, height] = [picture.width * (scale || 1), picture.height * (scale || 1)];
  return (
    <div class="stage">
      <div class="diagram" ref={scroller} role="region" aria-label="Block diagram" tabIndex={-1}>
        <div class="slack">
          <svg class="picture" width={width} height={height} viewBox={`0 0 ${picture.width} ${picture.height}`} role="group"
            aria-label={`${props.title}: arrow keys follow the arrows, Enter chooses, plus and minus open and close`}>
            {frames.map((box) => (
              <rect key={box.id} class={`frame depth${box.depth % 2}`} x={box.x} y={box.y} width={box.width} height={box.height} rx="8" />
            ))}
            <Arrows arrows={arrows} tensor={props.tensor} />
            {boxes.map((box) => (
              <BoxShape key={box.id} box={box} props={props} stop={box.id === stop} onKey={(e) => keys(e, box)}
                onPick={() => { pointed.current = true; props.onSelect(box); }} />
            ))}
          </svg>
        </div>
      </div>
      <div class="scale group" role="group" aria-label="Size of the diagram">
        <button type="button" aria-label="Smaller" onClick={() => setScale(Math.max(SCALES[0], scale / 1.25))}>−</button>
        <button type="button" onClick={() => setScale(fitting(SCALES[0], FIRST[1], true))}>fit</button>
        <button type="button" aria-label="Larger" onClick={() => setScale(Math.min(SCALES[1], scale * 1.25))}>+</button>
      </div>
    </div>
  );
}

function Arrows({ arrows, tensor }: { arrows: PlacedArrow[]; tensor: number }) {
  return (
    <g aria-hidden="true">
      {arrows.map(({ id, path, kind, role, tip, tensor: own }) => (
        <g key={id} class={`arrow ${kind}${role ? ` role-${role}` : ""}${own === tensor ? " lit" : ""}`}>
          <path d={path} />
          {tip && <path class="tip" d={`M${tip[0]} ${tip[1]}l-4 -8h8z`} />}
        </g>
      ))}
      {arrows.map(({ id, label, labelX, labelY, anchor, role }) =>
        label && (
          <text key={id} class={`label${role ? ` role-${role}` : ""}`} x={labelX} y={labelY} text-anchor={anchor}>{label}</text>
        ),
      )}
    </g>
  );
}

interface ShapeProps {
  box: PlacedBox;
  props: DiagramProps;
  stop: boolean;
  onKey: (e: KeyboardEvent) => void;
  onPick: () => void;
}

function BoxShape({ box, props, stop, onKey, onPick }: ShapeProps) {
  const { record, x, y, width, open } = box;
  const canOpen = props.canOpen(record);
  const height = open ? HEADER : box.height;
  const marks = [
    props.selected === box.id ? "selected" : "",
    props.producers.has(box.id) ? "producer" : "",
    props.consumers.has(box.id) ? "consumer" : "",
    record.role ? `role-${record.role}` : "",
  ];
  const told = [
    props.moved.has(box.id) ? "changed" : "",
    props.diverged.has(box.id) ? "differs from the reference" : "",
    props.first === box.id ? "the first to differ" : "",
  ].filter(Boolean).join(", ");
  return (
    <>
      <g class={`box ${record.kind} family-${record.family ?? "other"} ${open ? "open" : ""} ${marks.filter(Boolean).join(" ")}`}
        data-box={box.id} data-name={record.name} role="button" tabindex={stop ? 0 : -1} aria-label={label(record, open, told)}
        aria-pressed={props.selected === box.id} aria-expanded={canOpen ? open : undefined}
        onClick={onPick} onDblClick={() => canOpen && props.onToggle(box)} onKeyDown={onKey}>
        <rect x={x} y={y} width={width} height={height} rx={record.kind === "bar" ? 2 : 7} />
        <Texts record={record} x={x} y={y} width={width} open={open} />
        {told && <circle class={props.diverged.has(box.id) ? "mark differs" : "mark"} cx={x + 1} cy={y + 1} r={props.first === box.id ? 8 : 5} />}
      </g>
      {canOpen && (
        <g class="toggle" aria-hidden="true" data-toggle={record.scope} onClick={(e) => { e.stopPropagation(); props.onToggle(box); }}>
          <title>{open ? "close" : "open"}</title>
          <rect x={open ? x + 5 : x + width - 19} y={y + (open ? 4 : 3)} width="17" height="17" rx="4" />
          <path d={`M${(open ? x + 5 : x + width - 19) + 4} ${y + (open ? 12.5 : 11.5)}h9${open ? "" : "m-4.5 -4.5v9"}`} />
        </g>
      )}
    </>
  );
}

/** The words in the box as they stand there, and what is marked on it. */
function label({ kind, glyph, title, inside, note, cells }: BoxRecord, open: boolean, told: string): string {
  const bar = kind === "bar" ? [`· ${cells?.map(([, text]) => text).join(" ")}`] : [];
  const own = open ? [] : [...(inside ?? [])];
  const words = [open ? "" : glyph, ...(title ?? []), ...own, ...(note ?? []), ...bar].filter(Boolean).join(" ");
  return told ? `${words}, ${told}` : words;
}

function Texts({ record, x, y, width, open }: { record: BoxRecord; x: number; y: number; width: number; open: boolean }) {
  const title = record.title ?? [];
  const glyph = record.glyph ? `${record.glyph} ` : "";
  if (open) {
    return (
      <text class="title" x={x + 28} y={y + 17}>
        {title.join(" ")} <tspan class="note">{record.note?.join(" ")}</tspan>
      </text>
    );
  }
  const centre = x + width / 2;
  if (record.kind === "bar") {
    return <text class="note" x={centre} y={y + 15} text-anchor="middle">{glyph}{title.join(" ")} · {record.cells?.map(([, text]) => text).join(" ")}</text>;
  }
  let at = y + 5;
  return (
    <>
      {title.map((line, i) => <text key={`t${i}`} class="title" x={centre} y={(at += 16) - 3} text-anchor="middle">{i ? " " : glyph}{line} </text>)}
      {[...(record.inside ?? []), ...(record.note ?? [])].map((line, i) => (
        <text key={`n${i}`} class="note" x={centre} y={(at += 13) - 3} text-anchor="middle">{line} </text>
      ))}
    </>
  );
}

/** The box that an arrow key leads to: along the arrows up and down, to the next beside left and right. */
export function followed(key: string, box: PlacedBox, { boxes, arrows }: Picture): PlacedBox | undefined {
  const byId = (id: string) => boxes.find((b) => b.id === id);
  /** From below, an open box is entered by what leaves it. */
  const entered = (b: PlacedBox | undefined): PlacedBox | undefined => {
    const last = b?.open && key === "ArrowUp" ? arrows.find((a) => a.to === `${b.record.scope}/-1`) : undefined;
    return last ? entered(byId(last.from)) : b;
  };
  if (key === "ArrowDown" || key === "ArrowUp") {
    const down = key === "ArrowDown";
    if (down && box.open) {
      const inside = boxes.filter((b) => b.scope === box.record.scope);
      return inside.sort((a, b) => a.y - b.y || a.x - b.x).find((b) => b.record.kind !== "constant");
    }
    const near = arrows.filter((a) => (down ? a.from : a.to) === box.id).map((a) => byId(down ? a.to : a.from));
    const found = near.filter((b): b is PlacedBox => b !== undefined);
    if (found.length) return entered(found.sort((a, b) => Math.abs(a.y - box.y) - Math.abs(b.y - box.y))[0]);
    const frame = boxes.find((b) => b.open && b.record.scope === box.scope);
    if (!frame) return undefined;
    if (!down) return frame;
    const out = arrows.filter((a) => a.from === frame.id).map((a) => byId(a.to));
    return out.find((b) => b !== undefined) ?? (frame.scope ? followed(key, { ...frame, open: false }, { boxes, arrows } as Picture) : undefined);
  }
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const side = key === "ArrowRight" ? 1 : -1;
    const row = boxes.filter((b) => b !== box && Math.abs(b.y - box.y) < 30 && side * (b.x - box.x) > 0);
    return row.sort((a, b) => Math.abs(a.x - box.x) - Math.abs(b.x - box.x))[0];
  }
  if (key === "Home") return [...boxes].sort((a, b) => a.y - b.y)[0];
  if (key === "End") return [...boxes].sort((a, b) => b.y - a.y)[0];
  return undefined;
}
