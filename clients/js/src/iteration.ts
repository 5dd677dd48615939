/** Notifications on their way to a `for await` loop. */
export class Iteration<T> implements AsyncIterableIterator<T> {
  #kept: T[] = [];
  #readers: { resolve: (result: IteratorResult<T>) => void; reject: (error: unknown) => void }[] = [];
  #isOver = false;
  #error: Error | undefined;
  #overflowed = false;

  constructor(
    private most: number,
    /** Called at the first notification dropped since the reader had caught up. */
    private onOverflow: () => void,
    private onFinish: () => void,
  ) {}

  push(value: T): void {
    const reader = this.#readers.shift();
    if (reader) return reader.resolve({ value, done: false });
    this.#kept.push(value);
    if (this.#kept.length <= this.most) return;
    this.#kept.shift();
    if (!this.#overflowed) this.onOverflow();
    this.#overflowed = true;
  }

  /** No more comes. What is kept can still be read, then the error is thrown. */
  finish(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.onFinish();
    for (const reader of this.#readers.splice(0)) this.#settle(reader.resolve, reader.reject);
  }

  next(): Promise<IteratorResult<T>> {
    return new Promise((resolve, reject) => {
      if (this.#kept.length) resolve({ value: this.#kept.shift()!, done: false });
      else if (this.#isOver) this.#settle(resolve, reject);
      else this.#readers.push({ resolve, reject });
      if (!this.#kept.length) this.#overflowed = false;
    });
  }

  async return(): Promise<IteratorResult<T>> {
    this.#kept = [];
    this.finish();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #settle(resolve: (result: IteratorResult<T>) => void, reject: (error: unknown) => void): void {
    const error = this.#error;
    this.#error = undefined; // thrown once, as a generator does
    if (error) reject(error);
    else resolve({ value: undefined, done: true });
  }
}
