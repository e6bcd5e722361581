// Puts the page's style and script in: they lie packed in the data block, and the policy knows their hashes.

import { inflate } from "./base85.ts";

async function load(): Promise<void> {
  const packed = JSON.parse(document.getElementById("data")!.textContent!) as Record<"style" | "script", string>;
  for (const kind of ["style", "script"] as const) {
    const element = document.createElement(kind);
    element.textContent = new TextDecoder().decode(await inflate(packed[kind]));
    document.body.append(element);
  }
}

load().catch((error: unknown) => {
  document.getElementById("page")!.textContent = `This page cannot be shown by this browser: ${String(error)}`;
});
