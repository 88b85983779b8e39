/**
 * Single requests, of the server and of bare Node in turns: both running on the same pods, each with its connections open
 * and its code warm before anything is measured.
 */
import { type Done, interleave } from '../../lib/measure.ts';
import type { Phase } from '../../lib/server-process.ts';
import type { ServerContext } from '../../lib/server-report.ts';
import { type Client, ClientPool } from './server-client.ts';
import type { PodData } from './server-data.ts';
import { type ContestantName, contestants, type Pair, startPair } from './server-pair.ts';

/** What one operation is, for either. */
export type Work = Readonly<Record<ContestantName, (client: Client, i: number) => Promise<unknown>>>;

export type Rounds = {
  readonly rounds: number;
  /** Begin no round after this time. */
  readonly limitMs: number;
  /** Begin no operation of a round after this time. */
  readonly roundLimitMs: number;
};

export class Contest implements AsyncDisposable {
  readonly pair: Pair;
  readonly pools: Readonly<Record<ContestantName, ClientPool>>;
  readonly #context: ServerContext;

  private constructor(context: ServerContext, pair: Pair, pools: Readonly<Record<ContestantName, ClientPool>>) {
    this.#context = context;
    this.pair = pair;
    this.pools = pools;
  }

  static async open(context: ServerContext, data: PodData, connections: number): Promise<Contest> {
    const pair = await startPair(context, data);
    const server = await ClientPool.open(pair.server.endpoint, connections);
    const bare = await ClientPool.open(pair.bare.endpoint, connections);
    return new Contest(context, pair, { server, bare });
  }

  /** So many requests to each; until its code is compiled a request costs twice as much and more. */
  async warm(count: number, width: number, work: Work): Promise<void> {
    for (const name of contestants) await this.pools[name].run(count, width, work[name], this.#context);
  }

  /** `count` operations a round, `width` of them at once. */
  measured(what: string, count: number, width: number, work: Work, { rounds, limitMs, roundLimitMs }: Rounds) {
    const { signal, say } = this.#context;
    say(what);
    const once = (name: ContestantName): Promise<Phase> => {
      const phase = (): Promise<Done> =>
        this.pools[name].run(count, width, work[name], { signal, limitMs: roundLimitMs });
      return this.pair[name].process.measure(`${what} ${name}`, phase);
    };
    return interleave(rounds, contestants, once, limitMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of contestants) this.pools[name][Symbol.dispose]();
    await this.pair[Symbol.asyncDispose]();
  }
}
