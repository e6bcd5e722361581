// The page: a bar, the diagram, and beside it the tensor and the cell that are chosen.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { CellPanel } from "./cell.tsx";
import { check, sentence } from "./check.ts";
import { difference, subtracted } from "./compare.ts";
import { Derivation } from "./derivation.ts";
import { Diagram } from "./diagram.tsx";
import { copy, download, exported, FORMATS, svgText, type Format } from "./export.ts";
import { HeatMap, largest } from "./heatmap.tsx";
import { layout, opens, type PlacedBox } from "./layout.ts";
import { Search } from "./search.tsx";
import { choose, first, fromHash, hashOf, type Shown, type State } from "./state.ts";
import { indexText, Names } from "./text.ts";
import type { Key, Trace, Values } from "./trace.ts";
import { boxOf, openAt, siblings, tensorsOf } from "./where.ts";
import { WhatIf } from "./whatif.ts";
import { whyOf } from "./why.ts";

const LEVELS = ["block", "head", "op", "primitive"];
const NONE: ReadonlySet<number> = new Set();

export function App({ trace, notes }: { trace: Trace; notes: string[] }) {
  const [state, setState] = useState<State>(() => fromHash(trace, location.hash, first(trace)));
  const [anchor, setAnchor] = useState<string | null>(null);
  const [message, setMessage] = useState("");
  const whatIf = useMemo(() => new WhatIf(trace, trace.runs[0]!), [trace]);
  const differences = useMemo(() => difference(trace), [trace]);
  const picture = useMemo(() => layout(trace.contents.views, state.open), [trace, state.open]);
  const moved = useMemo(() => (state.edits.length ? whatIf.move(state.edits) : null), [state.edits]);
  const which = state.shown === "reference" ? 1 : 0;
  const run: Values = which ? trace.runs[1]! : moved?.values ?? trace.runs[0]!;

  useEffect(() => {
    const hash = hashOf(trace, state);
    try {
      if (hash !== location.hash) history.replaceState(null, "", hash);
    } catch {
      // a sandboxed frame has no history of its own
    }
  }, [state]);
  useEffect(() => {
    const listen = () => setState((now) => fromHash(trace, location.hash, now));
    addEventListener("hashchange", listen);
    return () => removeEventListener("hashchange", listen);
  }, [trace]);

  const record = trace.tensor(state.tensor);
  const box = boxOf(trace, picture, state.tensor);
  const go = (tensor: number, at: number | null = null) => {
    setAnchor(null);
    setState((now) => choose(trace, now, tensor, at));
  };
  const select = (chosen: PlacedBox) => {
    const own = tensorsOf(trace, chosen.record);
    if (own.length && !(chosen.id === box?.id && own.includes(state.tensor))) go(own[0]!);
  };
  const toggle = (chosen: PlacedBox) => {
    const name = chosen.record.scope!;
    setAnchor(chosen.id);
    setState((now) => {
      const open = new Set(now.open);
      if (open.has(name)) [...open].filter((n) => n === name || n.startsWith(`${name}.`)).forEach((n) => open.delete(n));
      else open.add(name);
      const within = boxOf(trace, layout(trace.contents.views, open), now.tensor);
      return within ? { ...now, open } : choose(trace, { ...now, open }, tensorsOf(trace, chosen.record)[0] ?? now.tensor);
    });
  };
  const level = LEVELS.find((name) => sameSet(openAt(trace, name), state.open));
  const around = useMemo(() => neighbours(trace, picture, state.tensor), [trace, picture, state.tensor]);
  const movedBoxes = useMemo(() => boxesOf(trace, picture, moved?.changed ?? NONE), [picture, moved]);
  const diverged = useMemo(() => boxesOf(trace, picture, differences?.differs ?? NONE), [picture]);
  const order = useMemo(() => stepsOf(trace, picture), [picture]);
  const step = (by: number) => {
    const at = order.findIndex((b) => b.id === box?.id);
    const next = order[Math.max(0, Math.min(order.length - 1, at + by))];
    if (next) select(next);
  };
  const stepAt = order.findIndex((b) => b.id === box?.id);

  const undo = () => setState((now) => ({ ...now, edits: now.edits.slice(0, -1) }));
  const keys = (e: KeyboardEvent) => {
    if ((e.ctrlKey || e.metaKey) && e.key === "z" && state.edits.length && !(e.target instanceof HTMLInputElement)) {
      e.preventDefault();
      undo();
    }
  };

  return (
    <div class="page" onKeyDown={keys}>
      <header>
        <h1>{trace.contents.title}</h1>
        <div class="tools">
          <div class="group" role="group" aria-label="Level of zoom">
            {LEVELS.map((name) => (
              <button key={name} type="button" aria-pressed={level === name}
                onClick={() => { setAnchor(null); setState((now) => choose(trace, { ...now, open: openAt(trace, name) }, visible(trace, now.tensor, openAt(trace, name)), null)); }}>
                {name}
              </button>
            ))}
          </div>
          <div class="group" role="group" aria-label="Steps">
            <button type="button" aria-label="Step back" disabled={stepAt <= 0} onClick={() => step(-1)}>◀</button>
            <button type="button" aria-label="Next step" disabled={stepAt >= order.length - 1} onClick={() => step(1)}>▶</button>
          </div>
          <Search trace={trace} onChoose={(tensor) => go(tensor)} />
          <button type="button" aria-pressed={state.predict} onClick={() => setState((now) => ({ ...now, predict: !now.predict, revealed: new Set() }))}>Predict</button>
          <button type="button" onClick={() => setMessage(sentence(trace, check(trace, trace.runs[0]!)))}>Check</button>
          {differences?.first != null && <button type="button" class="warn" onClick={() => go(differences.first!)}>First difference</button>}
          {state.edits.length > 0 && (
            <button type="button" class="warn" onClick={undo}>Undo {state.edits.length === 1 ? "1 change" : `${state.edits.length} changes`}</button>
          )}
          <More trace={trace} values={run.tensors[state.tensor] ?? null} tensor={state.tensor} predict={state.predict} onDone={setMessage} />
        </div>
        <p class="message" role="status">{message}{message && <button type="button" class="close" aria-label="Close this message" onClick={() => setMessage("")}>×</button>}</p>
        {notes.map((note) => <p key={note} class="note">{note}</p>)}
      </header>
      <main>
        <Diagram picture={picture} title={trace.contents.title} anchor={anchor} selected={box?.id ?? null} tensor={state.tensor}
          producers={around.producers} consumers={around.consumers} moved={movedBoxes} diverged={diverged}
          first={differences?.first != null ? boxOf(trace, picture, differences.first)?.id ?? null : null}
          canOpen={(b) => opens(trace.contents.views, b)} onSelect={select} onToggle={toggle} />
        <div class="panel" role="region" aria-label="Tensor and cell" tabIndex={-1}>
          <TensorPanel trace={trace} state={state} setState={setState} run={run} which={which} box={box}
            moved={moved?.changed ?? NONE} differences={differences} go={go} name={record.name} />
        </div>
      </main>
    </div>
  );
}

