// Looks at the package as npm would publish it: what is in it, how it resolves, whether its types fit.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const OTHERS = ["CHANGELOG.md", "README.md", "docs/api.md", "package.json"];

/** dist/ may hold these and no others. */
const BUILT = /^dist\/(esm|cjs)\/(\w+\.d\.ts|(index|emitter|react)\.js|package\.json)$/;

const folder = mkdtempSync(join(tmpdir(), "carillon-package-"));
try {
  const words = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const answer = JSON.parse(execFileSync("npm", words, { cwd: ROOT, encoding: "utf8" }));
  const packed = Array.isArray(answer) ? answer[0] : Object.values(answer)[0];
  const paths = packed.files.map(({ path }) => path);
  const strange = paths.filter((path) => !BUILT.test(path) && !OTHERS.includes(path));
  const missing = OTHERS.filter((path) => !paths.includes(path));
  if (strange.length || missing.length) throw new Error(`in the package: ${strange}; not in it: ${missing}`);
  const tarball = join(folder, packed.filename.replace("@", "").replace("/", "-"));
  console.log(`${paths.length} files, ${packed.size} bytes`);
  const run = (program, ...args) => execFileSync(join(ROOT, "node_modules/.bin", program), args, { cwd: ROOT, stdio: "inherit" });
  run("publint", "--strict", tarball);
  run("attw", tarball, "--no-emoji", "--format", "table-flipped");
} finally {
  rmSync(folder, { recursive: true, force: true });
}
