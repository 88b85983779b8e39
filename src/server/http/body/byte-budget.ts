/**
 * A bound on what all requests together hold in memory for the sake of clients: bodies that are still coming, answers
 * that are not read yet.
 *
 * Always true: no more than the limit is held, except by one holder that has all of it to itself. When there is too
 * little, whoever holds most gives: a user with more than all others loses their own newest or, if another one asks, their
 * oldest. So a user who holds less than an equal share is never refused for what others do. Bytes are counted to whoever
 * really asks, not to the names they act under.
 *
 * What is owed is refused to nobody who holds anything: the answer to a request that may have changed something. Part of the
 * limit is kept for it, and when that is used up, its user's oldest goes.
 *
 * Of a server of several threads the limit is that of all of them together. Where another thread has the user who holds most,
 * that is asked to give, and until it has done so up to an eighth more than the limit is held. What a user holds on several
 * threads is counted on each apart.
 */
import type { SharedBytes } from '../../workers/shared-bytes.ts';

export type BudgetLimits = {
  readonly totalBytes: number;
  /** How much of that only what is owed may have. */
  readonly owedBytes?: number;
};

export type BudgetHolder = { readonly username: string };

/** How much more than the limit is held while another thread is asked to give, as a part of the limit. */
const BORROWED = 1 / 8;
/** Threads count together in such pieces. */
const ROUNDED_BYTES = 1024;

/**
 * What one user holds, in the order in which it was begun. Not a Set: holdings come and go with every request, and the tables
 * that a Set leaves behind keep what was in them (see ChurningSet).
 */
class Account {
  readonly username: string;
  bytes = 0;
  oldest: Holding | undefined;
  #newest: Holding | undefined;

  constructor(username: string) {
    this.username = username;
  }

  has(holding: Holding): boolean {
    return holding.account === this;
  }

  add(holding: Holding): void {
    if (this.has(holding)) return;
    holding.account = this;
    holding.before = this.#newest;
    if (this.#newest) this.#newest.behind = holding;
    else this.oldest = holding;
    this.#newest = holding;
  }

  remove(holding: Holding): void {
    const { before, behind } = holding;
    if (before) before.behind = behind;
    else this.oldest = behind;
    if (behind) behind.before = before;
    else this.#newest = before;
    holding.account = undefined;
    holding.before = undefined;
    holding.behind = undefined;
  }
}

export class ByteBudget {
  readonly #limits: BudgetLimits;
  readonly #shared: SharedBytes | undefined;
  readonly #accounts = new Map<string, Account>();
  /** By this thread. */
  #heldBytes = 0;

  /** `shared`: where all threads count what they hold. */
  constructor(limits: BudgetLimits, shared?: SharedBytes) {
    this.#limits = limits;
    this.#shared = shared;
    shared?.onAsked(() => this.#give());
  }

  /** By all threads. */
  get heldBytes(): number {
    return this.#shared?.bytes ?? this.#heldBytes;
  }

  close(): void {
    this.#shared?.close();
  }

  /** `giveUp`: the bytes are needed by somebody else; they no longer count. */
  hold(holder: BudgetHolder, giveUp: () => void): Holding {
    return new Holding(this, holder, giveUp);
  }

  /** For a Holding: false if it must not have them. */
  grant(holding: Holding, bytes: number, isOwed: boolean): boolean {
    const { totalBytes, owedBytes = 0 } = this.#limits;
    const { username } = holding.holder;
    const limit = isOwed ? totalBytes : totalBytes - owedBytes;
    const isAlone = (before: number) => before <= holding.bytes + (this.#shared ? ROUNDED_BYTES : 0);
    while (!this.#hold(bytes, (before, after) => after <= limit || isAlone(before))) {
      const heaviest = this.#heaviest();
      const elsewhere = this.#shared?.heaviestElsewhere();
      const most = Math.max(heaviest?.bytes ?? 0, elsewhere?.bytes ?? 0);
      const own = this.#accounts.get(username);
      if ((own?.bytes ?? 0) + bytes >= most) {
        if (!isOwed || !own || own.oldest === holding) return false;
        takeOldest(own);
      } else if (heaviest?.bytes === most) takeOldest(heaviest);
      else {
        if (elsewhere!.isUser(username) && !isOwed) return false;
        this.#shared!.ask(elsewhere!.thread);
        if (!this.#hold(bytes, (_, after) => after <= limit + totalBytes * BORROWED)) return false;
        break;
      }
    }
    let account = this.#accounts.get(username);
    if (!account) {
      account = new Account(username);
      this.#accounts.set(username, account);
    }
    account.bytes += bytes;
    account.add(holding);
    this.#tellHeaviest();
    return true;
  }

  /** For a Holding: it has let go of everything. */
  takeBack(holding: Holding): void {
    const { username } = holding.holder;
    const account = this.#accounts.get(username);
    if (!account?.has(holding)) return;
    account.remove(holding);
    account.bytes -= holding.bytes;
    if (!account.oldest) this.#accounts.delete(username);
    this.#hold(-holding.bytes, () => true);
    this.#tellHeaviest();
  }

  /** So many more, or less, are held from now on, if that fits. */
  #hold(bytes: number, fits: (before: number, after: number) => boolean): boolean {
    const held = this.#heldBytes + bytes;
    const isHeld = this.#shared ? this.#shared.setHeld(held, fits) : fits(this.#heldBytes, held);
    if (isHeld) this.#heldBytes = held;
    return isHeld;
  }

  /**
   * Another thread needs what is held here. What others have is rounded up: only one that has more for certain is asked in turn,
   * or two that have the same would ask each other for ever.
   */
  #give(): void {
    const shared = this.#shared!;
    while (shared.bytes > this.#limits.totalBytes) {
      const heaviest = this.#heaviest();
      const elsewhere = shared.heaviestElsewhere();
      if (elsewhere.bytes >= (heaviest?.bytes ?? 0) + ROUNDED_BYTES) {
        shared.ask(elsewhere.thread);
        return;
      }
      if (!heaviest) return;
      takeOldest(heaviest);
    }
  }

  #tellHeaviest(): void {
    if (!this.#shared) return;
    const heaviest = this.#heaviest();
    this.#shared.setHeaviest(heaviest?.username ?? '', heaviest?.bytes ?? 0);
  }

  #heaviest(): Account | undefined {
    let heaviest: Account | undefined;
    for (const account of this.#accounts.values()) if (!heaviest || account.bytes > heaviest.bytes) heaviest = account;
    return heaviest;
  }
}

function takeOldest({ oldest }: Account): void {
  oldest!.takeAway();
}

/** What one request holds. */
export class Holding {
  readonly holder: BudgetHolder;
  /** Of the account it is counted to, while it is, and its neighbours there. */
  account: Account | undefined;
  before: Holding | undefined;
  behind: Holding | undefined;
  readonly #budget: ByteBudget;
  readonly #giveUp: () => void;
  #bytes = 0;

  constructor(budget: ByteBudget, holder: BudgetHolder, giveUp: () => void) {
    this.#budget = budget;
    this.holder = holder;
    this.#giveUp = giveUp;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False: too much. What is held already stays so until `release`. */
  add(bytes: number, isOwed = false): boolean {
    if (!this.#budget.grant(this, bytes, isOwed)) return false;
    this.#bytes += bytes;
    return true;
  }

  release(): void {
    this.#budget.takeBack(this);
    this.#bytes = 0;
  }

  takeAway(): void {
    this.release();
    this.#giveUp();
  }
}
