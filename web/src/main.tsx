// Reads the page's data block and puts the page in the place of what is shown without scripts.

import { render } from "preact";
import { App } from "./app.tsx";
import type { Packed } from "./contract.ts";
import { unpack } from "./decode.ts";
import { Trace } from "./trace.ts";

async function start(): Promise<void> {
  const place = document.getElementById("page")!;
  try {
    const packed = JSON.parse(document.getElementById("data")!.textContent!) as Packed;
    const unpacked = await unpack(packed);
    const trace = new Trace(unpacked);
    place.textContent = "";
    render(<App trace={trace} notes={[...unpacked.contents.notes, ...(packed.left ?? [])]} />, place);
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  } catch (error) {
    place.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    throw error;
  }
}

void start();
