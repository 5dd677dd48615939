// Compares Carillon's conditions with mingo, an independent implementation of MongoDB's query language, on the cases of
// tests/conditions/cases.jsonl. The list of differences with reasons is tests/conditions/differences.jsonl. A
// difference that is not listed fails, and so does a listed difference that no longer exists.
//
// MATCH_LINES is the path of the built example `match_lines`. Without it, cargo builds and runs the example.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Query } from "mingo";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const lines = (name) =>
  readFileSync(join(root, "tests", "conditions", name), "utf8").split("\n").filter(Boolean);

// The raw text of criteria and data identifies a case. Parsed numbers would lose digits.
const key = (line, next) => line.slice(0, line.lastIndexOf(`,"${next}":`));

function askMingo({ criteria, data }) {
  try {
    return String(new Query(criteria).test(data));
  } catch {
    return "error";
  }
}

function askOurs(cases) {
  const [command, args] = process.env.MATCH_LINES
    ? [process.env.MATCH_LINES, []]
    : ["cargo", ["run", "-q", "--example", "match_lines", "-p", "carillon-actors"]];
  const run = spawnSync(command, args, { cwd: root, input: cases.join("\n") + "\n", encoding: "utf8" });
  if (run.status !== 0) throw new Error(`${command} failed: ${run.stderr ?? run.error}`);
  const answers = run.stdout.trimEnd().split("\n");
  if (answers.length !== cases.length) throw new Error(`${answers.length} answers to ${cases.length} cases`);
  return answers.map((answer) => answer.split(" ")[0]);
}

const cases = lines("cases.jsonl");
const listed = new Map(lines("differences.jsonl").map((line) => [key(line, "ours"), JSON.parse(line)]));
const ours = askOurs(cases);
const failures = [];
cases.forEach((line, at) => {
  const name = key(line, "note");
  const mingo = askMingo(JSON.parse(line));
  const difference = listed.get(name);
  listed.delete(name);
  if (ours[at] === mingo && difference) failures.push(`listed, but no longer a difference: ${name}`);
  if (ours[at] !== mingo && !difference) failures.push(`ours ${ours[at]}, mingo ${mingo}: ${line}`);
  if (difference && (difference.ours !== ours[at] || !difference.reason))
    failures.push(`listed as ${difference.ours}, ours ${ours[at]}: ${name}`);
});
for (const name of listed.keys()) failures.push(`a listed difference without a case: ${name}`);
for (const failure of failures) console.error(failure);
console.log(`${cases.length - failures.length} passed, ${failures.length} failed`);
process.exitCode = failures.length ? 1 : 0;
