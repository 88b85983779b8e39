/**
 * Waits until an expectation holds: as long as a loaded machine may need, and no longer than a test may take. What
 * vitest itself offers for this gives up after a second, which is a statement about the machine.
 */
import { vi } from 'vitest';

const PATIENCE_MS = 20_000;
const INTERVAL_MS = 10;

/** `patienceMs`: for what takes longer by itself, such as a browser. */
export function eventually<T>(expectation: () => T | Promise<T>, patienceMs: number = PATIENCE_MS): Promise<T> {
  return vi.waitFor(expectation, { timeout: patienceMs, interval: INTERVAL_MS });
}
