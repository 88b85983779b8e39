/** Calls back whoever wants to be told. What they throw, or reject with later, is for `onFailure` and harms nobody. */
export function tellSafely(tell: () => unknown, onFailure: (error: unknown) => void): void {
  try {
    const answer = tell();
    if (answer instanceof Promise) answer.catch(onFailure);
  } catch (error) {
    onFailure(error);
  }
}
