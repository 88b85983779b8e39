import { beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../errors.ts';
import type { Revision } from '../kv.ts';
import type { EngineCommit, LogEngine } from './engine/engine.ts';
import type { Change } from './state/head.ts';
import { type Removal, WritePipeline } from './write-pipeline.ts';

const MAX_PENDING_BYTES = 1000;

/** A commit that waits for the test to decide its fate. */
type HeldCommit = EngineCommit & {
  succeed(): Promise<void>;
  fail(why: string): Promise<void>;
  /** As a full disk does. */
  refuse(): Promise<void>;
};

let commits: HeldCommit[];
let log: string[];
let failures: StoreError[];
let removals: Removal[];
let pipeline: WritePipeline;

beforeEach(() => {
  commits = [];
  log = [];
  failures = [];
  removals = [];
  const commit = (asked: EngineCommit) =>
    new Promise<void>((resolve, reject) => {
      const settle = async (end: () => void) => {
        end();
        await turn();
      };
      // What is asked for is fixed now: later changes to the group must not slip in.
      commits.push({
        append: [...asked.append],
        remove: [...asked.remove],
        meta: new Map(asked.meta),
        leases: new Map(asked.leases),
        succeed: () => settle(resolve),
        fail: (why) => settle(() => reject(new Error(why))),
        refuse: () => settle(() => reject(new StoreError('NoSpace', 'full'))),
      });
    });
  pipeline = new WritePipeline({
    engine: { commit } as Partial<LogEngine> as LogEngine,
    publish: (changes) => void log.push(`published ${changes.map(({ key }) => key)}`),
    compaction: {
      take: () => removals.shift(),
      committed: (removal) => void log.push(`removed ${removal.remove.length} until ${removal.finished}`),
    },
    onFailure: (error) => void failures.push(error),
    onRefusal: () => void log.push('given up'),
    maxPendingBytes: MAX_PENDING_BYTES,
  });
});

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

let revision = 1;
function change(key: string, bytes = 10): Change {
  const version = { modRevision: ++revision, sub: 0, createRevision: revision, version: 1, lease: 0n };
  return { key, version, record: Buffer.alloc(bytes) };
}

/** Adds a change and notes in the log how it ended. */
function add(key: string, bytes?: number): Promise<void> {
  return pipeline.add({ changes: [change(key, bytes)] }).then(
    () => void log.push(`done ${key}`),
    (err: StoreError) => void log.push(`${err.code} ${key}`),
  );
}

const sizes = () => commits.map(({ append }) => append.length);

describe('the write pipeline', () => {
  it('commits a lone write at once, with its position in the log', async () => {
    const only = change('a');
    const done = pipeline.add({ changes: [only] });
    await turn();
    expect(commits[0]!.append).toEqual([{ revision: only.version.modRevision, sub: 0, record: only.record }]);
    await commits[0]!.succeed();
    await done;
    await turn();
    expect(commits).toHaveLength(1);
  });

  it('puts all of one turn in one commit, and all that comes meanwhile in the next', async () => {
    const all = [add('a'), add('b')];
    await turn();
    all.push(add('c'));
    await turn();
    all.push(add('d'), add('e'));
    await turn();
    expect(sizes()).toEqual([2]);
    await commits[0]!.succeed();
    expect(sizes()).toEqual([2, 3]);
    await commits[1]!.succeed();
    await Promise.all(all);
    expect(log).toEqual(['published a,b', 'done a', 'done b', 'published c,d,e', 'done c', 'done d', 'done e']);
  });

  it('publishes nothing before its commit has resolved', async () => {
    void add('a');
    await turn();
    await turn();
    expect(log).toEqual([]);
    await commits[0]!.succeed();
    expect(log).toEqual(['published a', 'done a']);
  });

  it('says until when everything added so far is durable', async () => {
    expect(pipeline.settled()).toBeUndefined();
    void add('a');
    await turn();
    void add('b');
    void pipeline.settled()!.then(() => log.push('settled'));
    await commits[0]!.succeed();
    expect(log).not.toContain('settled');
    await commits[1]!.succeed();
    expect(log.at(-1)).toBe('settled');
    expect(pipeline.settled()).toBeUndefined();
  });

  it('splits what waits into groups without tearing one add apart', async () => {
    void add('first');
    await turn();
    const big = Array.from({ length: 1000 }, (_, i) => change(`big${i}`, 0));
    const bigger = Array.from({ length: 700 }, (_, i) => change(`bigger${i}`, 0));
    void pipeline.add({ changes: big });
    void pipeline.add({ changes: bigger });
    void pipeline.add({ changes: [change('last', 0)] });
    for (let i = 0; i < 3; i++) await commits[i]!.succeed();
    expect(sizes()).toEqual([1, 1700, 1]);
  });

  it('refuses to gather more than its limit, and takes writes again when the disk has caught up', async () => {
    void add('a', MAX_PENDING_BYTES);
    pipeline.checkRoom();
    void add('b', 1);
    expect(() => pipeline.checkRoom()).toThrow(expect.objectContaining({ code: 'TooManyRequests' }));
    await turn();
    expect(() => pipeline.checkRoom()).toThrow(expect.objectContaining({ code: 'TooManyRequests' }));
    await commits[0]!.succeed();
    pipeline.checkRoom();
  });

  it('carries marks and leases in the commit of the work they came with', async () => {
    void pipeline.add({ meta: ['compact.scheduled', 7], lease: [5n, 60] });
    void pipeline.add({ lease: [6n, undefined] });
    await turn();
    expect([...commits[0]!.meta]).toEqual([['compact.scheduled', 7]]);
    expect([...commits[0]!.leases]).toEqual([
      [5n, 60],
      [6n, undefined],
    ]);
  });
});

describe('removals', () => {
  const portion = (count: number, finished?: Revision): Removal => ({
    remove: Array.from({ length: count }, (_, sub) => ({ revision: 2, sub })),
    finished,
  });

  it('ride along with writes, a portion per commit', async () => {
    removals.push(portion(2), portion(1, 9));
    void add('a');
    await turn();
    void add('b');
    expect(commits[0]!.remove).toHaveLength(2);
    expect(commits[0]!.meta.has('compact.finished')).toBe(false);
    await commits[0]!.succeed();
    expect(commits[1]).toMatchObject({ append: [{ sub: 0 }], remove: [{ revision: 2, sub: 0 }] });
    expect(commits[1]!.meta.get('compact.finished')).toBe(9);
    expect(log).toEqual(['published a', 'removed 2 until undefined', 'done a']);
  });

  it('go by themselves when nobody writes, until there are no more', async () => {
    removals.push(portion(2), portion(0, 9));
    pipeline.wake();
    await turn();
    await commits[0]!.succeed();
    await commits[1]!.succeed();
    expect(sizes()).toEqual([0, 0]);
    expect(log.filter((line) => line.startsWith('removed'))).toEqual([
      'removed 2 until undefined',
      'removed 0 until 9',
    ]);
    expect(pipeline.settled()).toBeUndefined();
  });

  it('are not reported gone when their commit failed', async () => {
    removals.push(portion(2));
    pipeline.wake();
    await turn();
    await commits[0]!.fail('disk full');
    expect(log).toEqual([]);
    expect(failures).toHaveLength(1);
  });
});

describe('a commit that fails', () => {
  async function failWithTwoWaiting(): Promise<void> {
    void add('inFlight');
    await turn();
    void add('waiting1');
    void add('waiting2');
    await turn();
    await commits[0]!.fail('Input/output error');
  }

  it('leaves the outcome of what was in flight unknown, and refuses what waits', async () => {
    await failWithTwoWaiting();
    expect([...log].sort()).toEqual(['Closed waiting1', 'Closed waiting2', 'OutcomeUnknown inFlight']);
    expect(commits).toHaveLength(1);
  });

  it('is told once, with its cause', async () => {
    await failWithTwoWaiting();
    await turn();
    expect(failures).toHaveLength(1);
    expect(failures[0]).toMatchObject({ code: 'Closed', cause: { message: 'Input/output error' } });
    expect(failures[0]!.message).toContain('Input/output error');
  });

  it('refuses all that asks for room later', async () => {
    await failWithTwoWaiting();
    expect(() => pipeline.checkRoom()).toThrow(expect.objectContaining({ code: 'Closed' }));
  });

  it('refuses all that is added later', async () => {
    await failWithTwoWaiting();
    log = [];
    void add('late');
    pipeline.wake();
    await turn();
    expect(log).toEqual(['Closed late']);
    expect(commits).toHaveLength(1);
  });

  it('leaves it idle', async () => {
    await failWithTwoWaiting();
    await pipeline.idle();
  });
});

describe('ending it', () => {
  it('refuses what waits and finishes what is in flight', async () => {
    void add('inFlight');
    await turn();
    void add('waiting');
    pipeline.fail({ code: 'Closed' } as StoreError);
    let isIdle = false;
    const idle = pipeline.idle().then(() => {
      isIdle = true;
    });
    await turn();
    expect(isIdle).toBe(false);
    await commits[0]!.succeed();
    await idle;
    expect(log).toEqual(['Closed waiting', 'published inFlight', 'done inFlight']);
    expect(failures).toEqual([]);
  });
});

describe('a full disk', () => {
  it('refuses what was asked and all that waits behind it, after everything is given up, and takes the next', async () => {
    const first = add('a');
    await turn();
    const others = [add('b'), add('c')];
    await commits[0]!.refuse();
    await Promise.all([first, ...others]);
    expect(log).toEqual(['given up', 'NoSpace a', 'NoSpace b', 'NoSpace c']);
    expect([failures, pipeline.pendingBytes]).toEqual([[], 0]);
    const next = add('d');
    await turn();
    await commits[1]!.succeed();
    await next;
    expect(log.slice(4)).toEqual(['published d', 'done d']);
  });

  it('has what it refused to remove removed later, in smaller portions, with its mark in the last', async () => {
    const remove = Array.from({ length: 40 }, (_, i) => ({ revision: i + 2, sub: 0 }));
    removals.push({ remove, finished: 90 });
    pipeline.wake();
    await turn();
    await commits[0]!.refuse();
    expect(commits).toHaveLength(1); // not at once: it would be refused again
    pipeline.wake();
    await turn();
    await commits[1]!.refuse();
    pipeline.wake();
    await turn();
    for (let i = 2; i < commits.length; i++) await commits[i]!.succeed();
    expect(commits.slice(2).flatMap((commit) => commit.remove)).toEqual(remove);
    expect(commits.slice(2).map((commit) => commit.meta.get('compact.finished'))).toEqual([undefined, undefined, 90]);
    expect(log.filter((line) => line.startsWith('removed'))).toEqual([
      'removed 15 until undefined',
      'removed 15 until undefined',
      'removed 10 until 90',
    ]);
  });
});
