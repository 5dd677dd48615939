// Builds dist/: one file for each entry and module system, and the types beside it.

import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const ROOT = new URL("..", import.meta.url).pathname;
process.chdir(ROOT);
rmSync("dist", { recursive: true, force: true });

/** Names of what the files of the client call among themselves, made short; no name of the published API is like them. */
const INTERNAL = /^(on[A-Z]\w*|owner|endAll|forgetListeners|abandon|probe|pace|lasted|retryAfter)$/;

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
  await build({ ...options, entryPoints: ["src/index.ts"], mangleProps: INTERNAL });
  await build({ ...options, entryPoints: ["src/emitter.ts", "src/react.ts"] });
  writeFileSync(`dist/${folder}/package.json`, `{"type":"${type}"}\n`);
}

execFileSync("node_modules/.bin/tsc", ["--emitDeclarationOnly", "--outDir", "dist/esm"], { stdio: "inherit" });
const types = readdirSync("dist/esm").filter((name) => name.endsWith(".d.ts"));
for (const name of types) cpSync(`dist/esm/${name}`, `dist/cjs/${name}`);
