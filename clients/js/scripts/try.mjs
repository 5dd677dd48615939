// Gives the built client to the node's try page, which is compiled into the node. With --check it fails when the
// committed copy is not, byte by byte, what was built.

import { readFileSync, writeFileSync } from "node:fs";

const BUILT = new URL("../dist/esm/index.js", import.meta.url);
const COPY = new URL("../../../src/http/console/try/client.js", import.meta.url);

if (!process.argv.includes("--check")) {
  writeFileSync(COPY, readFileSync(BUILT));
} else if (!readFileSync(COPY).equals(readFileSync(BUILT))) {
  console.error("src/http/console/try/client.js differs from the build: run npm run build and npm run try");
  process.exitCode = 1;
}
