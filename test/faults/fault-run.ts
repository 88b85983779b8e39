/**
 * One fault schedule, carried out: a proxy before the server, informers behind the proxy, and in every quiet moment the
 * questions that must be answered with yes. Does each store equal a fresh list? Does each handler believe what the store
 * holds, by events that fit each other? Did nobody fetch the whole state without need? And in the end: is nothing left?
 */
import { getEventListeners } from 'node:events';
import { type FaultProxy, type ProxiedRequest, startFaultProxy, type Which } from '../../src/testing/index.ts';
import { randomFrom } from './crash-script.ts';
import { HurriedClock } from './fault-clock.ts';
import { type Schedule, type Step, tellStep, type Whom } from './fault-schedule.ts';
import type { FaultServer } from './fault-servers.ts';
import { expectSame, kinds, Watcher } from './fault-watcher.ts';
import { NAMESPACES, orRefused, setMark, write } from './fault-writes.ts';

/** Fast enough that nobody waits for limits, slow enough that a busy machine does not run into them. */
const SPEED = 10;
const SETTLE_MS = 60_000;

/** Throws what was wrong; the log says what happened before. */
export async function runSchedule(server: FaultServer, schedule: Schedule, log: string[]): Promise<void> {
  const run = new FaultRun(server, await startFaultProxy(server), schedule, log);
  try {
    await run.all();
  } catch (err) {
    run.logRequests();
    throw err;
  } finally {
    await run.dispose();
  }
}

class FaultRun {
  readonly #server: FaultServer;
  readonly #proxy: FaultProxy;
  readonly #schedule: Schedule;
  readonly #log: (text: string) => void;
  readonly #clock = new HurriedClock(SPEED);
  readonly #stop = new AbortController();
  readonly #watchers: Watcher[] = [];
  #writing: Promise<unknown> = Promise.resolve();
  #round = 0;

  constructor(server: FaultServer, proxy: FaultProxy, schedule: Schedule, log: string[]) {
    this.#server = server;
    this.#proxy = proxy;
    this.#schedule = schedule;
    const begin = performance.now();
    this.#log = (text) => void log.push(`${(performance.now() - begin).toFixed(0).padStart(6)} ms  ${text}`);
  }

  async all(): Promise<void> {
    await this.#prepare();
    for (const kind of kinds) await this.#open(kind);
    for (const step of this.#schedule.steps) {
      this.#log(tellStep(step));
      await this.#take(step);
    }
    await this.#expectNothingLeft();
  }

  async dispose(): Promise<void> {
    await this.#writing;
    for (const watcher of this.#watchers) await watcher[Symbol.asyncDispose]();
    await this.#proxy[Symbol.asyncDispose]();
  }

  logRequests(): void {
    for (const { number, method, path, query, userAgent, code, faults } of this.#proxy.requests.slice(-40)) {
      const version = query.get('resourceVersion') ?? '';
      const selection = `${query.has('watch') ? 'watch ' : ''}${path} ${version}`;
      this.#log(`request ${number} of ${userAgent}: ${method} ${selection}: ${code ?? 'open'} ${faults.join(', ')}`);
    }
  }

  async #take(step: Step): Promise<void> {
    switch (step.do) {
      case 'write':
        await this.#writing;
        this.#writing = write(this.#server.client, step.writes, step.seed);
        return;
      case 'cut':
        if (step.whom === 'all') this.#proxy.cut();
        else this.#proxy.cut(this.#which(step.whom));
        return;
      case 'stall':
      case 'end':
      case 'truncate':
      case 'garble':
        this.#log(`  struck ${this.#proxy[step.do](this.#which(step.whom))}`);
        return;
      case 'error':
        this.#log(`  struck ${this.#proxy.sendError(this.#which(step.whom), step.code)}`);
        return;
      case 'answer': {
        const { code, to, times, retryAfterSeconds, isText } = step;
        const text = isText ? { text: '<html>Bad luck</html>' } : {};
        return this.#proxy.answer({ code, to, times, ...text, ...(retryAfterSeconds && { retryAfterSeconds }) });
      }
      case 'delay':
        return this.#proxy.delay(step.ms);
      case 'drip':
        return this.#proxy.drip(step.bytes);
      case 'refuse':
        return this.#proxy.refuse();
      case 'heal':
        return this.#proxy.heal();
      case 'restart':
        await this.#writing;
        return this.#server.restart();
      case 'compact':
        await this.#writing;
        // Before 3.4.34 and 3.5.16 etcd forgets deletes of the very revision it compacts at, for a watch that starts
        // there: nobody above it can tell. So that revision is made one that deletes nothing.
        await setMark(this.#server.client, 'default', 'before the compaction');
        return this.#server.compact((oldest) => {
          for (const watcher of this.#watchers) watcher.mayFillAgainIf((version) => BigInt(version) < BigInt(oldest));
        });
      case 'lose':
        await this.#writing;
        return this.#lose();
      case 'set back':
        await this.#writing;
        return this.#setBack(step);
      case 'handler':
        return this.#changeHandlers(step.action);
      case 'informer':
        if (step.action === 'open') return this.#open(kinds[this.#watchers.length % kinds.length]!);
        await this.#watchers.splice(kinds.length, 1)[0]?.[Symbol.asyncDispose]();
        return;
      case 'wait':
        return new Promise((resolve) => setTimeout(resolve, step.ms));
      case 'quiet':
        return this.#quiet();
    }
  }

