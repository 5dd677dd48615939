// The client in a worker.

import { Carillon } from "/client.js";

const url = new URLSearchParams(location.search).get("url");
const carillon = new Carillon(url, { tokens: async () => (await fetch("/tokens")).json() });
const orders = carillon.subscribe("orders");
orders.on("registered", () => postMessage("registered"));
orders.on("notification", (data) => postMessage(data));
