// A tensor as a map: numbers in cells, coloured cells with a read-out, or one image of pixels.

import { useEffect, useRef, useState } from "preact/hooks";
import type { TensorRecord } from "./contract.ts";
import { cellText, exactText, indexText } from "./text.ts";
import { flatOf, indexOf } from "./trace.ts";

export interface MapProps {
  title: string;
  about: string;
  record: TensorRecord;
  labels: (string[] | null)[];
  values: Float64Array | null;
  mask: Uint8Array | null;
  share: boolean;
  at: number | null;
  lit?: ReadonlySet<number>;
  /** Cells that a reader has put in, or that came out otherwise. */
  moved?: ReadonlySet<number>;
  /** Whether a cell's number is kept back (predict). */
  secret?: (at: number) => boolean;
  scale?: number;
  onSelect: (at: number) => void;
}

const NUMBERS = 14;
const CELLS = 40;
const MOST_CELLS = 2400;

export function HeatMap(props: MapProps) {
  const { record, values, title, about } = props;
  const { shape } = record;
  const [rows, columns] = shape.length > 1 ? shape.slice(-2) as [number, number] : [1, shape[0] ?? 1];
  const slices = shape.slice(0, -2);
  const count = slices.reduce((a, b) => a * b, 1);
  const chosen = props.at === null ? 0 : Math.floor(props.at / (rows * columns));
  const litSlice = props.lit?.size ? Math.floor(Math.min(...props.lit) / (rows * columns)) : chosen;
  const [slice, setSlice] = useState(litSlice);
  useEffect(() => setSlice(litSlice), [record.name, litSlice]);
  const now = Math.min(slice, count - 1);
  if (!values) return <p class="note">{title} was not kept in this run.</p>;
  if (!values.length) return <p class="note">{title} has no cells.</p>;
  const scale = props.scale ?? largest(values, props.mask, props.secret);
  const Kind = columns <= NUMBERS && rows * columns <= MOST_CELLS ? Grid : columns <= CELLS && rows <= 2 * CELLS ? Grid : Pixels;
  return (
    <figure class="map">
      <figcaption>
        <b class="name">{title}</b> <span class="muted">{about}{record.kind === "float" && scale > 0 && ` · tint ${props.share ? "0 to 1" : `±${cellText(scale, "float")}`}`}</span>
        {slices.length > 0 && count > 1 && (
          <label class="slices">
            {" "}slice{" "}
            <select value={String(now)} onChange={(e) => setSlice(Number(e.currentTarget.value))}>
              {Array.from({ length: count }, (_, i) => (
                <option key={i} value={String(i)}>{indexText(indexOf(i, slices), props.labels.slice(0, -2))}</option>
              ))}
            </select>
          </label>
        )}
      </figcaption>
      <Kind {...props} rows={rows} columns={columns} offset={now * rows * columns} scale={scale} numbers={columns <= NUMBERS} />
    </figure>
  );
}

interface Inner extends MapProps {
  rows: number;
  columns: number;
  offset: number;
  scale: number;
  numbers: boolean;
}

/** The largest visible number, which the deepest tint stands for. */
export function largest(values: Float64Array, mask: Uint8Array | null, secret?: (at: number) => boolean): number {
  let most = 0;
  values.forEach((value, i) => {
    const size = Math.abs(value);
    if (size > most && size < Infinity && !mask?.[i] && !secret?.(i)) most = size;
  });
  return most;
}

/** The tint of a number, 0 to 10, and the side of 0 that it is on. */
export function tint(value: number, scale: number, share: boolean, kind: string): string {
  if (kind === "bool") return value ? "s5" : "s0";
  if (Number.isNaN(value)) return "nan";
  const step = Math.min(10, Math.ceil((10 * Math.abs(value)) / (share ? 1 : scale || 1)));
  return `${share ? "s" : value < 0 ? "n" : "p"}${step}`;
}

