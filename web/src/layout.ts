// A layered layout of scopes in scopes, of our own: nothing moves that need not.
//
// What is above and beside what is decided once for each scope, without looking at sizes (`skeleton`):
// ranks by the longest path, the order within a rank by barycentres, long arrows as chains of dummies.
// Which boxes are open changes sizes alone (`arrange`): ranks get as high as their highest box, tops
// aligned, and x comes from weighted least squares with least distances (pool adjacent violators).
// An open box is laid out as its scope, with a port on its border for each tensor in and out.

import type { ArrowRecord, BoxRecord, ViewRecord } from "./contract.ts";

const GAP_X = 26;
const GAP_DUMMY = 14;
const GAP_Y = 40;
export const HEADER = 26;
const MARGIN = 16;
const SWEEPS = 24;
/** How much straighter an arrow from a box to the next is than one that comes from far. */
const MAIN = 3;

// ---------------------------------------------------------------- skeletons

interface Item {
  kind: "box" | "dummy" | "in" | "out";
  /** The box's place in the view; the tensor of a port. */
  box: number;
  tensor: number;
  rank: number;
  right: boolean;
}

interface Link {
  from: number;
  to: number;
  weight: number;
}

/** One arrow, as the items that it passes through. */
interface Chain {
  items: number[];
  tensor: number;
  label: string;
  role?: string;
  kind: string;
  port?: string;
}

export interface Skeleton {
  view: ViewRecord;
  items: Item[];
  ranks: number[][];
  /** Of each item, where it stands in its rank. */
  place: number[];
  chains: Chain[];
  links: Link[];
  nested: boolean;
}

const skeletons = new WeakMap<ViewRecord, Skeleton>();

/** What a scope's picture is, whatever is open in it. */
export function skeleton(view: ViewRecord, nested: boolean): Skeleton {
  let found = skeletons.get(view);
  if (!found) {
    found = build(view, nested);
    skeletons.set(view, found);
  }
  return found;
}

function build(view: ViewRecord, nested: boolean): Skeleton {
  const rank = ranked(view, nested);
  const last = Math.max(0, ...rank) + 1;
  const items: Item[] = view.boxes.map((_, box) => ({ kind: "box", box, tensor: -1, rank: rank[box]!, right: false }));
  const port = (kind: "in" | "out", tensor: number): number => {
    const known = items.findIndex((item) => item.kind === kind && item.tensor === tensor);
    if (known >= 0) return known;
    return items.push({ kind, box: -1, tensor, rank: kind === "in" ? 0 : last, right: false }) - 1;
  };
  const chains: Chain[] = [];
  const links: Link[] = [];
  const connect = (from: number, to: number, arrow: ViewRecord["arrows"][number] | ViewRecord["in"][number]) => {
    const chain = [from];
    const right = arrow.kind === "residual";
    for (let r = items[from]!.rank + 1; r < items[to]!.rank; r++) {
      chain.push(items.push({ kind: "dummy", box: -1, tensor: arrow.tensor, rank: r, right }) - 1);
    }
    chain.push(to);
    for (let i = 1; i < chain.length; i++) {
      const inside = i > 1 && i < chain.length - 1;
      const line = chain.length === 2 && items[from]!.kind === "box" && items[to]!.kind === "box" ? MAIN : 1;
      const weight = right ? (inside ? 1 : 0.02) : inside ? 4 : arrow.kind === "beside" ? 0.3 : line;
      links.push({ from: chain[i - 1]!, to: chain[i]!, weight });
    }
    chains.push({
      items: chain, tensor: arrow.tensor, label: arrow.label ?? "", role: arrow.role, kind: arrow.kind ?? "plain", port: arrow.port,
    });
  };
  if (nested) for (const arrow of view.in) connect(port("in", arrow.tensor), arrow.to, { ...arrow, label: "" });
  for (const arrow of view.arrows) connect(arrow.from, arrow.to, arrow);
  if (nested) for (const arrow of view.out) connect(arrow.from, port("out", arrow.tensor), { ...arrow, label: "" } as never);
  const found: Skeleton = { view, items, ranks: [], place: [], chains, links, nested };
  found.ranks = ordered(found);
  for (const row of found.ranks) row.forEach((item, at) => (found.place[item] = at));
  return found;
}

