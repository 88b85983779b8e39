/**
 * Random rights, random requests: whether a request is let through, and of what its answer tells, is what a small model
 * of role-based access says (rbac-model.ts). Who is refused changes nothing and learns nothing, not even by a dry run; a
 * watch ends when the right to it is taken away.
 *
 * Each round has rights of its own. `FUZZ_SEED=n` plays that round alone, `FUZZ_ROUNDS=n` so many.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isStatusError } from '../../src/api/index.ts';
import type { Answer, WatchStream } from '../../src/testing/index.ts';
import { Random } from '../support/random.ts';
import { questions } from './access-questions.ts';
import { reads } from './access-reads.ts';
import type { Maker, Try } from './access-try.ts';
import { AccessWorld, marksIn, policyPath } from './access-world.ts';
import { writes } from './access-writes.ts';
import { somePolicies } from './random-policies.ts';
import { type Person, type Policy, type Question, RbacModel } from './rbac-model.ts';

const ROUNDS = 25;
const TRIES = 120;
const WATCHES_KEPT = 8;
const LIMIT_MS = 600_000;
/** Nobody waits so long on a server that does what it should. */
const END_MS = 10_000;

let world: AccessWorld;
beforeAll(async () => {
  world = await AccessWorld.start();
});
afterAll(() => world?.[Symbol.asyncDispose]());

const { FUZZ_SEED: only, FUZZ_ROUNDS: wanted } = process.env;
const seeds = only ? [Number(only)] : Array.from({ length: Number(wanted ?? ROUNDS) }, (_, i) => i + 1);

it(
  `${seeds.length} rounds of random rights: every request is answered as the model says`,
  async () => {
    const total = { allowed: 0, refused: 0, ended: 0, kept: 0 };
    for (const seed of seeds) {
      const round = new Round(world, seed);
      await round.play().catch((cause: Error) => {
        throw new Error(`Replay with FUZZ_SEED=${seed}: ${cause.message}\n${round.tell()}`, { cause });
      });
      for (const count of ['allowed', 'refused', 'ended', 'kept'] as const) total[count] += round.counts[count];
    }
    // Neither answer is rare: a round that refuses or allows everything would show nothing.
    const share = total.allowed / (total.allowed + total.refused);
    if (!only) expect(share).toBeGreaterThan(0.15);
    if (!only) expect(share).toBeLessThan(0.85);
    if (!only) expect(total.ended).toBeGreaterThan(0);
  },
  LIMIT_MS,
);

type Step = { readonly person: Person; readonly question: Question };
type Kept = { readonly step: Step; readonly stream: WatchStream; readonly ended: Promise<void>; isOver: boolean };

class Round {
  readonly counts = { allowed: 0, refused: 0, ended: 0, kept: 0 };
  readonly #world: AccessWorld;
  readonly #random: Random;
  readonly #watches: Kept[] = [];
  #policies: Policy[];
  #model: RbacModel;
  #last = '';

  constructor(on: AccessWorld, seed: number) {
    this.#world = on;
    this.#random = new Random(seed);
    this.#policies = somePolicies(this.#random, on.people);
    this.#model = this.#modelOf(this.#policies);
  }

