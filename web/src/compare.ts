// Two runs of one graph: which tensors differ, and where they first do.

import type { Trace } from "./trace.ts";

export interface Difference {
  /** The tensors that differ by more than rounding. */
  differs: Set<number>;
  /** The first of them whose operands agree, in order of evaluation. */
  first: number | null;
  /** For each tensor, the largest |yours − reference|; NaN where one has a number and the other none. */
  largest: number[];
}

/** Relative to the largest number of the tensor: beyond this it is no rounding. */
export const TOLERANCE = 1e-9;

export function difference(trace: Trace): Difference | null {
  const [yours, theirs] = trace.runs;
  if (!yours || !theirs) return null;
  const differs = new Set<number>();
  const largest = trace.contents.tensors.map((_, tensor) => {
    const [a, b] = [yours.tensors[tensor], theirs.tensors[tensor]];
    if (!a || !b) return 0;
    let [most, size] = [0, 0];
    for (let i = 0; i < a.length; i++) {
      const [x, y] = [a[i]!, b[i]!];
      if (x === y || (x !== x && y !== y)) continue;
      const apart = Math.abs(x - y);
      if (!(apart <= most)) most = apart;
      size = Math.max(size, Number.isFinite(x) ? Math.abs(x) : 0, Number.isFinite(y) ? Math.abs(y) : 0);
    }
    if (!(most <= TOLERANCE * size)) differs.add(tensor);
    return most;
  });
  let first: number | null = null;
  for (const node of trace.contents.nodes) {
    const own = node.outputs.find((tensor) => differs.has(tensor));
    if (own !== undefined && !node.operands.some((o) => o !== null && differs.has(o))) {
      first = own;
      break;
    }
  }
  return { differs, first, largest };
}

export function subtracted(a: Float64Array | null, b: Float64Array | null): Float64Array | null {
  if (!a || !b) return null;
  return a.map((x, i) => (Object.is(x, b[i]) ? 0 : x - b[i]!));
}
