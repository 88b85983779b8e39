/**
 * Many inputs, one after the other or a few at once, against a server in another process, until the time or the number is
 * over or something is wrong: the server is gone, says that it met a fault of its own, answers 500 where
 * kube-apiserver does not, lets `/livez` wait, or does not give memory back.
 *
 * What went wrong is looked for among the inputs of the moment, one by one, made as small as it can be while it still
 * goes wrong, and told with the seed and number that make it again.
 */

import { slowness } from '../support/victim/calibration.ts';
import { type ServerReady, ServerTarget } from '../support/victim/server-target.ts';
import { MOST_HELD_MS } from '../support/victim/stall-case.ts';
import type { Victim } from '../support/victim/victim.ts';
import { Dice } from './dice.ts';
import { someGrpc, someHttp1, someHttp2 } from './frames.ts';
import type { FuzzInput, MakeInput } from './fuzz-input.ts';
import { FuzzTarget, type Outcome } from './fuzz-target.ts';
import { smaller } from './minimise.ts';
import { someRequest } from './requests.ts';
import { StoredObjects } from './stored-objects.ts';

export type FuzzOptions = {
  readonly seed: number;
  /** Whichever is over first. */
  readonly seconds: number;
  readonly most?: number;
  readonly first?: number;
  readonly tell?: (line: string) => void;
};

export type FuzzFailure = { readonly what: string; readonly index: number; readonly input: FuzzInput };
export type FuzzReport = {
  readonly sent: number;
  readonly byStatus: ReadonlyMap<string, number>;
  readonly grownBytes: number;
  readonly worstMs: number;
  readonly failures: readonly FuzzFailure[];
};

const AT_ONCE = 12;
const BATCH = 240;
/** After the first batches, when everything has been loaded and compiled. */
const WARM_BATCHES = 20;
const TIDY_BATCHES = 20;
const MOST_GROWN_BYTES = 150 * 1024 * 1024;
/** History included. */
const MOST_HELD_BYTES = 400 * 1024 * 1024;
/** The store keeps the history of some minutes, and what was large in it goes with it: growth is what stays longer. */
const LOOKS_OF_HISTORY = 15;

/** Answers of 500 that are kube-apiserver's own, by what they say. */
const EXPECTED_500: readonly RegExp[] = [
  // What its storage layer refuses has no reason of its own there, and comes out as an internal error.
  /resourceVersion should not be set on objects to be created/,
  // A body that server-side apply cannot bring into its type is no fault of the client to it.
  /failed to create typed (?:patch|live) object/,
  // Nor one that is of the right types and that a time, a quantity or the like cannot be read from.
  /parsing time|quantities must match|unable to parse quantity|json: cannot unmarshal|illegal base64/,
  // Directives of a strategic merge that make no sense have no code of their own there.
  /unknown patch type|doesn't match \$setElementOrder|without merge key|in the patch list is not a map|declared merge key/,
  /merging lists cannot yet be specified in the patch/,
  // Impersonation headers are read before there is anybody to blame.
  /requested impersonation of groups, uid or extra without a user/,
  // What is wrong with a Binding is told there without a Status of its own.
  /\btarget\.(?:kind|name): (?:Required|Unsupported|Invalid) value/,
  // Nor what an eviction says twice and not alike, nor that its Pod has two budgets.
  /Non-matching dry-run options|more than one PodDisruptionBudget/,
  // A node that says no address, and a custom object without the field that its scale is in, are no fault of who asks.
  /no preferred addresses found|replicas field .* does not exist|accessor error: /,
  // A version in the metadata of an update is parsed where only numbers are expected.
  /strconv\.ParseUint: parsing/,
];

const makeInput: MakeInput = (dice) =>
  dice.weighted<(dice: Dice) => FuzzInput>([
    [80, someRequest],
    [12, someGrpc],
    [4, someHttp1],
    [4, someHttp2],
  ])(dice);

export function inputAt(seed: number, index: number): FuzzInput {
  return makeInput(new Dice(seed, index), index);
}

export async function fuzz(victim: Victim<ServerReady>, options: FuzzOptions): Promise<FuzzReport> {
  const run = new Run(victim, options);
  await run.prepare();
  await run.go();
  return run.report;
}

class Run {
  readonly #victim: Victim<ServerReady>;
  readonly #options: FuzzOptions;
  readonly #byStatus = new Map<string, number>();
  readonly #failures: FuzzFailure[] = [];
  #server: ServerTarget;
  #target: FuzzTarget;
  readonly #stored = new StoredObjects();
  #sent = 0;
  #worstMs = 0;
  #restBytes: number | undefined;
  #grownBytes = 0;
  /** What it was at the last looks. */
  readonly #looks: number[] = [];

  constructor(victim: Victim<ServerReady>, options: FuzzOptions) {
    this.#victim = victim;
    this.#options = options;
    this.#server = new ServerTarget(victim.ready);
    this.#target = new FuzzTarget(this.#server);
  }

