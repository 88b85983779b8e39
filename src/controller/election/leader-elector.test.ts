import { describe, expect, it } from 'vitest';
import { conflict, notFound } from '../../api/index.ts';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { LeaderElector, type LeaderElectorOptions } from './leader-elector.ts';
import type { Lease, LeaseClient } from './lease.ts';

const LEASES = { group: 'coordination.k8s.io', plural: 'leases' };
const NAME = { name: 'boss', namespace: 'default' };

/** One lease with compare-and-swap, and a switch for each way the network can fail. */
class FakeLeases implements LeaseClient {
  stored: Lease | undefined;
  revision = 0;
  fails: 'never' | 'refuses' | 'hangs' | 'forgetsToAnswer' = 'never';
  calls: string[] = [];

  getLease(): Promise<Lease> {
    return this.#answer('get', () => {
      if (!this.stored) throw notFound(LEASES, 'boss');
      return this.stored;
    });
  }

  createLease(lease: Lease): Promise<Lease> {
    return this.#answer('create', () => {
      if (this.stored) throw conflict(LEASES, 'boss', 'it exists');
      return this.write(lease);
    });
  }

  updateLease(lease: Lease): Promise<Lease> {
    return this.#answer('update', () => {
      if (!this.stored) throw notFound(LEASES, 'boss');
      if (this.stored.metadata.resourceVersion !== lease.metadata.resourceVersion)
        throw conflict(LEASES, 'boss', 'it was modified');
      return this.write(lease);
    });
  }

  write(lease: Lease): Lease {
    this.stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: `${++this.revision}` } };
    return this.stored;
  }

  async #answer(call: string, act: () => Lease): Promise<Lease> {
    this.calls.push(call);
    if (this.fails === 'refuses') throw new Error('connection refused');
    if (this.fails === 'hangs') return new Promise(() => {});
    const lease = act();
    if (this.fails === 'forgetsToAnswer') return new Promise(() => {});
    return structuredClone(lease);
  }
}

const setUp = (more: Partial<LeaderElectorOptions> = {}) => {
  const clock = new FakeClock();
  const leases = new FakeLeases();
  const errors: string[] = [];
  const start = (identity: string): LeaderElector =>
    new LeaderElector({
      leases,
      lease: NAME,
      identity,
      clock,
      wallNow: () => clock.now(),
      random: () => 0.5,
      onError: (err) => errors.push(String(err)),
      ...more,
    });
  return { clock, leases, errors, start };
};

const watchRoles = (elector: LeaderElector, clock: FakeClock): string[] => {
  const seen: string[] = [];
  void (async () => {
    for await (const role of elector.roles())
      seen.push(
        `${clock.now()} ${role.kind === 'leading' ? `leading ${role.token.term}` : `following ${role.leader}`}`,
      );
    seen.push('end');
  })();
  return seen;
};

