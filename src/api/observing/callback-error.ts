/**
 * A function of the user's has failed where we called it: it threw, or gave what cannot be used. It says which function
 * and what it was asked about; what was thrown is the `cause`.
 */
export class CallbackError extends Error {
  override name = 'CallbackError';
  /** As it is called in the options: `where`, `transform`. */
  readonly callback: string;
  /** What it was asked about, such as a key; empty if nothing in particular. */
  readonly subject: string;

  constructor(callback: string, subject: string, whose: string, cause: unknown) {
    const about = subject === '' ? '' : ` about ${JSON.stringify(subject)}`;
    super(`Cannot ask "${callback}" of ${whose}${about}: ${textOf(cause)}`, { cause });
    this.callback = callback;
    this.subject = subject;
  }
}

function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
