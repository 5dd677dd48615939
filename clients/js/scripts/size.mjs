// Prints the size of each entry, compressed as servers do, and fails above its limit.

import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

/** In bytes after gzip. A browser loads `index` or `carillon.min`, a React page also `react`, a backend `emitter`. */
const LIMITS = {
  "esm/index": 6_000,
  "cjs/index": 6_000,
  "carillon.min": 6_000,
  "esm/emitter": 2_000,
  "cjs/emitter": 2_000,
  "esm/react": 1_000,
  "cjs/react": 1_000,
};

for (const [entry, limit] of Object.entries(LIMITS)) {
  const size = gzipSync(readFileSync(new URL(`../dist/${entry}.js`, import.meta.url)), { level: 9 }).length;
  console.log(`dist/${entry}.js: ${size} of ${limit} bytes`);
  if (size > limit) process.exitCode = 1;
}
