// Finding a tensor by name, also inside closed boxes: a text field with a list below it.

import { useState } from "preact/hooks";
import type { Trace } from "./trace.ts";

const MOST = 12;

export function Search({ trace, onChoose }: { trace: Trace; onChoose: (tensor: number) => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [open, setOpen] = useState(false);
  const found = open ? matches(trace, text) : [];
  const choose = (tensor: number | undefined) => {
    if (tensor === undefined) return;
    setOpen(false);
    setText("");
    onChoose(tensor);
  };
  const keys = (e: KeyboardEvent) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      const step = e.key === "ArrowDown" ? 1 : -1;
      setAt((found.length + at + step) % Math.max(1, found.length));
    } else if (e.key === "Enter") {
      e.preventDefault();
      choose(found[at]);
    } else if (e.key === "Escape") setOpen(false);
  };
  return (
    <div class="search">
      <input type="text" role="combobox" aria-label="Find a tensor" placeholder="Find a tensor" value={text} aria-expanded={found.length > 0}
        aria-controls="found" aria-autocomplete="list" aria-activedescendant={found.length ? `found-${at}` : undefined} autocomplete="off"
        onInput={(e) => { setText(e.currentTarget.value); setAt(0); setOpen(true); }} onKeyDown={keys}
        onBlur={() => setOpen(false)} />
      <ul id="found" role="listbox" aria-label="Tensors" hidden={!found.length}>
        {found.map((tensor, i) => (
          <li key={tensor} id={`found-${i}`} role="option" aria-selected={i === at} onMouseDown={(e) => { e.preventDefault(); choose(tensor); }}>
            {trace.tensor(tensor).name} <span class="muted">{trace.opOf(tensor).title} · {trace.describe(tensor)}</span>
          </li>
        ))}
      </ul>
      <span class="sr" role="status">{open && text ? (found.length ? `${found.length} found` : "no tensor of that name") : ""}</span>
    </div>
  );
}

/** Tensors whose name holds all the words, those that end so first. */
export function matches(trace: Trace, text: string): number[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const ranked = trace.contents.tensors
    .map((tensor, place) => ({ place, name: tensor.name.toLowerCase(), also: trace.opOf(place).title.toLowerCase() }))
    .filter(({ name, also }) => words.every((word) => name.includes(word) || also.includes(word)))
    .map(({ place, name }) => ({ place, rank: (name.endsWith(words.at(-1)!) ? 0 : 1000) + name.length }));
  return ranked.sort((a, b) => a.rank - b.rank || a.place - b.place).slice(0, MOST).map(({ place }) => place);
}
