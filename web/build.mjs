// Builds the page's script and style sheet into dumps/page/, the same bytes each time.
//     node build.mjs            writes page.js, loader.js, page.css and page.LICENSES.txt
//     node build.mjs --into FOLDER        the same into another folder
//     node build.mjs --test FILE.mjs     writes the pure parts and what asks them, for Node
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const into = process.argv.indexOf("--into");
const room = into > 0 ? process.argv[into + 1] : join(here, "..", "dumps", "page");
const common = { absWorkingDir: here, bundle: true, logLevel: "warning", legalComments: "none", charset: "utf8" };

if (process.argv.includes("--test")) {
  await build({
    ...common, entryPoints: ["test/node.ts"], outfile: process.argv.at(-1), format: "esm", platform: "node",
  });
} else {
  await build({
    ...common, entryPoints: ["src/main.tsx"], outfile: join(room, "page.js"), format: "iife",
    minify: true, target: "es2022",
  });
  await build({
    ...common, entryPoints: ["src/loader.ts"], outfile: join(room, "loader.js"), format: "iife",
    minify: true, target: "es2022",
  });
  await build({ ...common, entryPoints: ["src/page.css"], outfile: join(room, "page.css"), minify: true, target: "es2022" });
  const notice = readFileSync(join(here, "node_modules", "preact", "LICENSE"), "utf8").trim();
  const erf = readFileSync(join(here, "src", "numbers.ts"), "utf8").match(/Copyright \(C\) 1993[\s\S]*?preserved\./)[0].replace(/\n \* +/g, "\n");
  writeFileSync(
    join(room, "page.LICENSES.txt"),
    `page.js contains Preact (https://preactjs.com):\n\n${notice}\n\nand an error function after FreeBSD's s_erf.c:\n\n${erf}\n`,
  );
}
