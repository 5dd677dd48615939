import type { Tokens } from "./tokens.js";

/** The members of a WebSocket that the client uses, in browsers, in Node and in the package `ws`. */
export interface WebSocketLike {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onmessage: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
}

/** A WebSocket class. */
export type WebSocketConstructor = new (url: string, protocols?: any, options?: any) => WebSocketLike;

/** What the package `ws` has in addition to a browser's socket. */
interface NodeSocket {
  on?(name: "ping", listener: () => void): void;
  on?(name: "unexpected-response", listener: (request: unknown, response: NodeResponse) => void): void;
  terminate?(): void;
}

interface NodeResponse {
  statusCode: number;
  headers: Record<string, string | undefined>;
}

const SUBPROTOCOL = "carillon.v1";

/** Opens a socket. Tokens are sent as subprotocols, or in headers with the package `ws`, but never in the URL. */
export function openSocket(Socket: WebSocketConstructor, url: string, tokens: Tokens, headers: boolean): WebSocketLike {
  if (!headers) return new Socket(url, [SUBPROTOCOL, `api.${tokens.api}`, `user.${tokens.user}`]);
  return new Socket(url, [SUBPROTOCOL], { headers: wireTokens(tokens) });
}

/** The tokens by their header names. */
export function wireTokens(tokens: Tokens): Record<string, string> {
  return { "x-am-authorization": tokens.api, "x-am-user-authorization": tokens.user };
}

/** Listens to the events that only the package `ws` has: pings, and the answer to a refused handshake. */
export function listenToNodeSocket(
  socket: WebSocketLike,
  onPing: () => void,
  onRefused: (status: number, retryAfter: string | undefined) => void,
): void {
  const node = socket as NodeSocket;
  node.on?.("ping", onPing);
  node.on?.("unexpected-response", (_, { statusCode, headers }) => {
    onRefused(statusCode, headers["retry-after"]);
    node.terminate?.();
  });
}

/** Closes a socket and ignores its events, without waiting for the peer. */
export function abandonSocket(socket: WebSocketLike): void {
  socket.onmessage = socket.onclose = null;
  socket.onerror = () => {}; // `ws` throws errors that have no listener
  const { terminate } = socket as NodeSocket;
  if (terminate) terminate.call(socket);
  else socket.close();
}