function Grid(props: Inner) {
  const { record, values, mask, rows, columns, offset, scale, numbers, share, at, lit, moved, secret, onSelect } = props;
  const table = useRef<HTMLTableElement>(null);
  const [focus, setFocus] = useState<number | null>(null);
  const [over, setOver] = useState<number | null>(null);
  const rank = record.shape.length;
  const across = rank > 0 ? props.labels[rank - 1] ?? null : null;
  const down = rank > 1 ? props.labels[rank - 2] ?? null : null;
  const stop = focus ?? (at !== null && at >= offset && at < offset + rows * columns ? at : offset);
  const here = at === null ? null : { row: Math.floor((at - offset) / columns), column: (at - offset) % columns };
  const move = (e: KeyboardEvent, cell: number) => {
    const [row, column] = [Math.floor((cell - offset) / columns), (cell - offset) % columns];
    const to = arrowed(e.key, row, column, rows, columns, e.ctrlKey || e.metaKey);
    if (to === null) return;
    e.preventDefault();
    e.stopPropagation();
    const next = offset + to[0] * columns + to[1];
    setFocus(next);
    table.current?.querySelector<HTMLElement>(`[data-at="${next}"]`)?.focus();
  };
  const told = (cell: number) => {
    const place = indexText(indexOf(cell, record.shape), props.labels);
    if (secret?.(cell)) return `${place} kept back`;
    return `${place} ${exactText(values![cell]!, record.kind)}${mask?.[cell] ? ", hidden by a mask" : ""}`;
  };
  const read = over ?? focus;
  return (
    <div class="scroll">
      <table ref={table} role="grid" class={numbers ? "grid" : "grid small"} aria-label={`${props.title}, ${props.about}`}
        onMouseLeave={() => setOver(null)} onBlur={() => setFocus(null)}>
        {across && (
          <thead>
            <tr>
              {down && <td class="corner" />}
              {across.slice(0, columns).map((label, j) => (
                <th key={j} scope="col" class={here?.column === j ? "here" : ""}><span class={label.length > 2 ? "tall" : ""}>{label}</span></th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>
          {Array.from({ length: rows }, (_, i) => (
            <tr key={i}>
              {down && <th scope="row" class={here?.row === i ? "here" : ""}><span>{down[i]}</span></th>}
              {Array.from({ length: columns }, (_, j) => {
                const cell = offset + i * columns + j;
                const value = values![cell]!;
                const kept = secret?.(cell) ?? false;
                const hidden = Boolean(mask?.[cell]);
                const text = kept ? "?" : hidden ? "·" : cellText(value, record.kind);
                const kinds = ["cell", kept ? "secret" : hidden ? "hidden" : tint(value, scale, share, record.kind)];
                if (lit?.has(cell)) kinds.push("lit");
                if (moved?.has(cell)) kinds.push("moved");
                return (
                  <td key={j} role="gridcell" class={kinds.join(" ")} data-at={cell} tabIndex={cell === stop ? 0 : -1}
                    aria-selected={cell === at} onClick={() => onSelect(cell)} onFocus={() => setFocus(cell)}
                    onMouseOver={numbers ? undefined : () => setOver(cell)}
                    onKeyDown={(e) => {
                      if (e.key === "Enter" || e.key === " ") {
                        e.preventDefault();
                        onSelect(cell);
                      } else move(e, cell);
                    }}>
                    {numbers ? text : <span class="sr">{text}</span>}
                    {hidden && !kept && <span class="sr"> hidden</span>}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      {!numbers && <p class="readout">{read === null ? "Point at a cell, or move there with the arrow keys, to read its number." : props.title + told(read)}</p>}
    </div>
  );
}

/** Where an arrow key leads, or null. */
function arrowed(key: string, row: number, column: number, rows: number, columns: number, far: boolean): [number, number] | null {
  const to: Record<string, [number, number]> = {
    ArrowUp: [far ? 0 : row - 1, column],
    ArrowDown: [far ? rows - 1 : row + 1, column],
    ArrowLeft: [row, far ? 0 : column - 1],
    ArrowRight: [row, far ? columns - 1 : column + 1],
    Home: [far ? 0 : row, 0],
    End: [far ? rows - 1 : row, columns - 1],
    PageUp: [Math.max(0, row - 10), column],
    PageDown: [Math.min(rows - 1, row + 10), column],
  };
  const found = to[key];
  return found && found[0] >= 0 && found[0] < rows && found[1] >= 0 && found[1] < columns ? found : null;
}

/** One image, a pixel or more for each cell, with a cursor; a table of what is around the cursor. */
function Pixels(props: Inner) {
  const { record, values, mask, rows, columns, offset, scale, share, at, lit, secret, onSelect } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const inside = at !== null && at >= offset && at < offset + rows * columns;
  const firstLit = lit?.size ? Math.min(...lit) : offset;
  const [cursor, setCursor] = useState(inside ? at : firstLit);
  useEffect(() => setCursor(inside ? at : firstLit), [at, firstLit, record.name, offset]);
  const zoom = Math.max(1, Math.min(8, Math.floor(560 / rows)));
  const wide = Math.max(1, Math.min(24, Math.floor(560 / columns)));
  useEffect(() => {
    if (canvas.current) paint(canvas.current, { values: values!, mask, rows, columns, offset, scale, share, secret, kind: record.kind, lit });
  });
  const [row, column] = [Math.floor((cursor - offset) / columns), (cursor - offset) % columns];
  const at_ = (e: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const i = Math.min(rows - 1, Math.max(0, Math.floor(((e.clientY - box.top) / box.height) * rows)));
    const j = Math.min(columns - 1, Math.max(0, Math.floor(((e.clientX - box.left) / box.width) * columns)));
    return offset + i * columns + j;
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "Enter" || e.key === " ") {
      e.preventDefault();
      onSelect(cursor);
      return;
    }
    const to = arrowed(e.key, row, column, rows, columns, e.ctrlKey || e.metaKey);
    if (!to) return;
    e.preventDefault();
    e.stopPropagation();
    setCursor(offset + to[0] * columns + to[1]);
  };
  const place = indexText(indexOf(cursor, record.shape), props.labels);
  const number = secret?.(cursor) ? "?" : exactText(values![cursor]!, record.kind);
  const near = { top: Math.max(0, Math.min(rows - 5, row - 2)), left: Math.max(0, Math.min(columns - 5, column - 2)) };
  const from = (i: number, j: number) => offset + (near.top + i) * columns + near.left + j;
  const shown = Array.from({ length: Math.min(5, rows) }, (_, i) => Array.from({ length: Math.min(5, columns) }, (_, j) => from(i, j)));
  return (
    <div>
      <div class="scroll">
        <div class="pixels" role="application" tabIndex={0} onKeyDown={key} data-pixels
          aria-label={`${props.title}, ${props.about}, as an image: arrow keys move the cursor, Enter chooses its cell`}>
          <canvas ref={canvas} width={columns * wide} height={rows * zoom} aria-hidden="true"
            onMouseMove={(e) => setCursor(at_(e))} onClick={(e) => onSelect(at_(e))} />
          <span class="cursor" style={{ left: `${column * wide}px`, top: `${row * zoom}px`, width: `${Math.max(wide, 5)}px`, height: `${Math.max(zoom, 5)}px` }} />
        </div>
      </div>
      <p class="readout" aria-live="polite">{props.title}{place} = {number}{mask?.[cursor] ? " (hidden by a mask)" : ""}</p>
      <table class="grid near">
        <caption>Around the cursor</caption>
        <thead>
          <tr>
            <td class="corner" />
            {shown[0]!.map((cell) => {
              const j = indexOf(cell, record.shape).at(-1)!;
              return <th key={j} scope="col"><span>{props.labels.at(-1)?.[j] ?? j}</span></th>;
            })}
          </tr>
        </thead>
        <tbody>
          {shown.map((cells) => {
            const index = indexOf(cells[0]!, record.shape);
            const i = index.length > 1 ? index.at(-2)! : 0;
            return (
              <tr key={i}>
                <th scope="row"><span>{(index.length > 1 ? props.labels.at(-2)?.[i] : null) ?? i}</span></th>
                {cells.map((cell) => (
                  <td key={cell} class={`cell ${secret?.(cell) ? "secret" : mask?.[cell] ? "hidden" : tint(values![cell]!, scale, share, record.kind)}${lit?.has(cell) ? " lit" : ""}`}>
                    {secret?.(cell) ? "?" : mask?.[cell] ? "·" : cellText(values![cell]!, record.kind)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface Painted {
  values: Float64Array;
  mask: Uint8Array | null;
  rows: number;
  columns: number;
  offset: number;
  scale: number;
  share: boolean;
  kind: string;
  secret?: (at: number) => boolean;
  lit?: ReadonlySet<number>;
}

/** Cells as high as these are hatched by lines where they are hidden; smaller ones by every fourth of them. */
const HATCHED = 3;

/** Pixels, in the colours of the style sheet. */
function paint(canvas: HTMLCanvasElement, { values, mask, rows, columns, offset, scale, share, kind, secret, lit }: Painted): void {
  const context = canvas.getContext("2d");
  if (!context) return;
  const [page, plus, minus, portion, hidden, hatch, edge] = ["page", "plus", "minus", "share", "masked", "hatch", "lit"].map((name) =>
    colourOf(canvas, name),
  ) as [Rgb, Rgb, Rgb, Rgb, Rgb, Rgb, Rgb];
  const [wide, zoom] = [canvas.width / columns, canvas.height / rows];
  const image = context.createImageData(columns, rows);
  for (let i = 0; i < rows * columns; i++) {
    const at = offset + i;
    const value = values[at]!;
    let colour = page;
    if (secret?.(at) || mask?.[at]) colour = zoom < HATCHED && mask?.[at] && (Math.floor(i / columns) + i % columns) % 4 === 0 ? hatch : hidden;
    else {
      const deep = Math.min(1, Math.abs(value) / (share || kind === "bool" ? 1 : scale || 1));
      // small shares among many tokens are to be seen: the root of a share
      colour = mixed(page, share || kind === "bool" ? portion : value < 0 ? minus : plus, Number.isNaN(deep) ? 1 : share ? Math.sqrt(deep) : deep);
    }
    if (lit?.has(at)) colour = mixed(colour, edge, 0.6);
    image.data.set([...colour, 255], 4 * i);
  }
  const small = document.createElement("canvas");
  small.width = columns;
  small.height = rows;
  small.getContext("2d")!.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
  if (!mask || zoom < HATCHED) return;
  context.strokeStyle = `rgb(${hatch.join()})`;
  for (let i = 0; i < rows * columns; i++) {
    if (!mask[offset + i] || secret?.(offset + i)) continue;
    const [x, y] = [(i % columns) * wide, Math.floor(i / columns) * zoom];
    context.moveTo(x, y + zoom);
    context.lineTo(x + wide, y);
  }
  context.stroke();
}

type Rgb = [number, number, number];

/** A colour of the style sheet. */
function colourOf(canvas: HTMLElement, name: string): Rgb {
  canvas.style.color = `var(--${name})`;
  return (getComputedStyle(canvas).color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number) as Rgb;
}

function mixed(a: Rgb, b: Rgb, share: number): Rgb {
  return a.map((x, i) => Math.round(x + (b[i]! - x) * share)) as Rgb;
}

export { flatOf };
