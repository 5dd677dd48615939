export { Carillon } from "./carillon.js";
export type { CarillonEvents, CarillonOptions, ConnectionState, DisconnectReason } from "./connection_state.js";
export { CarillonError } from "./errors.js";
export { Events } from "./events.js";
export type { Listeners } from "./events.js";
export type { WebSocketConstructor, WebSocketLike } from "./socket.js";
export { Subscription } from "./subscription.js";
export type {
  EndReason,
  NotificationMeta,
  SubscriptionEvents,
  SubscriptionOptions,
  SubscriptionState,
} from "./subscription.js";
export type { Tokens, TokenSource } from "./tokens.js";
