/**
 * One fault schedule, carried out: informers and two processes of an operator behind a line that misbehaves, and in every
 * quiet moment the questions that must be answered with yes. Is what they hold true: does each store equal a fresh list,
 * does each handler believe what the store holds, by events that fit each other, and did nobody fetch the whole state
 * without need? Does it move: does one lead, has its controller reconciled everything as it is, and does everybody call
 * themselves well? Did `health` tell the truth all the time, quiet or not? And in the end: is nothing left?
 */
import { getEventListeners } from 'node:events';
import type { Which } from '../../../src/testing/index.ts';
import type { Grounds } from './fault-grounds.ts';
import { identityOf, Operator } from './fault-operator.ts';
import { type Schedule, type Step, tellStep, type Whom } from './fault-schedule.ts';
import { expectSame, type Kind, kinds, Watcher } from './fault-watcher.ts';
import { NAMESPACES, orRefused, setMark, write } from './fault-writes.ts';

/** How often what operators say of themselves is held against what is so, by the clock. */
const LOOK_MS = 5_000;
const SETTLED_MS = 10_000;

/** Throws what was wrong; the log says what happened before. */
export async function runSchedule(grounds: Grounds, schedule: Schedule, log: string[]): Promise<void> {
  const run = new FaultRun(grounds, schedule, log);
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
  readonly #grounds: Grounds;
  readonly #schedule: Schedule;
  readonly #log: (text: string) => void;
  readonly #stop = new AbortController();
  readonly #looking = new AbortController();
  readonly #watchers: Watcher[] = [];
  readonly #operators: Operator[] = [];
  /** A process that was ended, and how many steps it stays so. */
  #down: { readonly index: number; left: number } | undefined;
  #turns = 0;
  #lies: string[] = [];
  #looks: Promise<void> = Promise.resolve();
  #writing: Promise<unknown> = Promise.resolve();
  #round = 0;

  constructor(grounds: Grounds, schedule: Schedule, log: string[]) {
    this.#grounds = grounds;
    this.#schedule = schedule;
    const { clock } = grounds;
    const begin = clock.now();
    this.#log = (text) => void log.push(`${(clock.now() - begin).toFixed(0).padStart(8)} ms  ${text}`);
  }

  async all(): Promise<void> {
    await this.#prepare();
    // Where there are many worlds one of the two has a checkpoint, whatever it selects.
    for (const [number, kind] of this.#kinds.entries()) await this.#open(kind, number === 1);
    for (const name of ['operator-a', 'operator-b']) this.#operators.push(await Operator.start(name, this.#grounds));
    this.#looks = this.#keepLooking();
    // Faults strike whoever has just begun, and whoever has had some time.
    if (this.#grounds.truth) await this.#grounds.clock.sleep(this.#grounds.random() * SETTLED_MS);
    for (const step of this.#schedule.steps) {
      this.#log(tellStep(step));
      if (this.#down && this.#down.left-- === 0) await this.#startAgain();
      await this.#take(step);
    }
    await this.#expectNothingLeft();
  }

  async dispose(): Promise<void> {
    this.#looking.abort();
    await this.#looks;
    await this.#writing;
    for (const one of [...this.#operators, ...this.#watchers]) await one[Symbol.asyncDispose]();
    await this.#grounds[Symbol.asyncDispose]();
  }

  logRequests(): void {
    for (const { number, method, path, query, userAgent, code, faults } of this.#grounds.line.requests.slice(-40)) {
      const version = query.get('resourceVersion') ?? '';
      const selection = `${query.has('watch') ? 'watch ' : ''}${path} ${version}`;
      this.#log(`request ${number} of ${userAgent}: ${method} ${selection}: ${code ?? 'open'} ${faults.join(', ')}`);
    }
  }

  /** All of them where a world costs nothing to open; where it is simulated there are worlds enough for each. */
  get #kinds(): readonly Kind[] {
    if (!this.#grounds.truth) return kinds;
    return [kinds[this.#schedule.seed % kinds.length]!, kinds[(this.#schedule.seed + 2) % kinds.length]!];
  }

  async #take(step: Step): Promise<void> {
    const { line, server, truth, clock, waitFactor } = this.#grounds;
    switch (step.do) {
      case 'write':
        await this.#writing;
        this.#writing = write(server.client, step.writes, step.seed);
        return;
      case 'cut':
        if (step.whom === 'all') line.cut();
        else line.cut(this.#which(step.whom));
        return;
      case 'stall':
      case 'end':
      case 'truncate':
      case 'garble':
        this.#log(`  struck ${line[step.do](this.#which(step.whom))}`);
        return;
      case 'error':
        this.#log(`  struck ${line.sendError(this.#which(step.whom), step.code)}`);
        return;
      case 'answer': {
        const { code, to, times, retryAfterSeconds, isText } = step;
        const text = isText ? { text: '<html>Bad luck</html>' } : {};
        return line.answer({ code, to, times, ...text, ...(retryAfterSeconds && { retryAfterSeconds }) });
      }
      case 'delay':
        return line.delay(step.ms);
      case 'drip':
        return line.drip(step.bytes);
      case 'refuse':
        return line.refuse();
      case 'heal':
        return line.heal();
      case 'restart':
        await this.#writing;
        return server.restart();
      case 'compact':
        await this.#writing;
        // Before 3.4.34 and 3.5.16 etcd forgets deletes of the very revision it compacts at, for a watch that starts
        // there: nobody above it can tell. So that revision is made one that deletes nothing.
        await setMark(server.client, 'default', 'before the compaction');
        return server.compact((oldest) => {
          for (const watcher of this.#watchers) watcher.mayFillAgainIf((version) => BigInt(version) < BigInt(oldest));
        });
      case 'lose':
        await this.#writing;
        this.#turn();
        await server.lose(step.isOvertaking);
        return this.#prepare();
      case 'set back':
        await this.#writing;
        return this.#setBack(step);
      case 'flip':
        await this.#writing;
        this.#turn();
        // A stream that stays with the other server goes on as if nothing had happened.
        if (!step.isCut) for (const one of [...this.#operators, ...this.#watchers]) one.mayBeMisled();
        return truth?.flip(step.isCut);
      case 'rotate token':
        return truth?.rotateToken();
      case 'set clock':
        if (step.whom < this.#operators.length) this.#operators[step.whom]!.jumpWallClock(step.ms);
        else truth?.setWallClock(step.ms);
        return;
      case 'suspend':
        return truth?.suspend(step.ms);
      case 'restart client':
        return this.#end(step);
      case 'fill disk':
        return truth?.disk.fill(step.room);
      case 'misbehave':
        for (const operator of step.whom === 'all' ? this.#operators : [this.#operators[step.whom]!])
          operator.setMischief(step.callback, step.how, step.times);
        return;
      case 'handler':
        return this.#changeHandlers(step.action);
      case 'informer':
        if (step.action === 'open') return this.#open(kinds[this.#watchers.length % kinds.length]!);
        await this.#watchers.splice(this.#kinds.length, 1)[0]?.[Symbol.asyncDispose]();
        return;
      case 'wait':
        return clock.sleep(step.ms * waitFactor);
      case 'quiet':
        return this.#quiet();
    }
  }

  /** The server's versions are of another history from now on. */
  #turn(): void {
    this.#turns++;
    for (const watcher of this.#watchers) {
      watcher.mayFillFreely();
      watcher.mayTurnBack();
    }
  }

  async #setBack({ writes, seed, bump }: Step & { do: 'set back' }): Promise<void> {
    const { server, truth } = this.#grounds;
    await server.backUp();
    await write(server.client, writes, seed);
    this.#turn();
    if (truth && !truth.isSetBackVisible) for (const one of [...this.#operators, ...this.#watchers]) one.mayBeMisled();
    await server.setBack(bump);
  }

  async #quiet(): Promise<void> {
    await this.#writing;
    const { server, line, truth } = this.#grounds;
    if (this.#down) await this.#startAgain();
    line.heal();
    truth?.settle();
    if (truth) truth.disk.room = Number.POSITIVE_INFINITY;
    for (const operator of this.#operators) operator.behave();
    this.#round++;
    const mark = `${this.#schedule.seed}.${this.#round}`;
    for (const namespace of NAMESPACES) await setMark(server.client, namespace, mark);
    await this.#until(() => {
      // A mark may come long before the rest, if only an audit can tell.
      const isBehind = (watcher: Watcher) => (truth ? !watcher.isTrueTo(truth) : !watcher.hasMark(mark));
      return this.#watchers.filter(isBehind).map((watcher) => watcher.tell());
    }, 'have not seen the last write');
    for (const watcher of this.#watchers) {
      await this.#rest(watcher);
      const { checkpoint } = watcher.informer.metrics;
      if (checkpoint)
        this.#log(`  ${watcher.tell()}: ${checkpoint.restored} restored, ${checkpoint.failures} failures`);
      const fresh = await watcher.freshList(server.client);
      expectSame(`the store of ${watcher.tell()}`, watcher.objects(), fresh);
      watcher.check(line.requests);
      await this.#untilEnded(watcher.expectSaved(), () => `${watcher.tell()} is not in its checkpoint`);
    }
    await this.#expectMoving();
    this.#expectTruth();
  }

  async #rest(watcher: Watcher): Promise<void> {
    await this.#untilEnded(watcher.idle(), () => `${watcher.tell()} has handlers that do not come to rest`);
  }

  async #untilEnded(work: Promise<void>, complaint: () => string): Promise<void> {
    let isOver = false;
    const over = work.finally(() => {
      isOver = true;
    });
    over.catch(() => {}); // thrown below
    await this.#until(() => (isOver ? [] : [complaint()]), 'after all has healed');
    await over;
  }

  /** One leads, has seen to everything, and all are well and say so. */
  async #expectMoving(): Promise<void> {
    const { items } = await this.#grounds.server.client.list('/api/v1/configmaps');
    const objects = new Map(
      (
        items as unknown as { metadata: { namespace: string; name: string; uid: string; resourceVersion: string } }[]
      ).map((object) => [`${object.metadata.namespace}/${object.metadata.name}`, identityOf(object)!]),
    );
    await this.#until(() => {
      const leaders = this.#operators.filter(({ isLeading }) => isLeading);
      if (leaders.length !== 1) return [`${leaders.length} operators lead`];
      return leaders[0]!.notReconciled(objects);
    }, 'after all has healed');
    await this.#until(() => this.#operators.flatMap((operator) => operator.complaints()), 'after all has healed');
  }

  async #keepLooking(): Promise<void> {
    const { signal } = this.#looking;
    while (!signal.aborted) {
      for (const operator of this.#operators)
        for (const lie of operator.lies()) this.#lies.push(`${operator.name} ${lie}`);
      for (const watcher of this.#watchers) this.#lies.push(...watcher.lies());
      // Servers of different histories have a lease each.
      const leaders = this.#operators.filter(({ isLeading }) => isLeading);
      if (leaders.length > 1 && this.#turns === 0) this.#lies.push(`${leaders.length} operators lead at a time`);
      await this.#grounds.clock.sleep(LOOK_MS, signal).catch(() => {}); // it ends here
    }
  }

  #expectTruth(): void {
    const [first] = this.#lies;
    this.#lies = [];
    if (first !== undefined) throw new Error(first);
  }

  async #expectNothingLeft(): Promise<void> {
    const { line, clock } = this.#grounds;
    this.#looking.abort();
    await this.#looks;
    this.#expectTruth();
    for (const one of [...this.#operators.splice(0), ...this.#watchers.splice(0)]) await one[Symbol.asyncDispose]();
    // Ours end when we say so, within the turn; only the other end of a connection has to hear of it first.
    await new Promise((resolve) => setImmediate(resolve));
    const { sleeping } = clock;
    const listeners = getEventListeners(this.#stop.signal, 'abort').length;
    if (sleeping + listeners > 0) throw new Error(`${sleeping} timers and ${listeners} listeners are left behind`);
    const left = () => [
      ...line.open.map(({ number, userAgent }) => `request ${number} of ${userAgent}`),
      ...(line.connections > 0 ? [`${line.connections} connections`] : []),
    ];
    await this.#until(left, 'are left behind');
  }

  async #until(missing: () => string[], complaint: string): Promise<void> {
    const { clock, settleMs } = this.#grounds;
    const end = clock.now() + settleMs;
    for (let looks = 1; ; looks++) {
      const now = missing();
      if (now.length === 0) return;
      if (clock.now() > end) throw new Error(`${now.join('; ')} ${complaint}`);
      await this.#grounds.pause(looks);
    }
  }

  async #open(kind: Kind, isKept = false, number = this.#watchers.length): Promise<void> {
    const { signal } = this.#stop;
    const grounds = this.#grounds;
    const file = isKept && grounds.truth ? `/checkpoints/${kind.name}` : undefined;
    const watcher = await Watcher.open({ kind, number, grounds, signal, log: this.#log, file });
    this.#watchers[number] = watcher;
    for (let turn = 0; turn < this.#turns; turn++) watcher.mayTurnBack();
    if (this.#turns > 0) watcher.mayFillFreely();
    if (this.#turns > 0 && grounds.truth?.isSetBackVisible === false) watcher.mayBeMisled();
  }

  /** Of the process that has a checkpoint. What was written when it is killed stays, and no more. */
  async #end({ isKilled, downFor }: Step & { do: 'restart client' }): Promise<void> {
    const { disk } = this.#grounds.truth!;
    if (this.#down) await this.#startAgain();
    const index = this.#watchers.findIndex(({ isKept }) => isKept);
    const image = disk.image();
    await this.#watchers[index]![Symbol.asyncDispose]();
    if (isKilled) disk.entries = image;
    this.#down = { index, left: downFor };
  }

  async #startAgain(): Promise<void> {
    const { index } = this.#down!;
    this.#down = undefined;
    await this.#open(this.#kinds[index]!, true, index);
  }

  async #changeHandlers(action: 'slow' | 'throwing' | 'hung' | 'remove'): Promise<void> {
    for (const watcher of this.#watchers.filter((_, index) => index !== this.#down?.index)) {
      if (action === 'remove') await watcher.removeHandler();
      else watcher.addHandler(action);
    }
  }

  async #prepare(): Promise<void> {
    for (const name of NAMESPACES.slice(1))
      await orRefused(this.#grounds.server.client.create('/api/v1/namespaces', { metadata: { name } }));
  }

  #which(whom: Whom): Which {
    if (whom === 'all') return 'watch';
    const wanted = whom % Math.max(this.#grounds.line.open.length, 1);
    let seen = 0;
    return ({ kind }) => kind === 'watch' && seen++ === wanted;
  }
}
