import type { CarillonError } from "./errors.js";
import type { WebSocketConstructor } from "./socket.js";
import type { TokenSource } from "./tokens.js";

export interface CarillonOptions {
  /** Fetches both tokens. Called at the first connection, before they end, and when the node does not take them. */
  tokens: TokenSource;
  /** What makes WebSockets, where there is no global one: the default export of the package `ws` in Node 20. */
  WebSocket?: WebSocketConstructor;
  /** Sends the tokens in headers instead of subprotocols: with the package `ws` only. */
  headers?: boolean;
  /** Parses messages in place of `JSON.parse`, such as one that keeps all digits of numbers. */
  parse?: (text: string) => unknown;
  /** Closes the client. */
  signal?: AbortSignal;
}

/** Why there is no connection. */
export interface DisconnectReason {
  /** The close code; 1006 where there was no goodbye. */
  closeCode: number;
  /** What the node, or this client, says of it. */
  message: string;
  /** The refusal of the tokens, or what `tokens()` threw. */
  error?: CarillonError;
}

export type ConnectionState =
  | { readonly status: "connecting" }
  | { readonly status: "connected"; readonly sessionId: string; readonly node: string }
  | {
      readonly status: "disconnected";
      readonly reason: DisconnectReason;
      /** `false`: it is over, make a new client. */
      readonly willRetry: boolean;
      /** When it is tried again at the latest, in milliseconds since 1970. */
      readonly retryAt?: number;
    };

export interface CarillonEvents {
  /** Any of the next three. */
  state: (state: ConnectionState) => void;
  connecting: () => void;
  connected: (session: { sessionId: string; node: string }) => void;
  disconnected: (reason: DisconnectReason, willRetry: boolean) => void;
  /** Trouble that the connection outlives, such as tokens that could not be renewed yet. */
  problem: (error: CarillonError) => void;
}
