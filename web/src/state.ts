// What a reader looks at, as one record, and the part of it that a link holds.

import type { Trace } from "./trace.ts";
import { flatOf } from "./trace.ts";
import { needed, openAt } from "./where.ts";
import type { Edit } from "./whatif.ts";

export type Shown = "yours" | "reference" | "difference";

export interface State {
  open: ReadonlySet<string>;
  tensor: number;
  /** The cell, flat; null where none is chosen. */
  at: number | null;
  /** Which of the formulas of the tensor is read. */
  maker: number;
  /** The cells that were walked through to come here, first one first. */
  trail: { tensor: number; at: number }[];
  edits: readonly Edit[];
  predict: boolean;
  /** Cells of hidden tensors that were revealed, as "tensor at". */
  revealed: ReadonlySet<string>;
  heads: boolean;
  shown: Shown;
}

/** Of levels of zoom, the finest that is not too much to look at first. */
const FIRST_LEVELS = ["op", "head", "block"];
const FIRST_BOXES = 90;

export function first(trace: Trace): State {
  const kept = (tensor: number) => Boolean(trace.runs[0]!.tensors[tensor]);
  const tensors = [...trace.contents.tensors.keys()].filter(kept);
  const input = tensors.find((tensor) => trace.opOf(tensor).fed && !trace.opOf(tensor).beside);
  return {
    open: firstOpen(trace), tensor: input ?? tensors[0] ?? 0, at: null, maker: 0, trail: [], edits: [], predict: false,
    revealed: new Set(), heads: false, shown: "yours",
  };
}

function firstOpen(trace: Trace): Set<string> {
  for (const level of FIRST_LEVELS) {
    const open = openAt(trace, level);
    let boxes = trace.contents.views[""]!.boxes.length;
    for (const name of open) boxes += trace.contents.views[name]?.boxes.length ?? 0;
    if (boxes <= FIRST_BOXES) return open;
  }
  return new Set();
}

/** The state with a tensor and a cell chosen, and the scopes opened that it takes to see it. */
export function choose(trace: Trace, state: State, tensor: number, at: number | null = null): State {
  const open = needed(trace, tensor).filter((name) => !state.open.has(name));
  return {
    ...state, tensor, at, maker: 0, trail: [],
    open: open.length ? new Set([...state.open, ...open]) : state.open,
  };
}

/** `#t=head0.weights&c=2,1&o=block,block.attention` */
export function hashOf(trace: Trace, state: State): string {
  const told = new URLSearchParams();
  told.set("t", trace.tensor(state.tensor).name);
  if (state.at !== null) told.set("c", trace.index({ tensor: state.tensor, at: state.at }).join(","));
  if (state.maker) told.set("f", String(state.maker));
  told.set("o", [...state.open].sort().join(","));
  if (state.shown !== "yours") told.set("v", state.shown);
  return `#${told.toString().replaceAll("%2C", ",")}`;
}

/** The state that a link tells of; what it does not say, or says wrongly, stays as it is. */
export function fromHash(trace: Trace, hash: string, state: State): State {
  const told = new URLSearchParams(hash.replace(/^#/, ""));
  let found = state;
  const open = told.get("o");
  if (open !== null) {
    found = { ...found, open: new Set(open.split(",").filter((name) => trace.scopeByName.has(name))) };
  }
  const tensor = trace.byName.get(told.get("t") ?? "");
  if (tensor === undefined) return found;
  const { shape } = trace.tensor(tensor);
  const index = (told.get("c") ?? "").split(",").map(Number);
  const fits = told.has("c") && index.length === Math.max(shape.length, 1) &&
    shape.every((size, axis) => Number.isInteger(index[axis]) && index[axis]! >= 0 && index[axis]! < size);
  found = choose(trace, found, tensor, fits ? flatOf(index.slice(0, shape.length), shape) : null);
  const maker = Number(told.get("f") ?? 0);
  if (Number.isInteger(maker) && maker > 0 && maker < trace.makers[tensor]!.length) found = { ...found, maker };
  const shown = told.get("v");
  if (trace.runs.length > 1 && (shown === "reference" || shown === "difference")) found = { ...found, shown };
  return found;
}
