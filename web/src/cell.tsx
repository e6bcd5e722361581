// One cell: its value, the formula in symbols and in numbers, the cells that it came from, what if.

import { useEffect, useRef, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Span } from "./formula.ts";
import { exactText, numberText } from "./text.ts";
import type { Key, Maker } from "./trace.ts";
import type { Why } from "./why.ts";

export interface CellProps {
  why: Why;
  makers: Maker[];
  maker: number;
  /** Whether the number is kept back (predict). */
  kept: boolean;
  recorded: number | null;
  edited: boolean;
  canMove: boolean;
  range: number;
  /** Whole numbers that may be put in are below this. */
  bound: number;
  onMaker: (maker: number) => void;
  onWalk: (key: Key) => void;
  onMove: (value: number) => void;
  onUndo: () => void;
  onReveal: () => void;
  children?: ComponentChildren;
}

export function CellPanel(props: CellProps) {
  const { why, makers, maker, kept } = props;
  const { entry } = why;
  const value = kept ? "?" : exactText(entry.value, entry.valueKind);
  const segments = why.segments.slice(0, -1);
  return (
    <section class="why" aria-label="How this number came about">
      <h3>
        <span class="head">{why.head}</span> = <output class="value" data-value>{value}</output>
      </h3>
      {props.children}
      {makers.length > 1 && (
        <div class="tabs" role="group" aria-label="Formula">
          {makers.map((m, i) => (
            <button key={i} type="button" aria-pressed={i === maker} onClick={() => props.onMaker(i)}>
              {m.op.glyph} {m.op.title}
            </button>
          ))}
        </div>
      )}
      {kept && <Predict value={entry.value} kind={entry.valueKind} cell={why.head} onReveal={props.onReveal} />}
      <div class="formula" aria-live="polite" aria-atomic="true">
        {segments.map((spans, i) => (kept && i > 0 ? null : <p key={i} class={i ? "numbers" : "symbols"}>= <Spans spans={spans} onWalk={props.onWalk} /></p>))}
        {!kept && <p class="result">= <b>{numberText(entry.value, entry.valueKind)}</b>{why.note && <span class="muted"> {why.note}</span>}</p>}
        {why.parts.length > 0 && (
          <dl class="parts">
            {why.parts.map((part) => (
              <div key={part.name}>
                <dt class="part">{part.name}</dt>
                <dd>
                  {(kept ? part.segments.slice(0, 1) : part.segments).map((spans, i) => (
                    <span key={i}>= <Spans spans={spans} onWalk={props.onWalk} /> </span>
                  ))}
                  {kept && "= ?"}
                </dd>
              </div>
            ))}
          </dl>
        )}
        {!kept && why.remarks.map((remark) => <p key={remark} class="remark">{remark}</p>)}
      </div>
      {props.canMove && !kept && entry.valueKind === "bool" && <Flip {...props} />}
      {props.canMove && !kept && entry.valueKind !== "bool" && <WhatIf key={`${entry.key.tensor} ${entry.key.at}`} {...props} />}
    </section>
  );
}

function Spans({ spans, onWalk }: { spans: Span[]; onWalk: (key: Key) => void }) {
  return (
    <>
      {spans.map(({ text, cell, part }, i) =>
        cell ? <button key={i} type="button" class="source" onClick={() => onWalk(cell)}>{text}</button>
          : part ? <span key={i} class="part">{text}</span> : text,
      )}
    </>
  );
}

/** The other truth in place of the cell's. */
function Flip({ why, edited, onMove, onUndo }: CellProps) {
  const { value } = why.entry;
  return (
    <div class="whatif">
      <button type="button" onClick={() => (edited ? onUndo() : onMove(value ? 0 : 1))}>
        What if it were {value ? "false" : "true"}
      </button>
    </div>
  );
}

