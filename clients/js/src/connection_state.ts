import type { CarillonError } from "./errors.js";
import type { WebSocketConstructor } from "./socket.js";
import type { TokenSource } from "./tokens.js";

export interface CarillonOptions {
  /** Fetches both tokens. Called for the first connection, before they expire, and when the node refuses them. */
  tokens: TokenSource;
  /** The WebSocket class, if there is no global one: the default export of the package `ws` in Node 20. */
  WebSocket?: WebSocketConstructor;
  /** Sends the tokens in headers instead of subprotocols. Works with the package `ws` only. */
  headers?: boolean;
  /** Parses messages instead of `JSON.parse`. Use one that keeps all digits of numbers if you need them. */
  parse?: (text: string) => unknown;
  /** Closes the client. */
  signal?: AbortSignal;
}

/** Why there is no connection. */
export interface DisconnectReason {
  /** The close code; 1006 if the connection broke without a close frame. */
  closeCode: number;
  /** The cause, in the words of the node or of this client. */
  message: string;
  /** The error, if there is one: refused tokens, a failure of `tokens()`, a WebSocket that could not be opened. */
  error?: CarillonError;
}

export type ConnectionState =
  | { readonly status: "connecting" }
  | { readonly status: "connected"; readonly sessionId: string; readonly node: string }
  | {
      readonly status: "disconnected";
      readonly reason: DisconnectReason;
      /** `false`: the client has stopped. Create a new one. */
      readonly willRetry: boolean;
      /** The latest time of the next attempt, in milliseconds since 1970. */
      readonly retryAt?: number;
    };

export interface CarillonEvents {
  /** Any of the next three. */
  state: (state: ConnectionState) => void;
  connecting: () => void;
  connected: (session: { sessionId: string; node: string }) => void;
  disconnected: (reason: DisconnectReason, willRetry: boolean) => void;
  /** An error that does not end the connection, such as a renewal of tokens that failed. */
  problem: (error: CarillonError) => void;
}