/** The rank of each box: as far down as the longest way to it; what nothing leads to stands just above
 * what uses it, unless it is an input. */
function ranked(view: ViewRecord, nested: boolean): number[] {
  const count = view.boxes.length;
  const into: number[][] = Array.from({ length: count }, () => []);
  const outOf: number[][] = Array.from({ length: count }, () => []);
  for (const { from, to } of view.arrows) {
    into[to]!.push(from);
    outOf[from]!.push(to);
  }
  const fed = new Set(view.in.map((arrow) => arrow.to));
  const floats = (box: number) => into[box]!.length === 0 && !(nested && fed.has(box)) && view.boxes[box]!.kind !== "end";
  const rank = new Array<number>(count).fill(-1);
  const first = nested ? 1 : 0;
  const visit = (start: number) => {
    const stack = [start];
    while (stack.length) {
      const box = stack.at(-1)!;
      const open = into[box]!.filter((b) => rank[b] === -1 && !floats(b));
      if (open.length && stack.length <= count) stack.push(...open);
      else {
        stack.pop();
        rank[box] = Math.max(first, ...into[box]!.filter((b) => !floats(b)).map((b) => rank[b]! + 1));
        if (into[box]!.some(floats)) rank[box] = Math.max(rank[box]!, first + 1);
      }
    }
  };
  for (let box = 0; box < count; box++) if (rank[box] === -1 && !floats(box)) visit(box);
  for (let box = 0; box < count; box++) {
    if (floats(box)) rank[box] = Math.max(first, Math.min(...outOf[box]!.map((b) => rank[b]!), Infinity) - 1);
    if (!Number.isFinite(rank[box]!)) rank[box] = first;
  }
  return rank;
}

function ordered({ items, links }: Skeleton): number[][] {
  const ranks: number[][] = [];
  items.forEach((item, i) => (ranks[item.rank] ??= []).push(i));
  for (let r = 0; r < ranks.length; r++) ranks[r] ??= [];
  const place = new Array<number>(items.length).fill(0);
  const number = () => ranks.forEach((row) => row.forEach((item, i) => (place[item] = i)));
  const up: number[][] = items.map(() => []);
  const down: number[][] = items.map(() => []);
  for (const { from, to } of links) {
    down[from]!.push(to);
    up[to]!.push(from);
  }
  const sort = (row: number[], near: number[][]) => {
    const centre = new Map(
      row.map((item) => {
        const around = near[item]!;
        if (items[item]!.right) return [item, Infinity] as const;
        return [item, around.length ? around.reduce((sum, n) => sum + place[n]!, 0) / around.length : place[item]!] as const;
      }),
    );
    row.sort((a, b) => {
      const [x, y] = [centre.get(a)!, centre.get(b)!];
      return x === y ? place[a]! - place[b]! : x - y;
    });
    row.forEach((item, i) => (place[item] = i));
  };
  const crossings = () => {
    let count = 0;
    for (const row of ranks) {
      const edges = row.flatMap((item) => down[item]!.map((to) => [place[item]!, place[to]!] as const));
      for (let i = 0; i < edges.length; i++) {
        for (let j = i + 1; j < edges.length; j++) {
          const [a, b] = [edges[i]!, edges[j]!];
          if ((a[0] - b[0]) * (a[1] - b[1]) < 0) count++;
        }
      }
    }
    return count;
  };
  number();
  let best = ranks.map((row) => [...row]);
  let least = items.length > 600 ? 0 : crossings();
  for (let sweep = 0; sweep < SWEEPS && least > 0; sweep++) {
    if (sweep % 2) for (let r = ranks.length - 2; r >= 0; r--) sort(ranks[r]!, down);
    else for (let r = 1; r < ranks.length; r++) sort(ranks[r]!, up);
    const count = crossings();
    if (count < least) {
      least = count;
      best = ranks.map((row) => [...row]);
    }
  }
  for (const row of best) row.sort((a, b) => Number(items[a]!.right) - Number(items[b]!.right));
  return best;
}

