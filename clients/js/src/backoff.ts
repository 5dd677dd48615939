const SECOND = 1000;

/**
 * Waits with full jitter: 1 to 5 s first, then 1 to 10, 1 to 20, 1 to 30. Clients that lost one node at one moment come
 * back spread over the whole span.
 *
 * @internal
 */
export class Backoff {
  #attempts = 0;
  #least = SECOND;

  /** The next wait, in milliseconds. */
  next(): number {
    const most = Math.min(5 * SECOND * 2 ** this.#attempts, 30 * SECOND);
    this.#attempts++;
    return this.#least + Math.random() * (most - this.#least);
  }

  /** From here on 5 to 20 s and more, for a node that said "too much". */
  slower(): void {
    this.#least = 5 * SECOND;
    this.#attempts = Math.max(this.#attempts, 2);
  }

  reset(): void {
    this.#attempts = 0;
    this.#least = SECOND;
  }
}
