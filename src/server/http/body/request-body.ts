/**
 * The body of one request, as the HTTP server has to do with it: invited when somebody wants it, read within a budget, thrown
 * away when nobody does, and given up when it does not come.
 *
 * Always true: nothing is read before `read` or `ignore`, and what is held is released once, by `release`.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Wire } from '../response/wire.ts';
import { BodyReader, discardBody } from './body-reader.ts';
import type { BudgetHolder, ByteBudget, Holding } from './byte-budget.ts';

/** There is no seat, or no room for what was sent: the answer is text, not a Status, as kube-apiserver has it. */
export class RequestRejected extends Error {
  override readonly name = 'RequestRejected';
}

export type BodyLimits = {
  readonly bodyLimitBytes: number;
  /** What bodies hold, from their first byte until their handler is done. */
  readonly bodies: ByteBudget;
};

export class RequestBody {
  /** It may still come. */
  isAwaited: boolean;
  readonly #wire: Wire;
  readonly #announcedBytes: number | undefined;
  #isInvitationDue: boolean;
  #reader: BodyReader | undefined;
  #holding: Holding | undefined;

  constructor(wire: Wire, { 'content-length': length, expect }: IncomingHttpHeaders) {
    this.#wire = wire;
    this.#announcedBytes = length === undefined ? undefined : Number(length);
    this.isAwaited = wire.hasBody;
    this.#isInvitationDue = this.isAwaited && expect?.toLowerCase() === '100-continue';
  }

  /** Fails with RequestRejected when there is no room for it, and with `gone` if that is why nobody wants it any more. */
  async read({ bodies, bodyLimitBytes }: BodyLimits, holder: BudgetHolder, gone?: unknown): Promise<Buffer> {
    if (gone !== undefined) throw gone;
    if (this.#isInvitationDue) this.#wire.inviteBody();
    this.#isInvitationDue = false;
    const holding = bodies.hold(holder, () => this.refuse(new RequestRejected()));
    this.#holding = holding;
    this.#reader = new BodyReader(this.#wire.body, {
      limitBytes: bodyLimitBytes,
      announcedBytes: this.#announcedBytes,
      grant: (bytes) => holding.add(bytes),
      refusal: () => new RequestRejected(),
      cutOff: () => this.#wire.destroy(),
    });
    try {
      return await this.#reader.whole;
    } catch (err) {
      this.release();
      throw err;
    }
  }

  /** For requests whose body means nothing: a client that sends one all the same must not find us waiting. */
  ignore(): void {
    if (!this.isAwaited || this.#reader) return;
    this.isAwaited = false;
    discardBody(this.#wire.body, () => this.#wire.destroy());
  }

  /** Bytes that have come, while somebody waits for more. */
  get comingBytes(): number | undefined {
    return this.#reader && !this.#reader.isSettled ? this.#reader.receivedBytes : undefined;
  }

  refuse(reason: unknown): void {
    this.#reader?.refuse(reason);
  }

  /** The rest is not waited for. Before the head of the answer. */
  abandon(): void {
    this.#wire.abandonBody();
  }

  /** An answer begins. Whether a client that was not invited sends its body after all, nobody knows. */
  answered(): void {
    if (this.#isInvitationDue) this.abandon();
  }

  release(): void {
    this.#holding?.release();
  }
}
