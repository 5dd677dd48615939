// Shows the orders of one person and their changes, in React. `npm run example -- react` builds it and serves it beside
// a node.

import { Carillon } from "@carillon/client";
import { useConnection, useSubscription } from "@carillon/client/react";
import { StrictMode, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

interface Order {
  order_no: number;
  status: string;
}

/** Your backend knows the logged-in person and signs both tokens. */
async function tokens() {
  const response = await fetch("/tokens");
  if (response.status === 401) return null; // logged out: the client stops
  if (!response.ok) throw new Error(`the backend answered ${response.status}`);
  return response.json();
}

function Orders({ carillon, recipientId }: { carillon: Carillon; recipientId: string }) {
  const connection = useConnection(carillon);
  const [orders, setOrders] = useState<Order[]>([]);
  // A condition is a filter, not a permission: docs/security.md says how to secure events.
  const { state, gaps, error } = useSubscription<Order>(carillon, "order-updates", {
    condition: { recipientId },
    select: { order_no: 1, status: 1 },
    onNotification: (order) => setOrders((orders) => [...orders, order]),
  });
  useEffect(() => {
    // Your own way to fetch the state: first when the subscription is registered, again after a gap.
    if (state === "registered") void fetch("/orders").then(async (response) => setOrders(await response.json()));
  }, [state, gaps]);
  if (error) return <p>{error.message}</p>;
  return (
    <>
      <p id="state">{connection?.status}</p>
      <ul id="orders">
        {orders.map((order, index) => (
          <li key={index}>{`${order.order_no}: ${order.status}`}</li>
        ))}
      </ul>
    </>
  );
}

const { url } = await (await fetch("/broker")).json();
const carillon = new Carillon(url, { tokens });
createRoot(document.querySelector("#root")!).render(
  <StrictMode>
    <Orders carillon={carillon} recipientId="u42" />
  </StrictMode>,
);