describe('LeaderElector', () => {
  it('creates the lease, leads, and renews every two seconds', async () => {
    const { clock, leases, start } = setUp();
    const a = start('a');
    const roles = watchRoles(a, clock);
    await clock.advance(10_000);
    expect(a.role).toEqual({ kind: 'leading', token: { term: 0, resourceVersion: '1' } });
    expect(leases.calls).toEqual(['get', 'create', ...Array(5).fill('update')]);
    expect(leases.stored?.spec).toEqual({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '1970-01-01T00:00:00.000000Z',
      renewTime: '1970-01-01T00:00:10.000000Z',
      leaseTransitions: 0,
    });
    await a.stop();
    expect(roles).toEqual(['0 following ', '0 leading 0', '10000 following ', 'end']);
  });

  it('gives the lease away when stopped, and a rival that is told takes over at once', async () => {
    const { clock, leases, start } = setUp();
    const a = start('a');
    await clock.advance(1);
    const b = start('b');
    await clock.advance(5_000);
    expect(b.role).toEqual({ kind: 'following', leader: 'a' });
    const stopped = a.stop();
    await clock.advance(0);
    await stopped;
    expect(leases.stored?.spec).toMatchObject({ holderIdentity: '', leaseDurationSeconds: 1 });
    b.poke();
    await clock.advance(1);
    expect(b.role).toMatchObject({ kind: 'leading', token: { term: 1 } });
    await b.stop();
  });

  it('takes over when a rival falls silent, by its own clock and not by what the lease says', async () => {
    const { clock, leases, start } = setUp();
    leases.write({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: NAME,
      spec: { holderIdentity: 'ghost', leaseDurationSeconds: 15, renewTime: '1999-01-01T00:00:00.000000Z' },
    });
    const a = start('a');
    await clock.advance(14_999);
    expect(a.role).toEqual({ kind: 'following', leader: 'ghost' });
    await clock.advance(200);
    expect(a.role.kind).toBe('leading');
    await a.stop();
  });

  it.each(['refuses', 'hangs'] as const)('steps down at the renew deadline when the server %s', async (fails) => {
    const { clock, leases, errors, start } = setUp();
    const a = start('a');
    await clock.advance(4_500);
    const roles = watchRoles(a, clock);
    leases.fails = fails;
    await clock.advance(20_000);
    // The last renewal that got through was asked for after 4 s.
    expect(roles.slice(0, 2)).toEqual(['4500 leading 0', '14000 following ']);
    expect(errors.length).toBeGreaterThan(1);
    leases.fails = 'never';
    await clock.advance(10_000);
    expect(a.role).toMatchObject({ kind: 'leading', token: { term: 1 } });
    await a.stop();
  });

  it('goes on in the same term when a renewal got through but its answer did not', async () => {
    const { clock, leases, start } = setUp();
    const a = start('a');
    await clock.advance(1_000);
    const roles = watchRoles(a, clock);
    leases.fails = 'forgetsToAnswer';
    await clock.advance(3_000);
    leases.fails = 'never';
    await clock.advance(20_000);
    expect(roles).toEqual(['1000 leading 0']);
    await a.stop();
  });

  it('steps down when another holds the lease, or it is gone', async () => {
    const { clock, leases, start } = setUp();
    const a = start('a');
    await clock.advance(1_000);
    const roles = watchRoles(a, clock);
    leases.write({ ...leases.stored!, spec: { ...leases.stored!.spec, holderIdentity: 'b', leaseTransitions: 1 } });
    await clock.advance(2_000);
    expect(roles).toEqual(['1000 leading 0', '2000 following b']);
    leases.stored = undefined;
    await clock.advance(14_000);
    expect(a.isLeading()).toBe(false); // whoever held it may not know yet
    await clock.advance(5_000);
    expect(a.isLeading()).toBe(true);
    leases.stored = undefined;
    await clock.advance(2_000);
    expect(roles.at(-1)).toContain('following');
    await a.stop();
  });

  it('reports the loss before it does anything else after its loop was blocked', async () => {
    const clock = new JumpingClock();
    const { leases, start } = setUp({ clock, wallNow: () => clock.now() });
    const a = start('a');
    const happened: string[] = [];
    void a.runWhenLeading(async (signal, leadership) => {
      happened.push(`lead ${leadership.token.term}`);
      signal.addEventListener('abort', () => happened.push(`lost, ${leases.calls.length} calls`));
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    });
    await clock.advance(1_000);
    const calls = leases.calls.length;
    clock.jump(9_500); // nothing runs meanwhile
    await clock.advance(1_000); // the sleep between two renewals ends, far too late
    expect(happened).toEqual(['lead 0', `lost, ${calls} calls`]);
    await a.stop();
  });

  it('tells a leader that asks right after a block, before any timer had a chance', async () => {
    const clock = new JumpingClock();
    const { start } = setUp({ clock, wallNow: () => clock.now() });
    const a = start('a');
    let check: () => void = () => {};
    const done = a.runWhenLeading(async (signal, leadership) => {
      check = leadership.check;
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    });
    await clock.advance(1_000);
    check();
    clock.jump(10_000);
    expect(() => check()).toThrow('the term has ended');
    expect(a.isLeading()).toBe(false);
    await a.stop();
    await done;
  });

  it('counts time that the machine slept through', async () => {
    let sleptMs = 0;
    const clock = new FakeClock();
    const { start } = setUp({ clock, wallNow: () => clock.now() + sleptMs });
    const a = start('a');
    await clock.advance(1_000);
    expect(a.isLeading()).toBe(true);
    sleptMs = 60_000;
    expect(a.isLeading()).toBe(false);
    await a.stop();
  });

  it('does not give the lease away, nor campaign, while work of the term still runs', async () => {
    const { clock, leases, start } = setUp();
    const a = start('a');
    let finish: () => void = () => {};
    const done = a.runWhenLeading(() => new Promise<void>((resolve) => (finish = resolve)));
    await clock.advance(1_000);
    const stopped = a.stop();
    await clock.advance(5_000);
    expect(leases.stored?.spec?.holderIdentity).toBe('a');
    finish();
    await clock.advance(1);
    await stopped;
    await done;
    expect(leases.stored?.spec?.holderIdentity).toBe('');
  });

  it('leaves the lease to run out if the work outlives the term', async () => {
    const { clock, leases, start } = setUp();
    const a = start('a');
    void a.runWhenLeading(() => new Promise<void>(() => {}));
    await clock.advance(1_000);
    const stopped = a.stop();
    await clock.advance(10_000);
    await stopped;
    expect(leases.stored?.spec?.holderIdentity).toBe('a');
  });

  it('passes on what the work throws by itself, and runs it anew in each term', async () => {
    const { clock, leases, start } = setUp();
    const a = start('a');
    const terms: number[] = [];
    const failing = a.runWhenLeading(() => Promise.reject(new Error('a bug')));
    failing.catch(() => {});
    const done = a.runWhenLeading(async (signal, { token }) => {
      terms.push(token.term);
      await new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    await clock.advance(1_000);
    await expect(failing).rejects.toThrow('a bug');
    leases.fails = 'refuses';
    await clock.advance(15_000);
    leases.fails = 'never';
    await clock.advance(10_000);
    await a.stop();
    await done;
    expect(terms).toEqual([0, 1]);
  });

  it.each<[claim: string, options: Partial<LeaderElectorOptions>]>([
    ['a lease no longer than the deadline', { leaseDurationMs: 10_000 }],
    ['a deadline within one retry', { renewDeadlineMs: 2_400 }],
    ['no retry', { retryMs: 0 }],
  ])('refuses %s', (_claim, options) => {
    expect(() => setUp(options).start('a')).toThrow('Cannot run an election');
  });
});

/** Can go forward without waking anybody, as time does while the event loop is blocked. */
class JumpingClock extends FakeClock {
  #jumpedMs = 0;

  override now(): number {
    return super.now() + this.#jumpedMs;
  }

  jump(ms: number): void {
    this.#jumpedMs += ms;
  }
}
