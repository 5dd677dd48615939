/** Listener types by event name. */
export type Listeners<E> = { [K in keyof E]: (...args: never[]) => void };

/** A base class with typed events. */
export abstract class Events<E extends Listeners<E>> {
  #listeners = new Map<keyof E, Set<E[keyof E]>>();

  /**
   * Calls `listener` at every event `name`. Returns a function that removes it. The same listener is added once only.
   */
  on<K extends keyof E>(name: K, listener: E[K]): () => void {
    let listeners = this.#listeners.get(name);
    if (!listeners) this.#listeners.set(name, (listeners = new Set()));
    listeners.add(listener);
    return () => this.off(name, listener);
  }

  /** Removes a listener. */
  off<K extends keyof E>(name: K, listener: E[K]): void {
    this.#listeners.get(name)?.delete(listener);
  }

  /** @internal If a listener throws, the error is reported as uncaught, and the other listeners are still called. */
  emit<K extends keyof E>(name: K, ...args: Parameters<E[K]>): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        // An earlier listener may have removed this one.
        if (this.#listeners.get(name)?.has(listener)) listener(...args);
      } catch (error) {
        reportUncaught(error);
      }
    }
  }

  /** @internal */
  forgetListeners(): void {
    this.#listeners.clear();
  }
}

function reportUncaught(error: unknown): void {
  if (typeof reportError === "function") return reportError(error);
  queueMicrotask(() => {
    throw error;
  });
}