interface PanelProps {
  trace: Trace;
  state: State;
  setState: (change: (now: State) => State) => void;
  run: Values;
  which: 0 | 1;
  box: PlacedBox | undefined;
  moved: ReadonlySet<number>;
  differences: ReturnType<typeof difference>;
  go: (tensor: number, at?: number | null) => void;
  name: string;
}

function TensorPanel({ trace, state, setState, run, which, box, moved, differences, go, name }: PanelProps) {
  const { tensor, at } = state;
  const record = trace.tensor(tensor);
  const outputs = box ? tensorsOf(trace, box.record) : [tensor];
  const shared = outputs.includes(tensor) ? outputs : [tensor];
  const heads = siblings(trace, tensor);
  const secretTensor = state.predict && !trace.opOf(tensor).fed && !trace.opOf(tensor).beside;
  const secret = (cell: number) => secretTensor && !state.revealed.has(`${tensor} ${cell}`);
  const yours = run.tensors[tensor] ?? null;
  const both = state.shown === "difference";
  const values = both ? subtracted(trace.runs[0]!.tensors[tensor] ?? null, trace.runs[1]!.tensors[tensor] ?? null) : yours;
  const recorded = trace.runs[which]!.tensors[tensor] ?? null;
  const pick = (cell: number) => setState((now) => ({ ...now, at: cell, trail: [] }));
  const node = trace.node(trace.madeBy[tensor]!);
  const op = trace.makers[tensor]![0]?.op ?? trace.opOf(tensor);
  const changedCells = (t: number, now: Float64Array | null): ReadonlySet<number> => {
    const before = trace.runs[0]!.tensors[t];
    if (!moved.has(t) || !now || !before || which) return NONE;
    return new Set([...now.keys()].filter((i) => !Object.is(now[i], before[i])));
  };
  return (
    <>
      <nav class="trail" aria-label="Way here">
        {state.trail.length > 0 && (
          <ol>
            {state.trail.map((key, i) => (
              <li key={i}>
                <button type="button" onClick={() => setState((now) => ({ ...choose(trace, now, key.tensor, key.at), trail: now.trail.slice(0, i) }))}>
                  {shortName(trace, key)}
                </button>
              </li>
            ))}
            <li aria-current="true">{at === null ? name : shortName(trace, { tensor, at })}</li>
          </ol>
        )}
      </nav>
      <h2>{name}</h2>
      {shared.length > 1 && (
        <div class="tabs" role="group" aria-label="Tensors of this box">
          {shared.map((other) => (
            <button key={other} type="button" aria-pressed={other === tensor} onClick={() => go(other)}>{shortTitle(trace, other)}</button>
          ))}
        </div>
      )}
      {trace.runs.length > 1 && (
        <div class="tabs" role="group" aria-label="Which run">
          {(["yours", "reference", "difference"] as Shown[]).map((shown) => (
            <button key={shown} type="button" aria-pressed={state.shown === shown} onClick={() => setState((now) => ({ ...now, shown }))}>
              {shown === "reference" ? "the reference" : shown}
            </button>
          ))}
          <span class="muted"> {differences?.told(tensor)}</span>
        </div>
      )}
      <p class="op muted">{op.glyph} {op.title}: {op.formula}</p>
      {node.warnings?.map((warning) => <p key={warning} class="remark">{warning}</p>)}
      <div class="maps">
        <HeatMap title={shortTitle(trace, tensor)} about={trace.describe(tensor)} record={record} labels={trace.labels(tensor)} values={values}
          mask={run.masks[tensor] ?? null} share={trace.share(tensor) && !both} at={at} onSelect={pick} secret={secretTensor ? secret : undefined}
          moved={both ? undefined : changedCells(tensor, yours)} />
        {state.heads && !secretTensor && heads.filter((other) => other !== tensor).map((other) => (
          <HeatMap key={other} title={shortTitle(trace, other)} about="" record={trace.tensor(other)} labels={trace.labels(other)}
            values={run.tensors[other] ?? null} mask={run.masks[other] ?? null} share={trace.share(other)}
            at={at} moved={changedCells(other, run.tensors[other] ?? null)} onSelect={(cell) => go(other, cell)} />
        ))}
      </div>
      {heads.length > 1 && (
        <p><button type="button" aria-pressed={state.heads} onClick={() => setState((now) => ({ ...now, heads: !now.heads }))}>The others side by side</button></p>
      )}
      {at === null || !yours ? (
        <p class="hint muted">Choose a cell to {op.fed ? "change its number" : "see how its number came about"}.</p>
      ) : (
        <Chosen {...{ trace, state, setState, run, which, recorded, secret }} at={at} />
      )}
    </>
  );
}

