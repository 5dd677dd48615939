// A program that renders a page as a server does.

import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { Carillon } from "@carillon/client";
import { useConnection, useSubscription } from "@carillon/client/react";

delete globalThis.WebSocket; // Node 22 has one

const carillon = new Carillon("wss://ws.example.com", {
  tokens() {
    throw new Error("a server has no tokens of a user");
  },
});
carillon.on("disconnected", ({ error }) => console.log(error.code));

function Page() {
  const { status } = useConnection(carillon);
  const { state } = useSubscription(carillon, "orders");
  return createElement("p", null, `${status} ${state}`);
}

console.log(renderToString(createElement(Page)));