// ---------------------------------------------------------------- arranging

export interface PlacedBox {
  id: string;
  record: BoxRecord;
  /** Left, top, in the picture. */
  x: number;
  y: number;
  width: number;
  height: number;
  open: boolean;
  depth: number;
  scope: string;
}

export interface PlacedArrow {
  id: string;
  path: string;
  label: string;
  labelX: number;
  labelY: number;
  anchor: "start" | "end";
  role?: string;
  kind: string;
  tensor: number;
  from: string;
  to: string;
  /** Where the head points to, if it has one. */
  tip: [number, number] | null;
}

export interface Picture {
  width: number;
  height: number;
  boxes: PlacedBox[];
  arrows: PlacedArrow[];
}

interface Arranged {
  skeleton: Skeleton;
  scope: string;
  tag: string;
  width: number;
  height: number;
  x: number[]; // centre of each item
  y: number[]; // top of each item
  bottom: number[]; // bottom of each rank
  top: number[];
  widths: number[];
  heights: number[];
  inner: (Arranged | null)[];
}

export type Views = Record<string, ViewRecord>;

const COLUMNS = 56;

/** The picture with these scopes open; derivatives stand in a column beside what is derived. */
export function layout(views: Views, open: ReadonlySet<string>): Picture {
  const [main, column, cross] = columnsOf(views[""]!);
  const inMain = column ? trimmed(views, main) : views;
  const root = arrange({ scope: "", tag: "", view: main }, inMain, open, 0);
  const side = column && arrange({ scope: "", tag: "+", view: column }, views, open, 0);
  const placed = (left: number): Picture => {
    const picture: Picture = { width: left + root.width + 2 * MARGIN, height: root.height + 2 * MARGIN, boxes: [], arrows: [] };
    put(root, left + MARGIN, MARGIN, 0, picture);
    if (side) {
      put(side, picture.width + COLUMNS, MARGIN, 0, picture);
      picture.width += COLUMNS + side.width + MARGIN;
      picture.height = Math.max(picture.height, side.height + 2 * MARGIN);
      for (const arrow of cross) picture.arrows.push(crossing(arrow, picture));
    }
    return picture;
  };
  let picture = placed(0);
  const [left] = labelEnds(picture);
  if (left < 0) picture = placed(-left);
  picture.width = Math.max(picture.width, labelEnds(picture)[1]);
  return picture;
}

/** How far the labels of arrows reach to the left, at most 0, and to the right. */
function labelEnds({ arrows }: Picture): [number, number] {
  const ends = arrows.filter(({ label }) => label).map(({ label, labelX, anchor }) => {
    const width = LETTER * label.length;
    return anchor === "end" ? [labelX - width, labelX] : [labelX, labelX + width];
  });
  return [Math.floor(Math.min(0, ...ends.map(([from]) => from!))), Math.ceil(Math.max(0, ...ends.map(([, to]) => to!)))];
}

type Cross = ArrowRecord & { from: number; to: number; tail: string; head: string };
const split = new WeakMap<ViewRecord, [ViewRecord, ViewRecord | null, Cross[]]>();

/** A view in two: what is in the main column, what is beside it (with what only that needs or gives), and
 * the arrows from one to the other. */
