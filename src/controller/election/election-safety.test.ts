/**
 * Several candidates, one server, and a hostile world: requests and answers that are slow, lost or refused, processes that
 * stand still for a while, clocks that run at different rates. Time is simulated, so a run of minutes takes milliseconds.
 *
 * What must hold: no two candidates lead at the same moment, where leading means that `isLeading()`, by the candidate's
 * own clock, says so; each term has a higher number than all before it; and when the world has been quiet for a while,
 * somebody leads.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Clock, conflict, notFound } from '../../api/index.ts';
import { LeaderElector } from './leader-elector.ts';
import type { Lease, LeaseClient } from './lease.ts';

const LEASES = { group: 'coordination.k8s.io', plural: 'leases' };

/** Real time of the simulation, and what is to happen in it. */
class World {
  now = 0;
  readonly #events = new Set<{ at: number; order: number; act: () => void }>();
  #order = 0;

  at(time: number, act: () => void): () => void {
    const event = { at: Math.max(time, this.now), order: this.#order++, act };
    this.#events.add(event);
    return () => this.#events.delete(event);
  }

  async runUntil(end: number, afterEach: () => void): Promise<void> {
    await settle();
    for (;;) {
      let next: { at: number; order: number; act: () => void } | undefined;
      for (const event of this.#events)
        if (!next || event.at < next.at || (event.at === next.at && event.order < next.order)) next = event;
      if (!next || next.at > end) break;
      this.#events.delete(next);
      this.now = next.at;
      next.act();
      await settle();
      afterEach();
    }
    this.now = end;
  }
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A process: its clock has a rate of its own, and while it stands still nothing reaches it. */
class Machine implements Clock {
  readonly #world: World;
  readonly #rate: number;
  readonly #offset: number;
  #stillUntil = 0;

  constructor(world: World, rate: number, offset: number) {
    this.#world = world;
    this.#rate = rate;
    this.#offset = offset;
  }

  get isStill(): boolean {
    return this.#world.now < this.#stillUntil;
  }

  now(): number {
    return this.#offset + this.#world.now * this.#rate;
  }

  pause(ms: number): void {
    this.#stillUntil = Math.max(this.#stillUntil, this.#world.now + ms);
  }

  /** At that time, or when the process goes on. */
  deliver(time: number, act: () => void): () => void {
    let cancel: () => void = () => {};
    const attempt = () => {
      if (this.isStill) cancel = this.#world.at(this.#stillUntil, attempt);
      else act();
    };
    cancel = this.#world.at(time, attempt);
    return () => cancel();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const cancel = this.deliver(this.#world.now + ms / this.#rate, () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      });
      const stop = () => {
        cancel();
        reject(signal?.reason);
      };
      signal?.addEventListener('abort', stop, { once: true });
    });
  }
}

type Fate = { thereMs: number; backMs: number; mishap: 'none' | 'lostThere' | 'lostBack' | 'refused' };

class Server {
  stored: Lease | undefined;
  #revision = 0;
  readonly #world: World;
  readonly #fateOf: (machine: Machine) => Fate;

  constructor(world: World, fateOf: (machine: Machine) => Fate) {
    this.#world = world;
    this.#fateOf = fateOf;
  }

  clientOf(machine: Machine): LeaseClient {
    const call = (act: () => Lease) => this.#call(machine, act);
    return {
      getLease: () => call(() => this.#found()),
      createLease: (lease) =>
        call(() => {
          if (this.stored) throw conflict(LEASES, 'boss', 'it exists');
          return this.#write(lease);
        }),
      updateLease: (lease) =>
        call(() => {
          const isCurrent = this.#found().metadata.resourceVersion === lease.metadata.resourceVersion;
          if (!isCurrent) throw conflict(LEASES, 'boss', 'it was modified');
          return this.#write(lease);
        }),
    };
  }

  #call(machine: Machine, act: () => Lease): Promise<Lease> {
    const { thereMs, backMs, mishap } = this.#fateOf(machine);
    return new Promise((resolve, reject) => {
      this.#world.at(this.#world.now + thereMs, () => {
        if (mishap === 'lostThere') return;
        let answer: () => void;
        try {
          if (mishap === 'refused') throw new Error('503');
          const lease = structuredClone(act());
          answer = () => resolve(lease);
        } catch (err) {
          answer = () => reject(err);
        }
        if (mishap !== 'lostBack') machine.deliver(this.#world.now + backMs, answer);
      });
    });
  }

  #found(): Lease {
    if (!this.stored) throw notFound(LEASES, 'boss');
    return this.stored;
  }

  #write(lease: Lease): Lease {
    this.stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: `${++this.#revision}` } };
    return this.stored;
  }
}

const ROUGH_MS = 240_000;
const QUIET_MS = 60_000;
const QUIET_FATE: Fate = { thereMs: 5, backMs: 5, mishap: 'none' };

/** Mostly quick, sometimes just within the time a call is given, sometimes far beyond. */
const delays = fc.oneof(
  { weight: 4, arbitrary: fc.nat(50) },
  { weight: 2, arbitrary: fc.nat(3_400) },
  { weight: 1, arbitrary: fc.nat(20_000) },
);

const fates = fc.record({
  thereMs: delays,
  backMs: delays,
  mishap: fc.oneof(
    { weight: 6, arbitrary: fc.constant('none' as const) },
    { weight: 3, arbitrary: fc.constantFrom('lostThere' as const, 'lostBack' as const, 'refused' as const) },
  ),
});

