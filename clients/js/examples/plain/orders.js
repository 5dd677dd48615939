// Shows the orders of one person and their changes. `npm run example` serves it beside a node.

import { Carillon } from "/client.js";

/** Your backend knows the logged-in person and signs both tokens. */
async function tokens() {
  const response = await fetch("/tokens");
  if (response.status === 401) return null; // logged out: the client stops
  if (!response.ok) throw new Error(`the backend answered ${response.status}`);
  return response.json();
}

function show(order) {
  const line = document.createElement("li");
  line.textContent = `${order.order_no}: ${order.status}`;
  document.querySelector("#orders").append(line);
}

/** Your own way to fetch the state. Notifications bring its changes. */
async function fetchOrders() {
  const list = await (await fetch("/orders")).json();
  // In one step, because another fetch, after a gap, may run at the same time.
  document.querySelector("#orders").replaceChildren();
  list.forEach(show);
}

const { url } = await (await fetch("/broker")).json();
const carillon = new Carillon(url, { tokens });
carillon.on("state", ({ status, willRetry }) => {
  document.querySelector("#state").textContent = status === "disconnected" && !willRetry ? "logged out" : status;
});

// A condition is a filter, not a permission: docs/security.md says how to secure events.
const orders = carillon.subscribe("order-updates", {
  condition: { recipientId: "u42" },
  select: { order_no: 1, status: 1 },
});
orders.on("registered", fetchOrders);
orders.on("notification", show);
orders.on("gap", fetchOrders);
orders.on("refused", (error) => console.error(error.code, error.message));
