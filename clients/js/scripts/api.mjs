// Writes docs/api.md from the published types. With --check it fails if the page differs.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = `${ROOT}docs/api.md`;
const ENTRIES = {
  "@carillon/client": "index",
  "@carillon/client/emitter": "emitter",
  "@carillon/client/react": "react",
};

const INTRODUCTION = `# API of @carillon/client

Generated from the types by \`npm run api\`. The [README](../README.md) explains how to use it.

**A condition is a filter, not a permission.** The client chooses it, so it protects nothing. The broker's page
\`docs/security.md\` says how to secure events.
`;

function textOf(declaration) {
  const source = declaration.getSourceFile();
  const statement = ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration;
  const text = source.text.slice(statement.getStart(source), statement.getEnd());
  return text.replace(/^export (declare )?/, "").replace(/^\s*#private;\n/m, "").trim();
}

function sectionOf(symbol, checker) {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const doc = ts.displayPartsToString(target.getDocumentationComment(checker)).replace(/\{@link (\w+)[^}]*\}/g, "`$1`");
  const code = target.declarations.map(textOf).join("\n\n");
  return `### ${symbol.name}\n\n${doc ? `${doc}\n\n` : ""}\`\`\`ts\n${code}\n\`\`\`\n`;
}

const files = Object.fromEntries(Object.entries(ENTRIES).map(([name, file]) => [name, `${ROOT}dist/esm/${file}.d.ts`]));
const program = ts.createProgram(Object.values(files), {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts"],
  types: [],
});
const checker = program.getTypeChecker();
let page = INTRODUCTION;
for (const [name, file] of Object.entries(files)) {
  const entry = checker.getSymbolAtLocation(program.getSourceFile(file));
  const symbols = checker.getExportsOfModule(entry).sort((a, b) => (a.name < b.name ? -1 : 1));
  page += `\n## ${name}\n\n${symbols.map((symbol) => sectionOf(symbol, checker)).join("\n")}`;
}

if (!process.argv.includes("--check")) {
  writeFileSync(PAGE, page);
} else if (readFileSync(PAGE, "utf8") !== page) {
  console.error("docs/api.md does not match the types: run npm run api");
  process.exitCode = 1;
}
