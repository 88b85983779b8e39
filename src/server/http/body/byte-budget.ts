/**
 * A bound on what all requests together hold in memory for the sake of clients: bodies that are still coming, answers
 * that are not read yet.
 *
 * Always true: no more than the limit is held, except by one holder that has all of it to itself. When there is too
 * little, whoever holds most gives: a user with more than all others loses their own newest or, if another one asks, their
 * oldest. So a user who holds less than an equal share is never refused for what others do. Bytes are counted to whoever
 * really asks, not to the names they act under.
 */
export type BudgetLimits = { readonly totalBytes: number };

export type BudgetHolder = { readonly username: string };

type Account = { bytes: number; readonly holdings: Set<Holding> };

export class ByteBudget {
  readonly #limits: BudgetLimits;
  readonly #accounts = new Map<string, Account>();
  #heldBytes = 0;

  constructor(limits: BudgetLimits) {
    this.#limits = limits;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** `giveUp`: the bytes are needed by somebody else; they no longer count. */
  hold(holder: BudgetHolder, giveUp: () => void): Holding {
    return new Holding(this, holder, giveUp);
  }

  /** For a Holding: false if it must not have them. */
  grant(holding: Holding, bytes: number): boolean {
    const { totalBytes } = this.#limits;
    const { username } = holding.holder;
    while (this.#heldBytes + bytes > totalBytes && this.#heldBytes > holding.bytes) {
      const heaviest = this.#heaviest();
      const own = this.#accounts.get(username);
      if (!heaviest || (own?.bytes ?? 0) + bytes >= heaviest.bytes) return false;
      const [oldest] = heaviest.holdings;
      oldest!.takeAway();
    }
    let account = this.#accounts.get(username);
    if (!account) {
      account = { bytes: 0, holdings: new Set() };
      this.#accounts.set(username, account);
    }
    account.bytes += bytes;
    account.holdings.add(holding);
    this.#heldBytes += bytes;
    return true;
  }

  /** For a Holding: it has let go of everything. */
  takeBack(holding: Holding): void {
    const { username } = holding.holder;
    const account = this.#accounts.get(username);
    if (!account?.holdings.delete(holding)) return;
    account.bytes -= holding.bytes;
    if (account.holdings.size === 0) this.#accounts.delete(username);
    this.#heldBytes -= holding.bytes;
  }

  #heaviest(): Account | undefined {
    let heaviest: Account | undefined;
    for (const account of this.#accounts.values()) if (!heaviest || account.bytes > heaviest.bytes) heaviest = account;
    return heaviest;
  }
}

/** What one request holds. */
export class Holding {
  readonly holder: BudgetHolder;
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
  add(bytes: number): boolean {
    if (!this.#budget.grant(this, bytes)) return false;
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
