// What if a number were another one: everything below it is evaluated again, by the same rules.

import type { Key, Trace, Values } from "./trace.ts";

export interface Edit extends Key {
  value: number;
}

export interface Moved {
  /** What is shown: recorded numbers where nothing changed, and what the page computed where it did. */
  values: Values;
  /** The tensors that came out otherwise. */
  changed: Set<number>;
}

export class WhatIf {
  private base: (Float64Array | null)[] | null = null;

  constructor(private trace: Trace, private run: Values) {}

  /** All tensors as the page computes them from what was fed: cells that differ from it are changed. */
  private baseline(): (Float64Array | null)[] {
    if (!this.base) {
      const found = [...this.run.tensors];
      this.sweep(found, () => true, () => undefined);
      this.base = found;
    }
    return this.base;
  }

  /** Evaluates the nodes that `asked` picks, in order; `after` may change what came out. */
  private sweep(
    tensors: (Float64Array | null)[], asked: (operands: number[], outputs: number[]) => boolean,
    after: (tensor: number, values: Float64Array) => void,
  ): void {
    for (const node of this.trace.contents.nodes) {
      const used = node.operands.filter((o): o is number => o !== null);
      if (!asked(used, node.outputs)) continue;
      for (const tensor of node.outputs) {
        const record = this.trace.tensor(tensor);
        const operands = node.operands.map((o) => (o === null ? null : tensors[o]!));
        const ready = used.every((o) => tensors[o]) && record.rule !== undefined && !record.patched;
        const values = ready ? this.trace.evaluate(tensor, operands) : tensors[tensor]?.slice();
        if (!values) continue;
        after(tensor, values);
        tensors[tensor] = values;
      }
    }
  }

  /** The run with these numbers put in. */
  move(edits: readonly Edit[]): Moved {
    const base = this.baseline();
    const now = [...base];
    const changed = new Set<number>();
    const edited = new Map<number, Edit[]>();
    for (const edit of edits) edited.set(edit.tensor, [...(edited.get(edit.tensor) ?? []), edit]);
    this.sweep(
      now,
      (operands, outputs) => operands.some((o) => changed.has(o)) || outputs.some((o) => edited.has(o)),
      (tensor, values) => {
        for (const { at, value } of edited.get(tensor) ?? []) values[at] = value;
        const before = base[tensor];
        if (!before || values.some((value, i) => !Object.is(value, before[i]))) changed.add(tensor);
      },
    );
    const shown = this.run.tensors.map((recorded, tensor) => {
      const [values, before] = [now[tensor], base[tensor]];
      if (!changed.has(tensor) || !values || !recorded || !before) return recorded;
      return values.map((value, i) => (Object.is(value, before[i]) ? recorded[i]! : value));
    });
    // a hidden cell whose number is another one is hidden no more
    const masks = this.run.masks.map((mask, tensor) => {
      const [values, recorded] = [shown[tensor], this.run.tensors[tensor]];
      if (!mask || !changed.has(tensor) || !values || !recorded) return mask;
      return mask.map((hidden, i) => (Object.is(values[i], recorded[i]) ? hidden : 0));
    });
    return { values: { tensors: shown, masks }, changed };
  }
}
