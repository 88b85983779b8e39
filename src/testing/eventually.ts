/**
 * Waiting in tests for what comes by itself: asks again and again, in real time, as long as a loaded machine may need.
 * What it fails with in the end is what was wrong the last time.
 */
const PATIENCE_MS = 20_000;
const PAUSE_MS = 5;

export type Patience = { readonly timeoutMs?: number };

/** Until `expectation` no longer throws; what it returns. */
export async function eventually<T>(
  expectation: () => T | Promise<T>,
  { timeoutMs = PATIENCE_MS }: Patience = {},
): Promise<T> {
  const giveUpAt = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await expectation();
    } catch (err) {
      if (performance.now() > giveUpAt) throw err;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