function columnsOf(view: ViewRecord): [ViewRecord, ViewRecord | null, Cross[]] {
  let found = split.get(view);
  if (found) return found;
  const beside = new Set(view.boxes.flatMap((box, i) => (box.column ? [i] : [])));
  if (!beside.size) found = [view, null, []];
  else {
    const inner = [...beside];
    view.boxes.forEach((box, i) => {
      const near = view.arrows.filter((a) => a.from === i || a.to === i).map((a) => (a.from === i ? a.to : a.from));
      if ((box.kind === "end" || box.kind === "constant") && near.length && near.every((n) => inner.includes(n))) beside.add(i);
    });
    const part = (own: (i: number) => boolean): [ViewRecord, Map<number, number>] => {
      const places = new Map<number, number>();
      const boxes = view.boxes.filter((_, i) => own(i) && places.set(i, places.size));
      const arrows = view.arrows
        .filter((a) => own(a.from) && own(a.to))
        .map((a) => ({ ...a, from: places.get(a.from)!, to: places.get(a.to)! }));
      return [{ boxes, arrows, in: [], out: [] }, places];
    };
    const [main, left] = part((i) => !beside.has(i));
    const [column, right] = part((i) => beside.has(i));
    const cross = view.arrows
      .filter((a) => left.has(a.from) && right.has(a.to))
      .map((a) => ({ ...a, tail: `/${left.get(a.from)}`, head: `+/${right.get(a.to)}` }));
    found = [main, column, cross];
  }
  split.set(view, found);
  return found;
}

const trims = new WeakMap<Views, Views>();

/** The views without the arrows that leave for the column alone. */
function trimmed(views: Views, main: ViewRecord): Views {
  let found = trims.get(views);
  if (found) return found;
  found = { ...views, "": main };
  const todo = [""];
  while (todo.length) {
    const view = found[todo.pop()!]!;
    view.boxes.forEach((box, i) => {
      const inner = box.scope === undefined ? undefined : views[box.scope];
      if (!inner) return;
      const used = new Set([...view.arrows, ...view.out].filter((a) => a.from === i).map((a) => a.tensor));
      found![box.scope!] = { ...inner, out: inner.out.filter((a) => used.has(a.tensor)) };
      todo.push(box.scope!);
    });
  }
  trims.set(views, found);
  return found;
}

/** An arrow into the column, from the side of its box to the top of the other. */
function crossing(arrow: Cross, picture: Picture): PlacedArrow {
  const tail = picture.boxes.find((box) => box.id === arrow.tail)!;
  const head = picture.boxes.find((box) => box.id === arrow.head)!;
  const [x, y] = [tail.x + tail.width, tail.y + tail.height - (tail.open ? 12 : tail.height / 2)];
  const [tx, ty] = [head.x, head.y + HEADER / 2];
  const bend = Math.max(40, (tx - x) / 2);
  return {
    id: `cross ${arrow.tail} ${arrow.head} ${arrow.tensor}`, path: `M${n(x)} ${n(y)}C${n(x + bend)} ${n(y)} ${n(tx - bend)} ${n(ty)} ${n(tx)} ${n(ty)}`,
    label: "", labelX: 0, labelY: 0, anchor: "start", role: arrow.role, kind: "cross", tensor: arrow.tensor,
    from: arrow.tail, to: arrow.head, tip: null,
  };
}

export function opens(views: Views, box: BoxRecord): boolean {
  return box.scope !== undefined && worthOpening(views[box.scope]);
}

/** A scope of one box says no more than it does closed. */
function worthOpening(view: ViewRecord | undefined): boolean {
  return view !== undefined && view.boxes.filter((box) => box.kind !== "constant").length > 1;
}

/** A scope, and its view; the tag tells apart two parts of one. */
interface Place {
  scope: string;
  tag: string;
  view: ViewRecord;
}