  async #lose(): Promise<void> {
    for (const watcher of this.#watchers) {
      watcher.mayFillAgainIf(() => true);
      watcher.mayTurnBack();
    }
    const before = this.#requestCount;
    await this.#server.lose();
    await this.#untilNoticed(before);
    await this.#prepare();
  }

  async #setBack({ writes, seed, bump }: Step & { do: 'set back' }): Promise<void> {
    await this.#server.backUp();
    await write(this.#server.client, writes, seed);
    let [before, end] = [0, 0n];
    const others: Watcher[] = [];
    await this.#server.setBack(bump, (last) => {
      before = this.#requestCount;
      end = BigInt(last);
      for (const watcher of this.#watchers) {
        watcher.mayTurnBack();
        const isLost = (version: string) => bump > 0 || watcher.sources > 1 || BigInt(version) > end;
        if (!watcher.mayFillAgainIf(isLost)) others.push(watcher);
      }
    });
    await this.#untilNoticed(before);
    // What was still on its way when the server was down can have taken them beyond its end.
    const since = this.#requestsAfter(before);
    for (const watcher of others) watcher.mayFillAgainIf(() => watcher.hasAskedBeyond(since, end));
  }

  async #quiet(): Promise<void> {
    await this.#writing;
    this.#proxy.heal();
    this.#round++;
    const { client } = this.#server;
    const mark = `${this.#schedule.seed}.${this.#round}`;
    for (const namespace of NAMESPACES) await setMark(client, namespace, mark);
    await this.#until(
      () => this.#watchers.filter((watcher) => !watcher.hasMark(mark)).map((watcher) => watcher.tell()),
      'have not seen the last write',
    );
    for (const watcher of this.#watchers) {
      await within(SETTLE_MS, watcher.idle(), () => `${watcher.tell()} has handlers that do not come to rest`);
      const fresh = await watcher.freshList(client);
      expectSame(`the store of ${watcher.tell()}`, watcher.objects(), fresh);
      watcher.check(this.#proxy.requests);
    }
  }

  /** A set-back that is hidden by new writes before anyone has looked is hidden for ever: no version tells. */
  async #untilNoticed(before: number): Promise<void> {
    this.#proxy.heal();
    const { metadata } = await this.#server.client.list('/api/v1/configmaps', { limit: 1 });
    const last = BigInt(metadata.resourceVersion);
    await this.#until(() => {
      const since = this.#requestsAfter(before);
      return this.#watchers.filter((watcher) => !watcher.hasTurned(since, last)).map((watcher) => watcher.tell());
    }, `do not notice that the server is at ${last} again`);
  }

  get #requestCount(): number {
    return this.#proxy.requests.at(-1)?.number ?? 0;
  }

  #requestsAfter(count: number): readonly ProxiedRequest[] {
    return this.#proxy.requests.filter(({ number }) => number > count);
  }

  async #expectNothingLeft(): Promise<void> {
    for (const watcher of this.#watchers.splice(0)) await watcher[Symbol.asyncDispose]();
    // Ours end when we say so, within the turn; only the other end of a connection has to hear of it first.
    await new Promise((resolve) => setImmediate(resolve));
    const { sleeping } = this.#clock;
    const listeners = getEventListeners(this.#stop.signal, 'abort').length;
    if (sleeping + listeners > 0) throw new Error(`${sleeping} timers and ${listeners} listeners are left behind`);
    const left = () => [
      ...this.#proxy.open.map(({ number, userAgent }) => `request ${number} of ${userAgent}`),
      ...(this.#proxy.connections > 0 ? [`${this.#proxy.connections} connections`] : []),
    ];
    await this.#until(left, 'are left behind');
  }

  async #until(missing: () => string[], complaint: string): Promise<void> {
    const end = performance.now() + SETTLE_MS;
    for (;;) {
      const now = missing();
      if (now.length === 0) return;
      if (performance.now() > end) throw new Error(`${now.join('; ')} ${complaint}`);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  async #open(kind: (typeof kinds)[number]): Promise<void> {
    const watcher = await Watcher.open({
      ...{ kind, number: this.#watchers.length, clock: this.#clock, signal: this.#stop.signal, log: this.#log },
      kubeconfigPath: this.#proxy.kubeconfigPath,
      random: randomFrom(this.#schedule.seed),
    });
    this.#watchers.push(watcher);
  }

  async #changeHandlers(action: 'slow' | 'throwing' | 'remove'): Promise<void> {
    for (const watcher of this.#watchers) {
      if (action === 'remove') await watcher.removeHandler();
      else watcher.addHandler(action);
    }
  }

  async #prepare(): Promise<void> {
    for (const name of NAMESPACES.slice(1))
      await orRefused(this.#server.client.create('/api/v1/namespaces', { metadata: { name } }));
  }

  #which(whom: Whom): Which {
    if (whom === 'all') return 'watch';
    const wanted = whom % Math.max(this.#proxy.open.length, 1);
    let seen = 0;
    return ({ kind }) => kind === 'watch' && seen++ === wanted;
  }
}

async function within<T>(ms: number, promise: Promise<T>, complaint: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(complaint())), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
