// The pure parts, run in Node on data that Python wrote: `node build/test.mjs JOB.json` prints what the
// page makes of it as JSON. The Python tests (tests/page/) compare.

import { readFileSync } from "node:fs";
import { unpack } from "../src/decode.ts";
import type { Packed, Rule } from "../src/contract.ts";
import { Derivation } from "../src/derivation.ts";
import { Evaluator } from "../src/evaluate.ts";
import { joined } from "../src/formula.ts";
import { layout, opens, type Views } from "../src/layout.ts";
import { Names, numberText, repr } from "../src/text.ts";
import { expression, Trace, cellsOf } from "../src/trace.ts";
import { whyOf } from "../src/why.ts";

type Job =
  | { job: "trace"; page: Packed; cells: [string, number][] }
  /** Where cells come from, of at most so many cells of a tensor. */
  | { job: "sources"; page: Packed; most: number }
  | { job: "rules"; calls: { rule: Rule; shape: number[]; operands: (string[] | null)[]; dot: "sumprod" | "sum" }[] }
  | { job: "layout"; views: Views; opens: string[][] }
  | { job: "numbers"; values: string[]; digits: number };

const number = (text: string) => (text === "nan" ? NaN : text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text));

async function answer(job: Job): Promise<unknown> {
  switch (job.job) {
    case "trace": {
      const trace = new Trace(await unpack(job.page));
      const run = trace.runs[0]!;
      const derivation = new Derivation(trace, run);
      const whys = job.cells.map(([name, at]) => {
        const key = { tensor: trace.byName.get(name)!, at };
        const why = whyOf(derivation, new Names(trace, trace.tensor(key.tensor).name), key);
        return {
          head: why.head, segments: why.segments.map(joined), note: why.note, remarks: why.remarks,
          parts: why.parts.map((part) => [part.name, part.segments.map(joined)]),
        };
      });
      const again = trace.contents.nodes.flatMap((node) =>
        node.outputs.map((tensor) => {
          const record = trace.tensor(tensor);
          if (record.rule === undefined) return null;
          const found = trace.evaluate(tensor, node.operands.map((o) => (o === null ? null : run.tensors[o]!)));
          return { name: record.name, values: [...found].map(repr) };
        }),
      );
      const values = trace.contents.tensors.map((t, i) => ({ name: t.name, values: [...(run.tensors[i] ?? [])].map(repr) }));
      return { whys, again: again.filter(Boolean), values };
    }
    case "sources": {
      const trace = new Trace(await unpack(job.page));
      return trace.contents.tensors.map((record, tensor) => {
        const step = Math.max(1, Math.floor(trace.size(tensor) / job.most));
        return {
          name: record.name,
          makers: trace.makers[tensor]!.map((maker) => ({
            name: maker.name,
            cells: Array.from({ length: Math.ceil(trace.size(tensor) / step) }, (_, i) => {
              const tree = expression(trace, trace.runs[0]!, maker, { tensor, at: i * step });
              return tree && cellsOf(tree).map((cell) => [cell.slot, cell.key.at]);
            }),
          })),
        };
      });
    }
    case "rules":
      return job.calls.map(({ rule, shape, operands, dot }) => {
        const arrays = operands.map((o) => o && Float64Array.from(o, number));
        return [...new Evaluator(dot).tensor(rule, shape, arrays)].map(repr);
      });
    case "layout":
      return job.opens.map((names) => {
        const { boxes, arrows, width, height } = layout(job.views, new Set(names));
        return {
          width, height,
          labels: arrows.flatMap(({ label, labelX, anchor }) => (label ? [{ label, x: labelX, anchor }] : [])),
          boxes: boxes.map(({ id, x, y, width, height, open, record, scope }) => ({
            id, name: record.name, x, y, width, height, open, scope, opens: opens(job.views, record) ? record.scope : null,
          })),
        };
      });
    case "numbers":
      return job.values.map((text) => [repr(number(text)), numberText(number(text), "float", job.digits)]);
  }
}

const job = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as Job;
process.stdout.write(JSON.stringify(await answer(job)));