interface ChosenProps {
  trace: Trace;
  state: State;
  setState: (change: (now: State) => State) => void;
  run: Values;
  which: 0 | 1;
  recorded: Float64Array | null;
  secret: (cell: number) => boolean;
  at: number;
}

/** The cell that is chosen, and maps of the tensors that it came from, with its sources lit. */
function Chosen({ trace, state, setState, run, which, recorded, secret, at }: ChosenProps) {
  const { tensor } = state;
  const key = { tensor, at };
  const edit = state.edits.find((e) => e.tensor === tensor && e.at === at);
  const derivation = useMemo(
    () => new Derivation(trace, run, (k) => !which && state.edits.some((e) => e.tensor === k.tensor && e.at === k.at)),
    [run, which, state.edits],
  );
  const makers = trace.makers[tensor]!;
  const why = whyOf(derivation, new Names(trace, trace.tensor(tensor).name), key, makers[state.maker]);
  const kept = secret(at);
  const walk = (to: Key) => {
    const origin = derivation.value(to) === null ? to : to;
    setState((now) => ({ ...choose(trace, now, origin.tensor, origin.at), trail: [...now.trail, { tensor, at }].slice(-12) }));
  };
  const operands = new Map<number, Set<number>>();
  for (const source of why.sources) operands.set(source.tensor, (operands.get(source.tensor) ?? new Set()).add(source.at));
  const scale = recorded ? largest(recorded, trace.runs[which]!.masks[tensor] ?? null) : 1;
  return (
    <>
      <CellPanel why={why} makers={makers} maker={state.maker} kept={kept} recorded={recorded?.[at] ?? null} edited={edit !== undefined}
        canMove={which === 0 && state.shown === "yours"} bound={trace.tensor(tensor).below ?? Infinity} range={trace.share(tensor) ? 0.5 : scale}
        onMaker={(maker) => setState((now) => ({ ...now, maker }))} onWalk={walk}
        onMove={(value) => setState((now) => ({ ...now, edits: [...now.edits.filter((e) => e.tensor !== tensor || e.at !== at), { tensor, at, value }] }))}
        onUndo={() => setState((now) => ({ ...now, edits: now.edits.filter((e) => e.tensor !== tensor || e.at !== at) }))}
        onReveal={() => setState((now) => ({ ...now, revealed: new Set([...now.revealed, `${tensor} ${at}`]) }))} />
      <div class="sources">
        {[...operands].map(([operand, lit]) => (
          <HeatMap key={operand} title={trace.tensor(operand).name} about={`${trace.describe(operand)}: ${lit.size === 1 ? "1 cell" : `${lit.size} cells`} went into it`}
            record={trace.tensor(operand)} labels={trace.labels(operand)} values={run.tensors[operand] ?? null} mask={run.masks[operand] ?? null}
            share={trace.share(operand)} at={null} lit={lit} onSelect={(cell) => walk({ tensor: operand, at: cell })} />
        ))}
      </div>
    </>
  );
}

