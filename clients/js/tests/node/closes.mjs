// A program that closes its clients. It must end by itself.

import WebSocket from "ws";
import { Carillon } from "@carillon/client";

const [url, api, user] = process.argv.slice(2);
const client = (tokens) => new Carillon(url, { WebSocket, tokens });
const waiting = client(() => new Promise(() => {}));
const connected = client(() => ({ api, user }));
connected.subscribe("orders").on("registered", async () => {
  const opening = client(() => ({ api, user }));
  await Promise.resolve(); // its tokens are fetched, its socket is opening
  await Promise.all([connected.close(), waiting.close(), opening.close()]);
  console.log("closed");
});
