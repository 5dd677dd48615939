// A component whose properties the test sets.

import { Carillon } from "@carillon/client";
import { useConnection, useSubscription } from "@carillon/client/react";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";

interface Properties {
  recipientId: string;
  enabled?: boolean;
  hasClient?: boolean;
}

const scope = window as unknown as Record<string, unknown>;
const received: unknown[] = [];
let renderings = 0;

const url = new URLSearchParams(location.search).get("url")!;
const carillon = new Carillon(url, { tokens: async () => (await fetch("/tokens")).json() });

function Orders({ recipientId, enabled = true, hasClient = true }: Properties) {
  renderings++;
  const client = hasClient ? carillon : null;
  const connection = useConnection(client);
  const view = useSubscription<{ n: number }>(client, "orders", {
    condition: { recipientId },
    enabled,
    onNotification: ({ n }) => received.push(`${recipientId} ${n}`),
    onGap: (reason) => received.push(reason),
  });
  scope.view = { connection: connection?.status ?? null, state: view.state, n: view.data?.n ?? null, gaps: view.gaps, error: view.error?.code ?? null };
  return null;
}

function Root() {
  const [properties, setProperties] = useState<Properties | null>({ recipientId: "u1" });
  scope.setProperties = setProperties;
  return properties && <Orders {...properties} />;
}

Object.assign(scope, { received, countRenderings: () => renderings });
createRoot(document.body).render(
  <StrictMode>
    <Root />
  </StrictMode>,
);