function arrange({ scope, tag, view }: Place, views: Views, open: ReadonlySet<string>, least: number): Arranged {
  const bones = skeleton(view, scope !== "");
  const { items, ranks } = bones;
  const inner = items.map((item) => {
    const record = item.kind === "box" ? view.boxes[item.box]! : null;
    return record?.scope !== undefined && open.has(record.scope) && opens(views, record)
      ? arrange({ scope: record.scope, tag: "", view: views[record.scope]! }, views, open, record.head ?? 0)
      : null;
  });
  // what is open has its constants inside it
  const within = items.map((item, i) => {
    const leaving = bones.chains.filter((chain) => chain.items[0] === i);
    return item.kind === "box" && view.boxes[item.box]!.kind === "constant" && leaving.length > 0 && leaving.every((chain) => inner[chain.items.at(-1)!]);
  });
  const widths = items.map((item, i) => (item.kind === "box" && !within[i] ? inner[i]?.width ?? view.boxes[item.box]!.width : 0));
  const heights = items.map((item, i) => (item.kind === "box" && !within[i] ? inner[i]?.height ?? view.boxes[item.box]!.height : 0));
  const top: number[] = [];
  const bottom: number[] = [];
  let y = scope ? HEADER : 0;
  ranks.forEach((row, r) => {
    const ports = row.every((i) => items[i]!.kind !== "box" && items[i]!.kind !== "dummy");
    top[r] = y;
    y += Math.max(0, ...row.map((i) => heights[i]!));
    bottom[r] = y;
    y += r === ranks.length - 1 ? 0 : ports && r === 0 ? 18 : GAP_Y;
  });
  if (scope && !items.some((item) => item.kind === "out")) y += MARGIN;
  if (scope && items.some((item) => item.kind === "out")) y -= GAP_Y - 22;
  const outs = ranks.length - 1;
  if (scope && items.some((item) => item.kind === "out")) top[outs] = bottom[outs] = y;
  const found: Arranged = {
    skeleton: bones, scope, tag, width: 0, height: y, x: [], y: items.map((item) => top[item.rank]!), bottom, top, widths, heights, inner,
  };
  found.x = spread(found);
  const left = Math.min(0, ...items.map((_, i) => found.x[i]! - widths[i]! / 2));
  found.x = found.x.map((x) => x - left);
  const right = Math.max(
    0, ...items.map((_, i) => found.x[i]! + widths[i]! / 2),
    ...bones.chains.map((chain) => (asideLabel(chain) ? found.x[chain.items[1]!]! + ASIDE + LETTER * chain.label.length : 0)),
  );
  const pad = scope ? MARGIN : 0;
  found.width = 2 * Math.ceil(Math.max(right + 2 * pad, least) / 2); // whole centres: what is aligned stays so
  const shift = pad + (found.width - 2 * pad - right) / 2;
  found.x = found.x.map((x) => Math.round(x + shift));
  const room = roomOf(found, found.x);
  items.forEach((item, i) => {
    const [least, most] = room(i);
    const middle = found.width / 2;
    if (item.kind === "box" && Math.abs(found.x[i]! - middle) <= NEAR && least - 1 <= middle && middle <= most + 1) found.x[i] = middle;
  });
  return found;
}

/** Where an arrow meets an item: how far from its centre. Places are chosen as if all were closed: what opens
 * stays below what is above it, and its arrows bend to its ports. */
function ends({ skeleton: { items, chains, place }, widths, inner }: Arranged, closed = false): { from: Map<Chain, number>; to: Map<Chain, number> } {
  const from = new Map<Chain, number>();
  const to = new Map<Chain, number>();
  const leaving: Chain[][] = items.map(() => []);
  const arriving: Chain[][] = items.map(() => []);
  for (const chain of chains) {
    leaving[chain.items[0]!]!.push(chain);
    arriving[chain.items.at(-1)!]!.push(chain);
  }
  const aside = (chain: Chain, next: number) => (chain.kind === "residual" ? Infinity : place[chain.items.at(next)!]!);
  items.forEach((item, i) => {
    arriving[i]!.sort((a, b) => aside(a, -2) - aside(b, -2) || 0);
    const within = inner[i];
    const port = (kind: "in" | "out", tensor: number) => {
      if (!within || closed) return null;
      const found = within.skeleton.items.findIndex((other) => other.kind === kind && other.tensor === tensor);
      return found < 0 ? null : within.x[found]! - within.width / 2;
    };
    const count = arriving[i]!.length;
    const step = count > 1 ? Math.min(24, (widths[i]! - 20) / (count - 1)) : 0;
    // of two arrows, the one from the box above goes straight down, the other stands beside it
    const main = count === 2 ? arriving[i]!.filter((chain) => straight(chain, items)) : [];
    const middle = main.length === 1 ? arriving[i]!.indexOf(main[0]!) : (count - 1) / 2;
    arriving[i]!.forEach((chain, k) => to.set(chain, port("in", chain.tensor) ?? step * (k - middle)));
    const cells = item.kind === "box" ? chainCells(leaving[i]!) : new Map<Chain, number>();
    const residual = leaving[i]!.length > 1 ? Math.min(22, widths[i]! / 2 - 12) : 0;
    leaving[i]!.forEach((chain) => {
      const own = chain.kind === "residual" ? residual : (cells.get(chain) ?? 0) * (widths[i]! - 30);
      from.set(chain, port("out", chain.tensor) ?? own);
    });
  });
  return { from, to };
}

