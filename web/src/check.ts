// Check: the page computes every number again, each from the recorded numbers that it was computed from.

import { ulps } from "./numbers.ts";
import type { Trace, Values } from "./trace.ts";

export interface Checked {
  cells: number;
  same: number;
  /** Cells that differ by one or two units in the last place. */
  near: number;
  /** The tensors with a cell that differs by more. */
  off: number[];
}

export function check(trace: Trace, run: Values): Checked {
  const found: Checked = { cells: 0, same: 0, near: 0, off: [] };
  for (const node of trace.contents.nodes) {
    const operands = node.operands.map((o) => (o === null ? null : run.tensors[o]!));
    if (!node.operands.length || operands.some((o, i) => o === null && node.operands[i] !== null)) continue;
    for (const tensor of node.outputs) {
      const record = trace.tensor(tensor);
      const recorded = run.tensors[tensor];
      if (record.rule === undefined || record.patched || record.data === undefined || !recorded) continue;
      const again = trace.evaluate(tensor, operands);
      let far = false;
      again.forEach((value, i) => {
        const apart = ulps(value, recorded[i]!);
        found.cells++;
        if (apart === 0) found.same++;
        else if (apart <= 2) found.near++;
        else far = true;
      });
      if (far) found.off.push(tensor);
    }
  }
  return found;
}

export function sentence(trace: Trace, { cells, same, near, off }: Checked): string {
  const told = `The page computed ${cells.toLocaleString("en")} numbers again: ${same.toLocaleString("en")} are the same bit for bit`;
  const rest = near ? `, ${near.toLocaleString("en")} differ in the last digits (by at most 2 units in the last place)` : "";
  const far = cells - same - near;
  const names = off.slice(0, 3).map((tensor) => trace.tensor(tensor).name).join(", ");
  return told + rest + (far ? `, and ${far.toLocaleString("en")} differ by more, in ${names}${off.length > 3 ? " and others" : ""}.` : ".");
}