const worlds = fc.record({
  /** All rates within a factor of 1.5 of each other: the bound that the timings state. */
  machines: fc.array(
    fc.record({
      rate: fc.constantFrom<number>(1, 1.2, 1.49),
      offset: fc.nat(1e6),
      /** How much later than fate has it every answer reaches this machine. */
      lateMs: fc.constantFrom<number>(0, 0, 1_000, 3_300),
    }),
    { minLength: 2, maxLength: 4 },
  ),
  /** For a while, nothing that this machine sends arrives. */
  outages: fc.array(fc.record({ who: fc.nat(3), at: fc.nat(ROUGH_MS), forMs: fc.nat(40_000) }), { maxLength: 12 }),
  fates: fc.array(fates, { minLength: 1, maxLength: 60 }),
  pauses: fc.array(fc.record({ who: fc.nat(3), at: fc.nat(ROUGH_MS), forMs: fc.nat(30_000) }), { maxLength: 12 }),
  restarts: fc.array(fc.record({ who: fc.nat(3), at: fc.nat(ROUGH_MS) }), { maxLength: 6 }),
  randoms: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 20 }),
});

type Scenario = typeof worlds extends fc.Arbitrary<infer T> ? T : never;

/** What went wrong, and how much happened. */
async function simulate(scenario: Scenario): Promise<{ overlaps: string[]; terms: number[]; leadersAtEnd: number }> {
  const world = new World();
  let calls = 0;
  let draws = 0;
  const machines = scenario.machines.map(({ rate, offset }) => new Machine(world, rate, offset));
  const isCutOff = (machine: Machine) =>
    scenario.outages.some(
      ({ who, at, forMs }) => machines[who % machines.length] === machine && at <= world.now && world.now < at + forMs,
    );
  const server = new Server(world, (machine) => {
    if (world.now >= ROUGH_MS) return QUIET_FATE;
    const fate = scenario.fates[calls++ % scenario.fates.length]!;
    const { lateMs } = scenario.machines[machines.indexOf(machine)]!;
    return { ...fate, backMs: fate.backMs + lateMs, ...(isCutOff(machine) && { mishap: 'lostThere' }) };
  });
  let births = 0;
  const start = (machine: Machine) =>
    new LeaderElector({
      leases: server.clientOf(machine),
      lease: { name: 'boss', namespace: 'default' },
      identity: `candidate-${births++}`,
      clock: machine,
      wallNow: () => machine.now(),
      random: () => scenario.randoms[draws++ % scenario.randoms.length]!,
    });
  const electors = machines.map(start);
  for (const { who, at, forMs } of scenario.pauses)
    world.at(at, () => machines[who % machines.length]!.pause(Math.min(forMs, ROUGH_MS - at)));
  const stops: Promise<void>[] = [];
  for (const { who, at } of scenario.restarts) {
    const index = who % machines.length;
    machines[index]!.deliver(at, () => {
      stops.push(electors[index]!.stop());
      electors[index] = start(machines[index]!);
    });
  }
  for (let at = 0; at < ROUGH_MS; at += 250) world.at(at, () => {}); // a moment to look at

  const overlaps: string[] = [];
  const terms: number[] = [];
  await world.runUntil(ROUGH_MS + QUIET_MS, () => {
    const leading = electors.filter((elector) => elector.isLeading());
    if (leading.length > 1) overlaps.push(`${world.now}: ${leading.map(({ identity }) => identity).join(', ')}`);
    for (const elector of leading) {
      const { role } = elector;
      if (role.kind === 'leading' && role.token.term !== terms.at(-1)) terms.push(role.token.term);
    }
  });
  const leadersAtEnd = electors.filter((elector) => elector.isLeading()).length;
  stops.push(...electors.map((elector) => elector.stop()));
  await world.runUntil(world.now + 60_000, () => {});
  await Promise.all(stops);
  return { overlaps, terms, leadersAtEnd };
}

describe('an election', () => {
  it('never has two leaders, numbers its terms upwards, and has a leader once the world is quiet', async () => {
    let termsSeen = 0;
    await fc.assert(
      fc.asyncProperty(worlds, async (scenario) => {
        const { overlaps, terms, leadersAtEnd } = await simulate(scenario);
        expect(overlaps).toEqual([]);
        expect(terms).toEqual([...new Set(terms)].sort((a, b) => a - b));
        expect(leadersAtEnd).toBe(1);
        termsSeen += terms.length;
      }),
      { numRuns: 60, interruptAfterTimeLimit: 40_000 },
    );
    expect(termsSeen).toBeGreaterThan(0); // leadership did change hands
  }, 60_000);

  it('has one leader when a slow one is cut off at the worst moment, and its rival has a fast clock', async () => {
    for (let at = 5_000; at < 40_000; at += 1_000) {
      const { overlaps, terms } = await simulate({
        machines: [
          { rate: 1, offset: 0, lateMs: 3_500 },
          { rate: 1.49, offset: 0, lateMs: 0 },
        ],
        fates: [{ thereMs: 5, backMs: 5, mishap: 'none' }],
        outages: [{ who: 0, at, forMs: 60_000 }],
        pauses: [{ who: 1, at: 0, forMs: 6_000 }], // so that the slow one comes first
        restarts: [],
        randoms: [0],
      });
      expect(overlaps).toEqual([]);
      expect(terms.length).toBeGreaterThan(1);
    }
  }, 60_000);

  it('is caught with two leaders by this test if clocks are further apart than stated', async () => {
    const { overlaps } = await simulate({
      machines: [
        { rate: 1, offset: 0, lateMs: 0 },
        { rate: 3, offset: 0, lateMs: 0 },
      ],
      fates: [{ thereMs: 5, backMs: 5, mishap: 'none' }],
      outages: [{ who: 0, at: 10_000, forMs: 60_000 }],
      pauses: [{ who: 1, at: 0, forMs: 1_000 }],
      restarts: [],
      randoms: [0],
    });
    expect(overlaps.length).toBeGreaterThan(0);
  });
});