/** Whether an arrow leads from a box to the next rank, as the line does that everything hangs on. */
function straight({ items: chain, kind }: Chain, items: Item[]): boolean {
  return chain.length === 2 && kind === "plain" && items[chain[0]!]!.kind === "box";
}

/** Arrows that leave by ports of a bar, spread over it: from −½ to ½. */
function chainCells(chains: Chain[]): Map<Chain, number> {
  const ports = [...new Set(chains.flatMap((chain) => chain.port ?? []))].sort(
    (a, b) => Number(a.slice(1)) - Number(b.slice(1)),
  );
  return new Map(
    chains.map((chain) => {
      const at = ports.indexOf(chain.port ?? "");
      return [chain, ports.length > 1 && at >= 0 ? at / (ports.length - 1) - 0.5 : 0];
    }),
  );
}

/** The centres: least squares of the bends of all arrows, rank by rank. */
function spread(scope: Arranged): number[] {
  const { items, ranks, place, links, chains } = scope.skeleton;
  const { from, to } = ends(scope, true);
  const shift = new Map<string, [number, number]>();
  for (const chain of chains) {
    shift.set(`${chain.items[0]} ${chain.items[1]}`, [from.get(chain)!, 0]);
    const last = `${chain.items.at(-2)} ${chain.items.at(-1)}`;
    shift.set(last, [chain.items.length === 2 ? from.get(chain)! : 0, to.get(chain)!]);
  }
  const near: { other: number; weight: number; offset: number; above: boolean }[][] = items.map(() => []);
  for (const { from: a, to: b, weight } of links) {
    const [tail, head] = shift.get(`${a} ${b}`) ?? [0, 0];
    near[b]!.push({ other: a, weight, offset: tail - head, above: true });
    near[a]!.push({ other: b, weight, offset: head - tail, above: false });
  }
  // what stands between several boxes stands in the middle of all they take, however wide one of them is
  items.forEach((_, hub) => {
    for (const above of [true, false]) {
      const around = near[hub]!.filter((n) => n.above === above && scope.inner[n.other] !== undefined && items[n.other]!.kind === "box");
      const at = around.map((n) => place[n.other]!);
      for (const link of around) {
        const own = place[link.other]!;
        const side = Number(own === Math.max(...at)) - Number(own === Math.min(...at));
        const more = scope.inner[link.other] ? (side * (scope.widths[link.other]! - scope.skeleton.view.boxes[items[link.other]!.box]!.width)) / 2 : 0;
        link.offset += more;
        for (const back of near[link.other]!) if (back.other === hub) back.offset -= more;
      }
    }
  });
  const x = new Array<number>(items.length).fill(0);
  const solve = (row: number[], use: (n: { above: boolean }) => boolean) => {
    const wanted = row.map((item) => {
      const around = near[item]!.filter(use);
      const weight = around.reduce((sum, n) => sum + n.weight, 0);
      const centre = weight ? around.reduce((sum, n) => sum + n.weight * (x[n.other]! + n.offset), 0) / weight : x[item]!;
      return { centre, weight: weight || 0.01 };
    });
    const least = row.map((item, i) => (i ? apart(scope, row[i - 1]!, item) : 0));
    pooled(wanted, least).forEach((centre, i) => (x[row[i]!] = centre));
  };
  for (const row of ranks) {
    let at = 0;
    row.forEach((item, i) => (x[item] = at += i ? apart(scope, row[i - 1]!, item) : 0));
    row.forEach((item) => (x[item]! -= at / 2));
  }
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const row of ranks) solve(row, sweep < 2 ? (n) => n.above : () => true);
    for (const row of [...ranks].reverse()) solve(row, sweep < 2 ? (n) => !n.above : () => true);
  }
  straighten(scope, x, from, to);
  return x;
}

