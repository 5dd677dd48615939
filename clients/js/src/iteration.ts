/** The notifications buffered for a `for await` loop. */
export class Iteration<T> implements AsyncIterableIterator<T> {
  #buffer: T[] = [];
  #readers: { resolve: (result: IteratorResult<T>) => void; reject: (error: unknown) => void }[] = [];
  #isOver = false;
  #error: Error | undefined;
  #overflowed = false;

  constructor(
    private limit: number,
    /** Called at the first dropped notification since the reader last caught up. */
    private onOverflow: () => void,
    private onFinish: () => void,
  ) {}

  push(value: T): void {
    const reader = this.#readers.shift();
    if (reader) return reader.resolve({ value, done: false });
    this.#buffer.push(value);
    if (this.#buffer.length <= this.limit) return;
    this.#buffer.shift();
    if (!this.#overflowed) this.onOverflow();
    this.#overflowed = true;
  }

  /** Ends the iteration. Buffered notifications can still be read, then the error is thrown. */
  finish(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#error = error;
    this.onFinish();
    for (const reader of this.#readers.splice(0)) this.#settle(reader.resolve, reader.reject);
  }

  next(): Promise<IteratorResult<T>> {
    return new Promise((resolve, reject) => {
      if (this.#buffer.length) resolve({ value: this.#buffer.shift()!, done: false });
      else if (this.#isOver) this.#settle(resolve, reject);
      else this.#readers.push({ resolve, reject });
      if (!this.#buffer.length) this.#overflowed = false;
    });
  }

  async return(): Promise<IteratorResult<T>> {
    this.#buffer = [];
    this.finish();
    return { value: undefined, done: true };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #settle(resolve: (result: IteratorResult<T>) => void, reject: (error: unknown) => void): void {
    const error = this.#error;
    this.#error = undefined; // a generator, too, throws once
    if (error) reject(error);
    else resolve({ value: undefined, done: true });
  }
}