/** What to take away: the tensor, the picture, the numbers, the page itself on paper. */
function More({ trace, values, tensor, predict, onDone }: {
  trace: Trace; values: Float64Array | null; tensor: number; predict: boolean; onDone: (said: string) => void;
}) {
  const menu = useRef<HTMLDetailsElement>(null);
  const record = trace.tensor(tensor);
  const close = () => menu.current && (menu.current.open = false);
  const copyAs = async (format: Format) => {
    close();
    const done = values && (await copy(exported(format, record, values)));
    onDone(done ? `${record.name} is copied as ${format}.` : "The browser did not let the page copy.");
  };
  const json = () => {
    close();
    const tensors = Object.fromEntries(
      trace.contents.tensors.map((t, i) => [t.name, { shape: t.shape, axes: t.axes, kind: t.kind, values: [...(trace.runs[0]!.tensors[i] ?? [])].map(finite) }]),
    );
    download(`${trace.contents.graph}.json`, "application/json", JSON.stringify({ graph: trace.contents.graph, title: trace.contents.title, tensors }));
  };
  const svg = () => {
    close();
    const picture = document.querySelector<SVGSVGElement>("svg.picture");
    if (picture) download(`${trace.contents.graph}.svg`, "image/svg+xml", svgText(picture));
  };
  return (
    <details class="more" ref={menu}>
      <summary>Take away</summary>
      <div class="menu">
        {FORMATS.map((format) => <button key={format} type="button" disabled={predict} onClick={() => copyAs(format)}>Copy the tensor as {format}</button>)}
        <button type="button" onClick={svg}>Download the diagram (SVG)</button>
        <button type="button" disabled={predict} onClick={json}>Download all numbers (JSON)</button>
        <button type="button" onClick={() => { close(); print(); }}>Print</button>
        <button type="button" onClick={() => { close(); otherTheme(); }}>Light or dark</button>
      </div>
    </details>
  );
}