const NEAR = 24;

/** Boxes that stand nearly below each other come to stand so, and long arrows bend as seldom as can be. */
function straighten(scope: Arranged, x: number[], from: Map<Chain, number>, to: Map<Chain, number>): void {
  const { items, chains } = scope.skeleton;
  const room = roomOf(scope, x);
  for (const chain of chains) {
    const [tail, head] = [chain.items[0]!, chain.items.at(-1)!];
    if (!straight(chain, items) || items[head]!.kind !== "box") continue;
    const wanted = x[tail]! + from.get(chain)! - to.get(chain)!;
    const [least, most] = room(head);
    if (Math.abs(wanted - x[head]!) <= NEAR && wanted >= least && wanted <= most) x[head] = wanted;
  }
  for (const { items: chain } of chains) {
    let run: number[] = [];
    let [low, high] = [-Infinity, Infinity];
    const settle = () => {
      const mean = run.reduce((sum, item) => sum + x[item]!, 0) / run.length;
      for (const item of run) x[item] = Math.min(Math.max(mean, low), high);
    };
    for (const item of chain.slice(1, -1)) {
      const [least, most] = room(item);
      if (Math.max(low, least) > Math.min(high, most)) {
        settle();
        [run, low, high] = [[], -Infinity, Infinity];
      }
      run.push(item);
      [low, high] = [Math.max(low, least), Math.min(high, most)];
    }
    if (run.length) settle();
  }
}

/** From where to where an item can move between those beside it. */
function roomOf(scope: Arranged, x: number[]): (item: number) => [number, number] {
  const { items, ranks, place } = scope.skeleton;
  return (item) => {
    const [row, at] = [ranks[items[item]!.rank]!, place[item]!];
    const [before, after] = [row[at - 1], row[at + 1]];
    return [
      before === undefined ? -Infinity : x[before]! + apart(scope, before, item),
      after === undefined ? Infinity : x[after]! - apart(scope, item, after),
    ];
  };
}

function apart({ skeleton: { items }, widths }: Arranged, a: number, b: number): number {
  const dummies = items[a]!.kind !== "box" && items[b]!.kind !== "box";
  return (widths[a]! + widths[b]!) / 2 + (dummies ? GAP_DUMMY : GAP_X);
}

/** The places nearest to the wanted ones, each at least so far from the one before. */
export function pooled(wanted: { centre: number; weight: number }[], least: number[]): number[] {
  const before: number[] = [];
  let sum = 0;
  least.forEach((gap, i) => (before[i] = sum += gap));
  const blocks: { mean: number; weight: number; count: number }[] = [];
  wanted.forEach(({ centre, weight }, i) => {
    let block = { mean: centre - before[i]!, weight, count: 1 };
    while (blocks.length && blocks.at(-1)!.mean > block.mean) {
      const other = blocks.pop()!;
      const whole = other.weight + block.weight;
      block = {
        mean: (other.mean * other.weight + block.mean * block.weight) / whole, weight: whole, count: other.count + block.count,
      };
    }
    blocks.push(block);
  });
  const places: number[] = [];
  for (const { mean, count } of blocks) for (let k = 0; k < count; k++) places.push(mean + before[places.length]!);
  return places;
}

// ---------------------------------------------------------------- putting it into the picture

