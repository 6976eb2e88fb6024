/** Faults: what went wrong, with a code for programs and a sentence for people. */

/**
 * What went wrong. `code` is stable snake_case, listed once in docs/ERRORS.md; the sentence (`message`) says what was
 * seen and what was expected, with numbers, never a secret. Context is added by `cause`, never by joining sentences.
 */
export class Fault extends Error {
  readonly code: string
  /** Further facts for a program: field faults of a form, milliseconds waited, a position. Plain JSON, no secrets. */
  readonly details: Readonly<Record<string, unknown>> | undefined

  constructor(code: string, sentence: string, options: { cause?: unknown; details?: Record<string, unknown> } = {}) {
    super(sentence, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'Fault'
    this.code = code
    this.details = options.details
  }
}

/** The value as a Fault: itself if it is one, else wrapped under `code` with the value as its cause. */
export function faultOf(value: unknown, code: string, sentence: string): Fault {
  return value instanceof Fault ? value : new Fault(code, sentence, { cause: value })
}
