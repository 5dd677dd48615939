/** An error of the node, or of this client. Decide by `code`, show `message`. */
export class CarillonError extends Error {
  override readonly name = "CarillonError";

  constructor(
    /** One of the protocol's error codes, or one of this client's own: see the README. */
    readonly code: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** How an error stands on the wire. */
export interface ErrorBody {
  code: string;
  message: string;
}

/** @internal The first of the errors of an answer. */
export function firstError(errors: readonly ErrorBody[]): CarillonError {
  const { code, message } = errors[0] ?? { code: "UNKNOWN", message: "the node named no error" };
  return new CarillonError(code, message);
}