/** A residual's label stands beside it on its way down, where nothing else is. */
function asideLabel({ kind, items }: Chain): boolean {
  return kind === "residual" && items.length > 2;
}

const ASIDE = 6;
const LETTER = 6.2;

function put(scope: Arranged, left: number, up: number, depth: number, picture: Picture): void {
  const { skeleton: bones, x, y, widths, heights, inner } = scope;
  const id = (item: number) => `${scope.scope}${scope.tag}/${bones.items[item]!.box}`;
  bones.items.forEach((item, i) => {
    if (item.kind !== "box" || !widths[i]) return;
    const record = bones.view.boxes[item.box]!;
    const box: PlacedBox = {
      id: id(i), record, x: left + x[i]! - widths[i]! / 2, y: up + y[i]!, width: widths[i]!, height: heights[i]!,
      open: inner[i] !== null, depth, scope: scope.scope,
    };
    picture.boxes.push(box);
    if (inner[i]) put(inner[i]!, box.x, box.y, depth + 1, picture);
  });
  const { from, to } = ends(scope);
  const labelled = new Set<string>();
  bones.chains.forEach((chain, number) => {
    const told = `${chain.items[0]} ${chain.label}`;
    if (labelled.has(told)) chain = { ...chain, label: "" };
    labelled.add(told);
    const origin = bones.chains[number]!;
    const tail = bones.items[chain.items[0]!]!;
    if (tail.kind === "box" && !widths[chain.items[0]!]) return;
    picture.arrows.push(arrow(scope, chain, from.get(origin)!, to.get(origin)!, left, up, `${scope.scope}${scope.tag}>${number}`, id));
  });
}

function arrow(
  scope: Arranged, chain: Chain, leave: number, arrive: number, left: number, up: number, name: string,
  id: (item: number) => string,
): PlacedArrow {
  const { skeleton: bones, x, y, heights, top, bottom } = scope;
  const { items } = bones;
  const point = (item: number, shift: number): number => left + x[item]! + shift;
  const first = chain.items[0]!;
  const last = chain.items.at(-1)!;
  let px = point(first, leave);
  let py = up + (items[first]!.kind === "in" ? HEADER : y[first]! + heights[first]!);
  const start: [number, number] = [px, py];
  let path = `M${n(px)} ${n(py)}`;
  let next = px;
  for (let k = 1; k < chain.items.length; k++) {
    const item = chain.items[k]!;
    const rank = items[item]!.rank;
    const above = up + bottom[rank - 1]!;
    if (above > py) path += `V${n((py = above))}`;
    const nx = point(item, item === last ? arrive : 0);
    const ny = up + top[rank]!;
    if (k === 1) next = nx;
    const bend = Math.min(Math.max((ny - py) * 0.6, 10), ny - py + 8);
    path += Math.abs(nx - px) < 0.5 ? `V${n(ny)}` : `C${n(px)} ${n(py + bend)} ${n(nx)} ${n(ny - bend)} ${n(nx)} ${n(ny)}`;
    [px, py] = [nx, ny];
  }
  const aside = asideLabel(chain);
  // on the side that the arrow does not turn to, nor the residual that leaves beside it
  const beside = next > start[0] + 6 || bones.chains.some((other) => other.items[0] === first && other.kind === "residual") ? -1 : 1;
  const second = bones.items[chain.items[1]!]!.rank;
  return {
    id: name, path, label: chain.port || (chain.kind === "residual" && !aside) ? "" : chain.label, role: chain.role, kind: chain.kind, tensor: chain.tensor,
    labelX: aside ? point(chain.items[1]!, ASIDE) : start[0] + 5 * beside, labelY: aside ? up + (top[second]! + bottom[second]!) / 2 : start[1] + 13,
    anchor: aside || beside > 0 ? "start" : "end",
    from: id(first), to: id(last), tip: items[last]!.kind === "out" ? null : [px, py],
  };
}

function n(value: number): string {
  return String(Math.round(value * 10) / 10);
}
