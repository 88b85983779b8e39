import { expect, it } from 'vitest';
import type { ProxiedRequest } from './fault-exchange.ts';
import { FaultPlan, readFaults } from './fault-plan.ts';
import type { FaultProxy } from './fault-proxy.ts';

const request = (kind: ProxiedRequest['kind'], path = '/api/v1/pods'): ProxiedRequest => ({
  number: 1,
  method: kind === 'write' ? 'POST' : 'GET',
  path,
  query: new URLSearchParams(),
  userAgent: '',
  kind,
  code: undefined,
  faults: [],
});

const planOf = (faults: object[], seed = 1) => new FaultPlan(readFaults({ faults }).rules, seed, {});
const fates = (plan: FaultPlan, n = 200) => Array.from({ length: n }, () => plan.decide(request('list')));

it('the same seed gives the same faults, another one others, and the share is the chance', () => {
  const faults = [{ fault: 'answer', to: 'list', code: 429, retryAfter: '2s', chance: 0.25 }];
  const first = fates(planOf(faults, 7));
  expect(fates(planOf(faults, 7))).toEqual(first);
  expect(fates(planOf(faults, 8))).not.toEqual(first);
  const struck = first.filter((fate) => fate !== undefined);
  expect(struck.length).toBeGreaterThan(30);
  expect(struck.length).toBeLessThan(70);
  expect(struck[0]).toEqual({ answer: { code: 429, retryAfterSeconds: 2 } });
});

it('a rule strikes what it names, as often as it says, and the first that strikes decides', () => {
  const plan = planOf([
    { fault: 'cut', to: 'write', path: '/api/v1/namespaces/shop/', times: 2 },
    { fault: 'delay', delay: '250ms' },
  ]);
  const inShop = request('write', '/api/v1/namespaces/shop/pods');
  expect([inShop, request('list'), inShop, inShop].map((one) => plan.decide(one))).toEqual([
    { cut: true },
    { delayMs: 250 },
    { cut: true },
    { delayMs: 250 },
  ]);
});

it('what one rule does is the same whatever stands before it', () => {
  const garble = { fault: 'garble', to: 'list', chance: 0.3 };
  const never = { fault: 'cut', to: 'write' };
  const alone = planOf([never, garble]);
  const behind = planOf([{ fault: 'cut', to: 'watch', chance: 0.5 }, garble]);
  const both = Array.from({ length: 100 }, () => {
    behind.decide(request('watch'));
    return [alone.decide(request('list')), behind.decide(request('list'))];
  });
  for (const [one, other] of both) expect(one).toEqual(other);
});

it('history that is gone is told to who resumes, again and again, until it has read the state', async () => {
  const plan = planOf([{ fault: 'compact', after: '0s' }]);
  const watch = { ...request('watch'), query: new URLSearchParams({ resourceVersion: '7' }), userAgent: 'a' };
  const proxy = { sendError: (which: (request: ProxiedRequest) => boolean) => Number(which(watch)) };
  await plan.run(proxy as unknown as FaultProxy, new AbortController().signal);
  const gone = { answer: { code: 410 } };
  expect([plan.decide(watch), plan.decide(watch)]).toEqual([gone, gone]);
  expect(plan.decide({ ...watch, userAgent: 'b' })).toBeUndefined(); // whose watch was not open
  expect(plan.decide({ ...request('list'), userAgent: 'a' })).toBeUndefined();
  expect(plan.decide(watch)).toBeUndefined();
});

it.each([
  [{}, 'faults must be a list'],
  [{ faults: [{ fault: 'explode' }] }, 'faults[0].fault must be one of cut, stall, end, '],
  [{ faults: [{ fault: 'cut' }, { fault: 'cut', chance: 2 }] }, 'faults[1].chance must be a number from 0, not 2'],
  [
    { faults: [{ fault: 'delay', delay: 'soon' }] },
    'faults[0].delay must be a duration such as 200ms or 1m, not "soon"',
  ],
  [{ faults: [{ fault: 'cut', when: 'now' }] }, 'faults[0] has "when", which means nothing here'],
  [{ faults: [{ fault: 'compact' }] }, 'faults[0] needs after or every: "compact" strikes what is open'],
])('%j is refused: %s', (document, message) => {
  expect(() => readFaults(document)).toThrow(`Cannot use the faults: ${message}`);
});