/** From light to dark and back, whatever the system says. */
function otherTheme(): void {
  const { dataset } = document.documentElement;
  const dark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = dark ? "light" : "dark";
}

function finite(value: number): number | string {
  return Number.isFinite(value) ? value : String(value).replace("Infinity", "inf").replace("NaN", "nan");
}

// ---------------------------------------------------------------- what belongs together

function shortName(trace: Trace, { tensor, at }: Key): string {
  return shortTitle(trace, tensor) + indexText(trace.index({ tensor, at }), trace.labels(tensor));
}

/** The last part of a name, with the head that it is of. */
function shortTitle(trace: Trace, tensor: number): string {
  return trace.tensor(tensor).name.split(".").slice(-2).join(".");
}

function neighbours(trace: Trace, picture: ReturnType<typeof layout>, tensor: number) {
  const find = (t: number) => boxOf(trace, picture, t)?.id;
  const own = find(tensor);
  const maker = trace.makers[tensor]![0];
  const producers = new Set((maker?.operands ?? []).flatMap((o) => (o === null ? [] : find(o) ?? [])));
  const consumers = new Set(trace.usedBy[tensor]!.flatMap((node) => trace.node(node).outputs.slice(0, 1).flatMap((t) => find(t) ?? [])));
  for (const found of [producers, consumers]) if (own) found.delete(own);
  return { producers, consumers };
}

function boxesOf(trace: Trace, picture: ReturnType<typeof layout>, tensors: ReadonlySet<number>): Set<string> {
  if (!tensors.size) return new Set();
  const within = picture.boxes.filter((box) => {
    const own = tensorsOf(trace, box.record);
    if (own.some((t) => tensors.has(t))) return true;
    return box.record.scope !== undefined && inside(trace, box.record.scope).some((t) => tensors.has(t));
  });
  return new Set(within.map((box) => box.id));
}

const insides = new WeakMap<Trace, Map<string, number[]>>();

/** All tensors in a scope. */
function inside(trace: Trace, scope: string): number[] {
  let found = insides.get(trace);
  if (!found) {
    found = new Map();
    for (const node of trace.contents.nodes) {
      for (const place of trace.around(node.scope)) {
        const name = trace.scope(place).name;
        found.set(name, [...(found.get(name) ?? []), ...node.outputs]);
      }
    }
    insides.set(trace, found);
  }
  return found.get(scope) ?? [];
}

/** The boxes in the order in which they are evaluated. */
function stepsOf(trace: Trace, { boxes }: ReturnType<typeof layout>): PlacedBox[] {
  const at = (box: PlacedBox) => Math.max(-1, ...tensorsOf(trace, box.record).map((t) => trace.madeBy[t]!)) + (box.record.family === "output" ? 0.5 : 0);
  return boxes.filter((box) => !box.open && box.record.kind !== "constant").sort((a, b) => at(a) - at(b));
}

/** The tensor itself, or the result of the outermost closed scope that it is in. */
function visible(trace: Trace, tensor: number, open: ReadonlySet<string>): number {
  const around = trace.around(trace.node(trace.madeBy[tensor]!).scope).reverse();
  for (const place of around) {
    const scope = trace.scope(place);
    if (!open.has(scope.name)) return scope.outputs?.includes(tensor) ? tensor : scope.outputs?.[0] ?? tensor;
  }
  return tensor;
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((name) => b.has(name));
}
