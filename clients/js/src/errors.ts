/** An error of the node or of this client. Use `code` in programs and `message` for people. */
export class CarillonError extends Error {
  override readonly name = "CarillonError";

  constructor(
    /** An error code of the protocol, or one of this client: see the README. */
    readonly code: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** An error on the wire. */
export interface ErrorBody {
  code: string;
  message: string;
}

/** @internal The first error of an answer. */
export function firstError(errors: readonly ErrorBody[]): CarillonError {
  const { code, message } = errors[0] ?? { code: "UNKNOWN", message: "the node named no error" };
  return new CarillonError(code, message);
}
