// Checks the package as npm would publish it: what is in it, where its pages link, how it resolves, whether its types
// fit.
//
// npm run package -- --pack FOLDER also leaves the tarball in that folder.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, posix, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGES = ["CHANGELOG.md", "README.md", "docs/api.md"];
const OTHERS = [...PAGES, "LICENSE", "package.json", "dist/carillon.min.js"];

/** dist/ may hold these and no others. */
const BUILT = /^dist\/(esm|cjs)\/(\w+\.d\.ts|(index|emitter|react)\.js|package\.json)$/;

/** Links of a page that lead neither to the web, nor to a heading of the page, nor to a file of the package. */
function deadLinks(page, paths) {
  const targets = [...readFileSync(join(ROOT, page), "utf8").matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
  const local = targets.filter((target) => !/^(https?:|#)/.test(target)).map((target) => target.split("#")[0]);
  const dead = local.filter((target) => !paths.includes(posix.join(posix.dirname(page), target)));
  return dead.map((target) => `${page}: ${target}`);
}

const folder = mkdtempSync(join(tmpdir(), "carillon-package-"));
try {
  const options = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const answer = JSON.parse(execFileSync("npm", options, { cwd: ROOT, encoding: "utf8" }));
  const packed = Array.isArray(answer) ? answer[0] : Object.values(answer)[0];
  const paths = packed.files.map(({ path }) => path);
  const unexpected = paths.filter((path) => !BUILT.test(path) && !OTHERS.includes(path));
  const missing = OTHERS.filter((path) => !paths.includes(path));
  if (unexpected.length || missing.length) throw new Error(`in the package: ${unexpected}; not in it: ${missing}`);
  const dead = PAGES.flatMap((page) => deadLinks(page, paths));
  if (dead.length) throw new Error(`links to files that are not in the package: ${dead.join(", ")}`);
  const tarball = join(folder, packed.filename.replace("@", "").replace("/", "-"));
  console.log(`${paths.length} files, ${packed.size} bytes`);
  const run = (program, ...options) => {
    execFileSync(join(ROOT, "node_modules/.bin", program), options, { cwd: ROOT, stdio: "inherit" });
  };
  run("publint", "--strict", tarball);
  run("attw", tarball, "--no-emoji", "--format", "table-flipped");
  const destination = process.argv[2] === "--pack" ? resolve(process.env.INIT_CWD ?? ".", process.argv[3]) : undefined;
  if (destination) copyFileSync(tarball, join(destination, basename(tarball)));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
