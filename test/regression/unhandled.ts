/** What a process is told of callbacks that fail: warnings, and rejections that nobody waits for. */
import { afterEach, beforeEach } from 'vitest';

type Told = { readonly warnings: string[]; readonly rejections: unknown[] };

/** For the tests of this file; empty at the beginning of each. */
export function listenToProcess(): Told {
  const told: Told = { warnings: [], rejections: [] };
  const onWarning = ({ message }: Error) => void told.warnings.push(message);
  const onRejection = (error: unknown) => void told.rejections.push(error);
  beforeEach(() => {
    told.warnings.length = 0;
    told.rejections.length = 0;
    process.on('warning', onWarning);
    process.on('unhandledRejection', onRejection);
  });
  afterEach(() => {
    process.off('warning', onWarning);
    process.off('unhandledRejection', onRejection);
  });
  return told;
}

export function throwing(): never {
  throw new Error('thrown');
}

export async function rejecting(): Promise<void> {
  throw new Error('rejected');
}
