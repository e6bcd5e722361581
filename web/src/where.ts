// Where in the picture a tensor is, and which tensors a box stands for.

import type { BoxRecord, ViewRecord } from "./contract.ts";
import type { Picture, PlacedBox } from "./layout.ts";
import { opens } from "./layout.ts";
import type { Trace } from "./trace.ts";

/** The tensors that a box stands for: outputs of a node or of a scope. */
export function tensorsOf(trace: Trace, box: BoxRecord): number[] {
  if (box.family === "output") return [trace.contents.outputs[box.name]!];
  if (box.scope !== undefined) {
    const { outputs } = trace.scope(trace.scopeByName.get(box.scope)!);
    if (outputs) return outputs;
    return leaving(trace, box.scope);
  }
  return nodeNamed(trace, box.name)?.outputs ?? [];
}

const nodes = new WeakMap<Trace, Map<string, number>>();

function nodeNamed(trace: Trace, name: string) {
  let found = nodes.get(trace);
  if (!found) {
    found = new Map(trace.contents.nodes.map((node, place) => [node.name, place]));
    nodes.set(trace, found);
  }
  const place = found.get(name);
  return place === undefined ? undefined : trace.node(place);
}

/** What a plain group hands on. */
function leaving(trace: Trace, scope: string): number[] {
  return [...new Set(trace.contents.views[scope]?.out.map((arrow) => arrow.tensor) ?? [])];
}

/** The scopes that have to be open for a tensor to be seen, outer first. */
export function needed(trace: Trace, tensor: number): string[] {
  const found: string[] = [];
  const { views } = trace.contents;
  const around = trace.around(trace.node(trace.madeBy[tensor]!).scope).reverse();
  let view: ViewRecord = views[""]!;
  for (const place of around) {
    const scope = trace.scope(place);
    const box = view.boxes.find((b) => b.scope === scope.name);
    if (!box || tensorsOf(trace, box).includes(tensor) || !opens(views, box)) break;
    found.push(scope.name);
    view = views[scope.name]!;
  }
  return found;
}

/** The box that shows a tensor in a picture: the innermost one that holds what made it. */
export function boxOf(trace: Trace, picture: Picture, tensor: number): PlacedBox | undefined {
  const node = trace.node(trace.madeBy[tensor]!);
  const scopes = trace.around(node.scope).map((place) => trace.scope(place).name);
  const byName = picture.boxes.filter((box) => box.record.name === node.name && box.record.family !== "output");
  const own = byName.find((box) => !box.open && box.scope === (scopes[0] ?? ""));
  if (own) return own;
  for (const scope of scopes) {
    const box = picture.boxes.find((b) => b.record.scope === scope);
    if (box && !box.open) return box;
    if (box) break;
  }
  for (const user of trace.usedBy[tensor]!) {
    // drawn inside the box that uses it
    const { name, outputs } = trace.node(user);
    const box = picture.boxes.find((b) => b.record.name === name) ?? (outputs[0] === tensor ? undefined : boxOf(trace, picture, outputs[0]!));
    if (box) return box;
  }
  return undefined;
}

/** The names of the scopes that are open at a level: those of coarser composites, and plain groups. */
export function openAt(trace: Trace, level: string): Set<string> {
  const order = ["block", "head", "op", "primitive"];
  const found = new Set<string>();
  for (const scope of trace.contents.scopes) {
    const own = scope.op === undefined ? "" : trace.contents.ops[scope.op]!.level;
    if (order.indexOf(own) < order.indexOf(level)) found.add(scope.name);
  }
  return found;
}

/** The tensors that stand in the same place in siblings that are numbered: head0.weights, head1.weights. */
export function siblings(trace: Trace, tensor: number): number[] {
  const parts = trace.tensor(tensor).name.split(".");
  for (let i = parts.length - 1; i >= 0; i--) {
    const stem = /^(.*?)\d+$/.exec(parts[i]!)?.[1];
    if (stem === undefined) continue;
    const found: number[] = [];
    for (let number = 0; number < 256; number++) {
      const place = trace.byName.get([...parts.slice(0, i), `${stem}${number}`, ...parts.slice(i + 1)].join("."));
      if (place !== undefined) found.push(place);
    }
    if (found.length > 1) return found;
  }
  return [];
}
