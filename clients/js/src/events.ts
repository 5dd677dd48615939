/** Listeners by the name of what they hear. */
export type Listeners<E> = { [K in keyof E]: (...args: never[]) => void };

/** What has typed events. */
export abstract class Events<E extends Listeners<E>> {
  #listeners = new Map<keyof E, Set<E[keyof E]>>();

  /** Calls `listener` at every `name` from now on. Gives a function that ends this. The same listener counts once. */
  on<K extends keyof E>(name: K, listener: E[K]): () => void {
    let listeners = this.#listeners.get(name);
    if (!listeners) this.#listeners.set(name, (listeners = new Set()));
    listeners.add(listener);
    return () => this.off(name, listener);
  }

  /** Undoes {@link on}. */
  off<K extends keyof E>(name: K, listener: E[K]): void {
    this.#listeners.get(name)?.delete(listener);
  }

  /** @internal A listener that throws spoils neither the others nor this client: its error is reported as uncaught. */
  emit<K extends keyof E>(name: K, ...args: Parameters<E[K]>): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])]) {
      try {
        // One before it may have taken it off.
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
