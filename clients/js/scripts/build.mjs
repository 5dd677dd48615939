// Builds dist/: one file for each entry and module system, and the types beside it.

import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";

const ROOT = new URL("..", import.meta.url).pathname;
process.chdir(ROOT);
rmSync("dist", { recursive: true, force: true });

for (const [format, folder, type] of [["esm", "esm", "module"], ["cjs", "cjs", "commonjs"]]) {
  await build({
    entryPoints: ["src/index.ts", "src/emitter.ts", "src/react.ts"],
    outdir: `dist/${folder}`,
    bundle: true,
    packages: "external",
    format,
    target: "es2022",
    minify: true,
    platform: "neutral",
    legalComments: "none",
  });
  writeFileSync(`dist/${folder}/package.json`, `{"type":"${type}"}\n`);
}

execFileSync("node_modules/.bin/tsc", ["--emitDeclarationOnly", "--outDir", "dist/esm"], { stdio: "inherit" });
const types = readdirSync("dist/esm").filter((name) => name.endsWith(".d.ts"));
for (const name of types) cpSync(`dist/esm/${name}`, `dist/cjs/${name}`);
