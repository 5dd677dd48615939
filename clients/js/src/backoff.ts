const SECOND = 1000;

/**
 * Waits with full jitter: 1 to 5 s first, then 1 to 10, 1 to 20, 1 to 30. Clients that lost a node at the same moment
 * reconnect spread over the whole range.
 *
 * @internal
 */
export class Backoff {
  #attempts = 0;
  #min = SECOND;

  /** The next wait, in milliseconds. */
  next(): number {
    const max = Math.min(5 * SECOND * 2 ** this.#attempts, 30 * SECOND);
    this.#attempts++;
    return this.#min + Math.random() * (max - this.#min);
  }

  /** Uses waits of 5 to 20 s and more from now on, for a node that closed with "too many messages". */
  slower(): void {
    this.#min = 5 * SECOND;
    this.#attempts = Math.max(this.#attempts, 2);
  }

  reset(): void {
    this.#attempts = 0;
    this.#min = SECOND;
  }
}