/** A number in place of the cell's: by slider, or typed; whole numbers are typed. */
function WhatIf({ why, recorded, edited, range, bound, onMove, onUndo }: CellProps) {
  const { value, valueKind } = why.entry;
  const whole = valueKind === "int";
  const [typed, setTyped] = useState("");
  const [wrong, setWrong] = useState("");
  const frame = useRef(0);
  const span = Math.max(range, Math.abs(recorded ?? 0), Math.abs(value ?? 0), 1e-9) || 1;
  const move = (next: number) => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => onMove(next));
  };
  const submit = (e: Event) => {
    e.preventDefault();
    const next = Number(typed.replace("−", "-").replace("∞", "Infinity"));
    if (!typed.trim() || Number.isNaN(next)) setWrong(`“${typed.slice(0, 30)}” is no number; expected one like 0.25`);
    else if (whole && !(Number.isInteger(next) && (bound === Infinity || (next >= 0 && next < bound)))) {
      setWrong(`“${typed.slice(0, 30)}” does not fit; expected a whole number${bound < Infinity ? ` from 0 to ${bound - 1}` : ""}`);
    } else {
      setWrong("");
      onMove(next);
    }
  };
  const finite = value !== null && Number.isFinite(value) ? value : 0;
  return (
    <form class="whatif" onSubmit={submit}>
      {!whole && (
        <label>
          What if it were{" "}
          <input type="range" min={-2 * span} max={2 * span} step="any" value={String(finite)} data-slider
            aria-valuetext={numberText(value)} onInput={(e) => move(Number(e.currentTarget.value))} />
        </label>
      )}
      <label>
        <span class={whole ? "" : "sr"}>{whole ? "What if it were " : "Its number"}</span>
        <input class="number" inputMode="decimal" size={12} value={typed} placeholder={numberText(value, valueKind)} data-number
          onInput={(e) => setTyped(e.currentTarget.value)} />
      </label>
      <button type="submit">Set</button>
      {edited && <button type="button" onClick={onUndo}>Undo (was {numberText(recorded, valueKind)})</button>}
      {wrong && <p class="problem" role="alert">{wrong}</p>}
    </form>
  );
}

/** A number to be guessed: judged to the digits that were typed. */
function Predict({ value, kind, cell, onReveal }: { value: number | null; kind: string; cell: string; onReveal: () => void }) {
  const [typed, setTyped] = useState("");
  const [verdict, setVerdict] = useState("");
  useEffect(() => {
    setTyped("");
    setVerdict("");
  }, [cell]);
  const judge = (e: Event) => {
    e.preventDefault();
    setVerdict(judged(typed, value, kind));
  };
  return (
    <form class="predict" onSubmit={judge}>
      <label>
        Your number for {cell}{" "}
        <input class="number" inputMode="decimal" size={12} value={typed} data-guess autocomplete="off"
          onInput={(e) => setTyped(e.currentTarget.value)} />
      </label>
      <button type="submit">Compare</button>
      <button type="button" onClick={onReveal}>Show</button>
      <p role="status" class="verdict">{verdict}</p>
    </form>
  );
}

/** Whether a typed number is right, to as many digits as were typed. */
export function judged(typed: string, value: number | null, kind: string): string {
  const text = typed.trim().replace("−", "-");
  if (value === null) return "This number was not kept, so there is nothing to compare with.";
  if (kind === "bool") {
    if (!/^(true|false|0|1)$/i.test(text)) return "Expected true or false.";
    return /^(true|1)$/i.test(text) === Boolean(value) ? "Right." : "Not right.";
  }
  if (/^-?(inf(inity)?|∞)$/i.test(text)) {
    return value === (text.startsWith("-") ? -Infinity : Infinity) ? "Right." : "Not right.";
  }
  const guess = Number(text);
  if (!text || Number.isNaN(guess)) return `“${typed.slice(0, 30)}” is no number; expected one like 0.25.`;
  const [mantissa, power] = text.toLowerCase().split("e");
  const digits = (mantissa!.split(".")[1] ?? "").length;
  const unit = 10 ** (Number(power ?? 0) - digits);
  if (Math.abs(guess - value) <= 0.5 * unit * (1 + 1e-9)) {
    return digits ? `Right, to ${digits} ${digits === 1 ? "decimal" : "decimals"}.` : "Right, to a whole number.";
  }
  return guess < value ? "Not right: it is larger." : "Not right: it is smaller.";
}
