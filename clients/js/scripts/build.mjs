// Builds dist/: one file for each entry and module system, the types beside it, and one file for a script tag.

import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const ROOT = new URL("..", import.meta.url).pathname;
process.chdir(ROOT);
rmSync("dist", { recursive: true, force: true });
cpSync("../../LICENSE", "LICENSE");

/**
 * Names that the files of the client use among themselves, to be shortened. No name of the published API is like them.
 */
const INTERNAL = /^(on[A-Z]\w*|handlers|endAll|forgetListeners|abandon|probe|cancel|rate|duration|retryAfter)$/;

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

const client = partsOf(readFileSync("dist/esm/index.js", "utf8"));
writeFileSync("dist/cjs/index.js", commonJs(client));
writeFileSync("dist/carillon.min.js", scriptTag(client));

/** The code of a module that imports nothing, and its exports as pairs of public name and local name. */
function partsOf(module) {
  const [exported, names] = /export\{([^}]*)\};\n$/.exec(module);
  const exports = names.split(",").map((name) => name.split(" as ").reverse());
  return { code: module.slice(0, -exported.length), exports };
}

/** CommonJS without the helpers of esbuild, which are a thirtieth of the client's size. */
function commonJs({ code, exports }) {
  const head = '"use strict";Object.defineProperty(exports,"__esModule",{value:!0});';
  return `${head}${code}${exports.map(([name, local]) => `exports.${name}=${local};`).join("")}\n`;
}

/** A script whose only global is the class `Carillon`. */
function scriptTag({ code, exports }) {
  return `"use strict";var Carillon=(()=>{${code}return ${Object.fromEntries(exports).Carillon}})();\n`;
}

execFileSync("node_modules/.bin/tsc", ["--emitDeclarationOnly", "--outDir", "dist/esm"], { stdio: "inherit" });
const types = readdirSync("dist/esm").filter((name) => name.endsWith(".d.ts"));
for (const name of types) cpSync(`dist/esm/${name}`, `dist/cjs/${name}`);
