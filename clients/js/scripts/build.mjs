// Builds dist/: one file for each entry and module system, and the types beside it.

import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const ROOT = new URL("..", import.meta.url).pathname;
process.chdir(ROOT);
rmSync("dist", { recursive: true, force: true });

/** Names of what the files of the client call among themselves, made short; no name of the published API is like them. */
const INTERNAL = /^(on[A-Z]\w*|owner|endAll|forgetListeners|abandon|probe|cancel|pace|lasted|retryAfter)$/;

for (const [format, folder, type] of [["esm", "esm", "module"], ["cjs", "cjs", "commonjs"]]) {
  const options = {
    outdir: `dist/${folder}`,
    bundle: true,
    packages: "external",
    format,
    target: "es2022",
    minify: true,
    platform: "neutral",
    legalComments: "none",
  };
  if (format === "esm") await build({ ...options, entryPoints: ["src/index.ts"], mangleProps: INTERNAL });
  await build({ ...options, entryPoints: ["src/emitter.ts", "src/react.ts"] });
  writeFileSync(`dist/${folder}/package.json`, `{"type":"${type}"}\n`);
}

writeFileSync("dist/cjs/index.js", commonJs(readFileSync("dist/esm/index.js", "utf8")));

/** A module that imports nothing, as CommonJS: without the helpers of esbuild, which weigh a thirtieth of the client. */
function commonJs(module) {
  const [exported, names] = /export\{([^}]*)\};\n$/.exec(module);
  const members = names.split(",").map((name) => name.replace(/(\S+) as (\S+)/, "exports.$2=$1"));
  const head = '"use strict";Object.defineProperty(exports,"__esModule",{value:!0});';
  return `${head}${module.slice(0, -exported.length)}${members.join(";")};\n`;
}

execFileSync("node_modules/.bin/tsc", ["--emitDeclarationOnly", "--outDir", "dist/esm"], { stdio: "inherit" });
const types = readdirSync("dist/esm").filter((name) => name.endsWith(".d.ts"));
for (const name of types) cpSync(`dist/esm/${name}`, `dist/cjs/${name}`);
