// Serves an example beside a node: `npm run example -- plain` or `npm run example -- react`. Stands in for your
// backend.
//
// Reads CARILLON_URL, API_TOKEN and USER_TOKEN: `eval "$(carillon token env)"` sets the tokens.

import { build } from "esbuild";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";

const POLICY = "default-src 'none'; script-src 'self'; connect-src 'self' ws: wss:; base-uri 'none'";

/** The files of an example by path, built if needed. */
export async function filesOf(example) {
  const folder = new URL(`${example}/`, import.meta.url);
  const files = { "/": await readFile(new URL("index.html", folder)) };
  if (example === "plain") {
    files["/orders.js"] = await readFile(new URL("orders.js", folder));
    files["/client.js"] = await readFile(new URL("../dist/esm/index.js", import.meta.url));
    return files;
  }
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("orders.tsx", folder))],
    bundle: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
  });
  files["/orders.js"] = outputFiles[0].text;
  return files;
}

/** A server that answers as the backend of the examples would, until it is closed. */
export async function serveExample(example, { url, tokens, port = 0 }) {
  const files = await filesOf(example);
  const answers = {
    "/broker": () => ({ url }),
    "/tokens": tokens,
    "/orders": () => [{ order_no: 1000, status: "OPEN" }],
  };
  const server = createServer(async (request, response) => {
    response.setHeader("content-security-policy", POLICY);
    const { pathname } = new URL(request.url, "http://x");
    if (pathname in answers) {
      response.setHeader("content-type", "application/json");
      return response.end(JSON.stringify(await answers[pathname]()));
    }
    if (!(pathname in files)) return response.writeHead(404).end();
    response.setHeader("content-type", pathname === "/" ? "text/html" : "text/javascript");
    response.end(files[pathname]);
  });
  await new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { CARILLON_URL: url = "http://127.0.0.1:8080", API_TOKEN: api, USER_TOKEN: user } = process.env;
  const server = await serveExample(process.argv[2] ?? "plain", { url, tokens: () => ({ api, user }), port: 8090 });
  console.log(`http://127.0.0.1:${server.address().port}`);
}