  get report(): FuzzReport {
    const { sent, byStatus, grownBytes, worstMs, failures } = {
      sent: this.#sent,
      byStatus: this.#byStatus,
      grownBytes: this.#grownBytes,
      worstMs: this.#worstMs,
      failures: this.#failures,
    };
    return { sent, byStatus, grownBytes, worstMs, failures };
  }

  async prepare(): Promise<void> {
    await this.#server.ask({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'fuzz' } } });
    await this.#stored.keep(this.#server);
  }

  async go(): Promise<void> {
    const { seed, seconds, most = Number.POSITIVE_INFINITY, first = 0, tell = () => {} } = this.#options;
    const endMs = performance.now() + seconds * 1000;
    let next = first;
    for (let batch = 1; performance.now() < endMs && this.#sent < most && this.#failures.length === 0; batch++) {
      const indexes = Array.from({ length: Math.min(BATCH, most - this.#sent) }, () => next++);
      const what = await this.#play(indexes.map((index) => inputAt(seed, index)));
      if (what) await this.#blame(what, indexes);
      if (batch % TIDY_BATCHES === 0) await this.#tidy(batch);
      if (batch % 100 === 0) tell(this.#progress());
    }
    this.#target.close();
  }

  #progress(): string {
    const grownMiB = (this.#grownBytes / 1024 / 1024).toFixed(0);
    return `${this.#sent} sent, worst answer of /livez ${this.#worstMs.toFixed(0)} ms, memory +${grownMiB} MiB`;
  }

  /** What went wrong, if anything did. */
  async #play(inputs: readonly FuzzInput[], atOnce: number = AT_ONCE): Promise<string | undefined> {
    const outcomes: Outcome[] = [];
    const waiting = inputs.values();
    const work = async () => {
      for (const input of waiting) {
        const outcome = await this.#target.send(input).catch((): Outcome => ({ status: 0, text: '' }));
        outcomes.push(outcome);
        const key = input.kind === 'request' ? String(outcome.status) : input.kind;
        this.#byStatus.set(key, (this.#byStatus.get(key) ?? 0) + 1);
      }
    };
    const cost = await this.#victim
      .measure(() => Promise.all(Array.from({ length: atOnce }, work)))
      .catch((err: unknown) => String(err));
    this.#sent += inputs.length;
    if (typeof cost === 'string') {
      await this.#renew();
      return `the server is gone: ${cost}`;
    }
    const [fault] = this.#victim.takeFaults();
    if (fault !== undefined) return fault;
    const unexpected = outcomes.find(({ status, text }) => status === 500 && !isExpected(text));
    if (unexpected) return `answered 500: ${unexpected.text.slice(0, 300)}`;
    if (cost.isCutOff) {
      await this.#renew();
      return 'the server did not come back';
    }
    this.#worstMs = Math.max(this.#worstMs, cost.heldMs);
    const mayHoldMs = MOST_HELD_MS * slowness() * (atOnce > 1 ? 2 : 1);
    if (cost.heldMs > mayHoldMs) return `/livez waited ${cost.heldMs.toFixed(0)} ms`;
    return undefined;
  }

  /** Finds the one input that it was, and the least of it. */
  async #blame(what: string, indexes: readonly number[]): Promise<void> {
    for (const index of indexes) {
      const input = inputAt(this.#options.seed, index);
      const found = await this.#play([input], 1);
      if (!found) continue;
      const least = await smaller(input, async (candidate) => (await this.#play([candidate], 1)) !== undefined);
      this.#failures.push({ what: found, index, input: least });
      return;
    }
    // A wait that no input makes alone was the sum of many, or the machine's.
    if (!what.startsWith('/livez'))
      this.#failures.push({ what, index: indexes[0]!, input: inputAt(this.#options.seed, indexes[0]!) });
  }

  /** Takes away what was stored, and looks at the memory that is left. */
  async #tidy(batch: number): Promise<void> {
    await this.#stored.clear(this.#server);
    const restBytes = await this.#victim.memoryAtRest();
    if (batch <= WARM_BATCHES || this.#restBytes === undefined) this.#restBytes = restBytes;
    this.#grownBytes = restBytes - this.#restBytes;
    this.#looks.push(this.#grownBytes);
    if (this.#looks.length > LOOKS_OF_HISTORY) this.#looks.shift();
    const hasStayed = this.#looks.length === LOOKS_OF_HISTORY && Math.min(...this.#looks) > MOST_GROWN_BYTES;
    if (hasStayed || this.#grownBytes > MOST_HELD_BYTES)
      this.#failures.push({
        what: `holds ${(this.#grownBytes / 1024 / 1024).toFixed(0)} MiB more than at the beginning`,
        index: batch * BATCH,
        input: inputAt(this.#options.seed, batch * BATCH),
      });
  }

  async #renew(): Promise<void> {
    await this.#victim.restart();
    this.#target.close();
    this.#server = new ServerTarget(this.#victim.ready);
    this.#target = new FuzzTarget(this.#server);
  }
}

function isExpected(text: string): boolean {
  return EXPECTED_500.some((pattern) => pattern.test(text));
}
