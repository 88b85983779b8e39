/**
 * A file of stall tests: a victim that is there for all of them, and one test for each entry point, which plays all
 * cases of it and says of each that breaks the budget what it took.
 *
 * Cases that need nothing beforehand are played in one go first: together they are nearly always fast, and then none of
 * them is slow. With `STALL_REPORT` set to a file, the figures of every case are written there.
 */
import { appendFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type TemporaryDir, temporaryDir } from '../support/temporary-dir.ts';
import { canMeter } from '../support/victim/process-meter.ts';
import { type ServerReady, ServerTarget, startServerVictim } from '../support/victim/server-target.ts';
import { areFast, judge, type StallCase } from '../support/victim/stall-case.ts';
import type { Ready, Victim } from '../support/victim/victim.ts';
import { ClientTarget, startClientVictim } from './client-target.ts';

const TEST_MS = 300_000;
const AT_ONCE = 24;

/** `prepare` is done once; what it stores stays when the server is started again. */
export function attackServer(
  claim: string,
  cases: readonly StallCase<ServerTarget>[],
  prepare: (target: ServerTarget) => Promise<void> = async () => {},
): void {
  describe.skipIf(!canMeter())(claim, () => {
    let dir: TemporaryDir | undefined;
    let victim: Victim<ServerReady> | undefined;
    let target: ServerTarget | undefined;
    const current = () => {
      if (target?.url !== victim!.ready.url) target = new ServerTarget(victim!.ready);
      return target!;
    };
    beforeAll(async () => {
      dir = await temporaryDir();
      victim = await startServerVictim(dir.path);
      await current().must({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'stall' } } });
      await prepare(current());
    }, TEST_MS);
    afterAll(async () => {
      await victim?.[Symbol.asyncDispose]();
      await dir?.[Symbol.asyncDispose]();
    });
    testEach(cases, () => victim!, current);
  });
}

export function attackClient(claim: string, cases: readonly StallCase<ClientTarget>[]): void {
  describe.skipIf(!canMeter())(claim, () => {
    let victim: Victim | undefined;
    let target: ClientTarget | undefined;
    beforeAll(async () => {
      victim = await startClientVictim();
      target = await ClientTarget.start(victim);
    }, TEST_MS);
    afterAll(async () => {
      await target?.[Symbol.asyncDispose]();
      await victim?.[Symbol.asyncDispose]();
    });
    testEach(
      cases,
      () => victim!,
      () => target!,
    );
  });
}

function testEach<R extends Ready, T>(cases: readonly StallCase<T>[], victim: () => Victim<R>, target: () => T): void {
  const groups = new Map<string, StallCase<T>[]>();
  for (const one of cases) groups.set(one.covers[0]!, [...(groups.get(one.covers[0]!) ?? []), one]);
  it.each([...groups])(
    '%s',
    async (_entryPoint, group) => {
      const slow: string[] = [];
      for (const one of await suspects(victim(), target, group)) {
        const { faults, figures } = await judge(victim(), target, one);
        report(`${faults.length > 0 ? 'SLOW' : 'ok'}\t${one.name}\t${faults.join(', ')}\t${figures}\n`);
        if (faults.length > 0) slow.push(`${one.name} ${faults.join(', ')} (${figures})`);
      }
      expect(slow).toEqual([]);
    },
    TEST_MS,
  );
}

/** Those that have to be looked at one by one. */
async function suspects<R extends Ready, T>(
  victim: Victim<R>,
  target: () => T,
  cases: readonly StallCase<T>[],
): Promise<StallCase<T>[]> {
  const found = cases.filter(({ before, after }) => before || after);
  const simple = cases.filter(({ before, after }) => !before && !after);
  for (let from = 0; from < simple.length; from += AT_ONCE) {
    const some = simple.slice(from, from + AT_ONCE);
    if (!(await areFast(victim, target, some))) found.push(...some);
  }
  return found;
}

function report(line: string): void {
  if (process.env.STALL_REPORT) appendFileSync(process.env.STALL_REPORT, line);
}
