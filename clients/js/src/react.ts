/** Hooks for React 18 and later. They import only types, so a client from another copy of this package works too. */
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Carillon } from "./carillon.js";
import type { ConnectionState } from "./connection_state.js";
import type { CarillonError } from "./errors.js";
import type { NotificationMeta, SubscriptionOptions, SubscriptionState } from "./subscription.js";

/** The state of a client's connection; `undefined` while there is no client. */
export function useConnection(carillon: Carillon | null | undefined): ConnectionState | undefined {
  const subscribe = useCallback((onChange: () => void) => carillon?.on("state", onChange) ?? (() => {}), [carillon]);
  const state = () => carillon?.state;
  return useSyncExternalStore(subscribe, state, state);
}

export interface UseSubscriptionOptions<T> extends Pick<SubscriptionOptions, "condition" | "select" | "getEventData"> {
  /** `false`: do not subscribe, or unsubscribe. */
  enabled?: boolean;
  /** Called for every notification, also for those between two renderings. */
  onNotification?: (data: T, meta: NotificationMeta) => void;
  /** Called when notifications may have been missed: fetch your state again. */
  onGap?: (reason: string) => void;
}

/** The state of a component's subscription. */
export interface SubscriptionView<T> {
  state: SubscriptionState;
  /** The event data of the last notification. */
  data: T | undefined;
  meta: NotificationMeta | undefined;
  /** Why it was refused. */
  error: CarillonError | undefined;
  /**
   * How many times notifications may have been missed. Use it as a dependency of the effect that fetches your state.
   */
  gaps: number;
}

const INITIAL_VIEW: SubscriptionView<never> = {
  state: "registering",
  data: undefined,
  meta: undefined,
  error: undefined,
  gaps: 0,
};

/**
 * Subscribes to an event while the component is mounted. Subscribes again when the event, the condition or the
 * selection changes by value, so they can be written inline. Without a client it waits for one.
 */
export function useSubscription<T = unknown>(
  carillon: Carillon | null | undefined,
  event: string,
  options: UseSubscriptionOptions<T> = {},
): SubscriptionView<T> {
  const { condition, select, getEventData, enabled = true } = options;
  const wanted = JSON.stringify([event, { condition, select, getEventData }]);
  const [view, setView] = useState<SubscriptionView<T>>(INITIAL_VIEW);
  const latest = useRef(options);
  useEffect(() => {
    latest.current = options;
  });
  useEffect(() => {
    setView(INITIAL_VIEW);
    if (!carillon || !enabled) return;
    const [name, subscriptionOptions] = JSON.parse(wanted) as [string, SubscriptionOptions];
    const subscription = carillon.subscribe<T>(name, subscriptionOptions);
    const update = (part: Partial<SubscriptionView<T>>) => setView((view) => ({ ...view, ...part }));
    const onState = () => update({ state: subscription.state, error: subscription.error });
    for (const name of ["registering", "registered", "refused", "ended"] as const) subscription.on(name, onState);
    subscription.on("notification", (data, meta) => {
      update({ data, meta });
      latest.current.onNotification?.(data, meta);
    });
    subscription.on("gap", (reason) => {
      setView((view) => ({ ...view, gaps: view.gaps + 1 }));
      latest.current.onGap?.(reason);
    });
    onState();
    return () => void subscription.unsubscribe();
  }, [carillon, wanted, enabled]);
  return view;
}
