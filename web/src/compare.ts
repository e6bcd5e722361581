// Two runs of one graph: which tensors differ, as compare said in Python, and by how much.

import type { Trace } from "./trace.ts";

export interface Difference {
  differs: Set<number>;
  /** The first of them whose operands agree, in order of evaluation. */
  first: number | null;
  /** Of a tensor, the largest difference and what it means. */
  told: (tensor: number) => string;
}

const WORDS: Record<string, string> = {
  close: "within the tolerance",
  carried: "no more than the rounding of what goes into it can do",
  harmless: "harmless: what comes after it agrees",
  undecided: "too few digits to tell",
};
const DIFFERENT = ["differs", "other shape"];

export function difference(trace: Trace): Difference | null {
  if (trace.runs.length < 2) return null;
  const { first, relation, by } = trace.contents.compared ?? { first: null, relation: "", by: {} };
  const judged = new Map(Object.entries(by).flatMap(([status, tensors]) => tensors.map((tensor) => [tensor, status] as const)));
  /** What is inside a composite was not recorded: it stands as what comes out of it does. */
  const status = (tensor: number): string => {
    const inner = trace.around(trace.node(trace.madeBy[tensor]!).scope).flatMap((place) => trace.scope(place).outputs ?? []);
    return judged.get([tensor, ...inner].find((t) => judged.has(t)) ?? -1) ?? "";
  };
  const largest = trace.contents.tensors.map((_, tensor) => apart(trace, tensor));
  const differs = new Set([...largest.keys()].filter((tensor) => largest[tensor] !== 0 && DIFFERENT.includes(status(tensor))));
  const told = (tensor: number): string => {
    const most = largest[tensor]!;
    if (most === 0) return "the same in both";
    const size = Number.isNaN(most) ? "one has numbers where the other has none" : `largest difference ${most.toPrecision(3)}`;
    if (tensor !== first) return [size, WORDS[status(tensor)]].filter(Boolean).join(", ");
    return `${size}: the first to differ, though what goes into it agrees${relation && `; yours is ${relation}`}`;
  };
  return { differs, first, told };
}

/** The largest |yours − reference|; NaN where one has a number and the other none. */
function apart(trace: Trace, tensor: number): number {
  const [a, b] = [trace.runs[0]!.tensors[tensor], trace.runs[1]!.tensors[tensor]];
  let most = 0;
  a?.forEach((x, i) => {
    const y = b?.[i] ?? x;
    const size = x === y || (x !== x && y !== y) ? 0 : Math.abs(x - y);
    if (!(size <= most)) most = size;
  });
  return most;
}

export function subtracted(a: Float64Array | null, b: Float64Array | null): Float64Array | null {
  if (!a || !b) return null;
  return a.map((x, i) => (Object.is(x, b[i]) ? 0 : x - b[i]!));
}