  async play(): Promise<void> {
    await this.#world.removePolicies();
    await this.#world.addPolicies(this.#policies);
    await this.#world.settle();
    const makers: Maker[] = [...reads, ...writes, ...questions(this.#world.people)];
    let revision = await this.#world.revision();
    try {
      for (let i = 0; i < TRIES; i++) {
        const wish = this.#random.pick(makers)(this.#random);
        const isAllowed = await this.#try(wish);
        this.counts[isAllowed ? 'allowed' : 'refused']++;
        const after = await this.#world.revision();
        if (after !== revision && !(isAllowed && wish.isWrite))
          throw new Error(`something was changed, from ${revision} to ${after}`);
        if (after !== revision && wish.touches) await this.#world.restore(wish.touches.kind, wish.touches.namespace);
        revision = after === revision ? after : await this.#world.revision();
      }
      await this.#takeAway();
    } finally {
      for (const { stream } of this.#watches) stream.body.destroy();
    }
  }

  /** The rights of this round and the last request. */
  tell(): string {
    return [...this.#policies.map((policy) => JSON.stringify(policy)), this.#last].join('\n');
  }

  /** Whether it was let through. */
  async #try(wish: Try): Promise<boolean> {
    const { person, headers, steps } = this.#actor(wish);
    const actor = steps[0]!.person;
    const refused = steps.find(({ person: one, question }) => !this.#model.allows(one, question));
    const isForbidden = !refused && (wish.alsoForbidden?.(this.#model, person) ?? false);
    this.#last = JSON.stringify({
      actor: actor.name,
      headers,
      ...wish,
      wants: refused ?? (isForbidden ? 403 : wish.codes),
    });
    const answer = await this.#send(actor, wish, headers, steps.at(-1)!);
    const text = answer.body.toString('latin1');
    this.#last += `\nanswered ${answer.status}: ${text.slice(0, 2000)}`;
    const told = marksIn(text).filter((mark) => refused || isForbidden || !wish.tells.includes(mark));
    if (told.length > 0) throw new Error(`it tells of ${[...new Set(told)].join(', ')}`);
    if (isForbidden) {
      expect([answer.status, text]).toEqual([403, expect.stringContaining('not currently held')]);
      return false;
    }
    if (refused) {
      expect([answer.status, text]).toEqual([403, expect.stringContaining('Forbidden')]);
      const who = `User "${refused.person.name}" cannot ${refused.question.verb} `;
      expect(text.replaceAll('\\"', '"')).toContain(who);
      return false;
    }
    expect(wish.codes).toContain(answer.status);
    wish.look?.(answer, this.#model, person);
    return true;
  }

  /** Somebody, by his own token or in the name of another; and everything that has to be allowed, in order. */
  #actor({ needs }: Try): { person: Person; headers: Record<string, string>; steps: Step[] } {
    const random = this.#random;
    const { people } = this.#world;
    const own = (person: Person): Step[] => needs.map((question) => ({ person, question }));
    const somebody = random.pick(people);
    if (random.chance(0.8)) return { person: somebody, headers: {}, steps: own(somebody) };
    const { name, groups } = random.pick(people);
    const [, , namespace = '', account] = name.split(':');
    const right = (resource: string, who: string, where = ''): Question => ({
      ...{ verb: 'impersonate', group: '', subresource: '' },
      ...{ resource, namespace: where, name: who },
    });
    const asUser = account === undefined ? right('users', name) : right('serviceaccounts', account, namespace);
    // Most cannot act as others at all: those who can, in part, show more.
    const able = people.filter((one) => this.#model.allows(one, asUser));
    const actor = able.length > 0 && random.chance(0.7) ? random.pick(able) : somebody;
    const group = account === undefined && random.chance(0.7) ? groups[0]! : undefined;
    const given = new Set(account === undefined ? [...(group ? [group] : []), 'system:authenticated'] : groups);
    const person = { name, groups: [...given] };
    const rights = [asUser, ...(group ? [right('groups', group)] : [])];
    return {
      person,
      headers: { 'impersonate-user': name, ...(group && { 'impersonate-group': group }) },
      steps: [...rights.map((question) => ({ person: actor, question })), ...own(person)],
    };
  }

  async #send(actor: Person, wish: Try, impersonation: Record<string, string>, step: Step): Promise<Answer> {
    const { method, path, query = {}, body, contentType = 'application/json', accept = 'application/json' } = wish;
    const client = this.#world.clientOf(actor);
    const headers = { accept, 'content-type': contentType, ...impersonation };
    if (!wish.isWatch) return client.ask(method, path, { query, headers, ...(body && { body: JSON.stringify(body) }) });
    try {
      // The administrator's own client adds `watch=1`; a path of the old spelling does not mind.
      const stream = await client.watch(path, query, { headers });
      const events = await stream.until(({ type }) => type === 'BOOKMARK');
      this.#keep(stream, step);
      return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(events)) };
    } catch (err) {
      if (!isStatusError(err)) throw err;
      return { status: err.code, headers: {}, body: Buffer.from(JSON.stringify(err.status)) };
    }
  }

  #keep(stream: WatchStream, step: Step): void {
    if (this.#watches.length === WATCHES_KEPT) {
      stream.body.destroy();
      return;
    }
    const ended = stream.rest().then(
      () => {
        kept.isOver = true;
      },
      () => {},
    );
    const kept: Kept = { step, stream, ended, isOver: false };
    this.#watches.push(kept);
  }

  #modelOf(policies: readonly Policy[]): RbacModel {
    return new RbacModel([...this.#world.ownPolicies, ...policies]);
  }

  /** One role or binding goes: watches that nothing else allows end, the others go on. */
  async #takeAway(): Promise<void> {
    const isNeeded = (policy: Policy) => {
      const without = this.#modelOf(this.#policies.filter((one) => one !== policy));
      return this.#watches.some(({ step: { person, question } }) => !without.allows(person, question));
    };
    const needed = this.#policies.filter(isNeeded);
    const gone = this.#random.pick(needed.length > 0 ? needed : this.#policies);
    this.#policies = this.#policies.filter((policy) => policy !== gone);
    this.#model = this.#modelOf(this.#policies);
    this.#last = `deleted ${JSON.stringify(gone)}`;
    await this.#world.admin.delete(`${policyPath(gone)}/${gone.metadata.name}`);
    await this.#world.settle();
    const lost = this.#watches.filter(({ step: { person, question } }) => !this.#model.allows(person, question));
    for (const watch of lost) {
      const { step, ended, stream } = watch;
      this.#last = `the watch of ${JSON.stringify(step)} goes on without ${JSON.stringify(gone)}`;
      const late = setTimeout(() => stream.body.destroy(new Error('it did not end')), END_MS);
      await ended;
      clearTimeout(late);
      if (!watch.isOver) throw new Error('a watch goes on that is not allowed any more');
    }
    for (const watch of this.#watches) {
      if (lost.includes(watch)) continue;
      this.#last = `the watch of ${JSON.stringify(watch.step)} ended without ${JSON.stringify(gone)}`;
      if (watch.isOver) throw new Error('a watch ended that is still allowed');
    }
    this.counts.ended += lost.length;
    this.counts.kept += this.#watches.length - lost.length;
  }
}
