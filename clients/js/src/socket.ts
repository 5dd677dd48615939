import type { Tokens } from "./tokens.js";

/** The part of a WebSocket that is used: that of browsers, of Node, of the package `ws`. */
export interface WebSocketLike {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onmessage: ((event: any) => void) | null;
  onclose: ((event: any) => void) | null;
  onerror: ((event: any) => void) | null;
}

/** What makes WebSockets. */
export type WebSocketConstructor = new (url: string, protocols?: any, options?: any) => WebSocketLike;

/** What the package `ws` has beyond a browser's socket. */
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

/** Opens a socket. The tokens travel as subprotocols, never in the URL; or in headers, which the package `ws` can send. */
export function openSocket(Socket: WebSocketConstructor, url: string, tokens: Tokens, headers: boolean): WebSocketLike {
  if (!headers) return new Socket(url, [SUBPROTOCOL, `api.${tokens.api}`, `user.${tokens.user}`]);
  return new Socket(url, [SUBPROTOCOL], { headers: wireTokens(tokens) });
}

/** The tokens by their names on the wire. */
export function wireTokens(tokens: Tokens): Record<string, string> {
  return { "x-am-authorization": tokens.api, "x-am-user-authorization": tokens.user };
}

/** Hears what only the package `ws` tells: pings, and the answer to a refused handshake. */
export function hearNodeSocket(
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

/** Leaves a socket for good, without waiting for its peer. */
export function abandonSocket(socket: WebSocketLike): void {
  socket.onmessage = socket.onclose = null;
  socket.onerror = () => {}; // `ws` throws the errors that nobody hears
  const { terminate } = socket as NodeSocket;
  if (terminate) terminate.call(socket);
  else socket.close();
}
