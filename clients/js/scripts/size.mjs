// Says what each entry weighs, compressed as servers do, and fails past its limit.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

/** In bytes after gzip. A browser loads the first, a React page the last beside it, a backend the emitter. */
const LIMITS = { index: 6_000, emitter: 2_000, react: 1_000 };

for (const [entry, limit] of Object.entries(LIMITS)) {
  for (const format of ["esm", "cjs"]) {
    const size = gzipSync(readFileSync(new URL(`../dist/${format}/${entry}.js`, import.meta.url)), { level: 9 }).length;
    console.log(`dist/${format}/${entry}.js: ${size} of ${limit} bytes`);
    if (size > limit) process.exitCode = 1;
  }
}
