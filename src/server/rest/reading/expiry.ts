/** An answer "410 Gone", as far as those who gave it know why. */
import type { RequestFacts } from './request-facts.ts';

export type Expiry = {
  readonly request: RequestFacts;
  /** Undefined where nobody can tell. */
  readonly askedRevision: number | undefined;
  /** It was an open watch that had everything before: too slow, not too late. */
  readonly wasOpen: boolean;
  readonly oldestRevision: number | undefined;
  /** `history`: it is of another one, the store was restored or replaced. `window`: there is no log behind it. */
  readonly reason: 'compaction' | 'history' | 'window';
  /** What the client was told. */
  readonly message: string;
};

export type OnExpiry = (expiry: Expiry) => void;
