import { expect, it, vi } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import type { Expiry } from '../rest/reading/expiry.ts';
import { Expirations } from './expirations.ts';

function expiry(more: Partial<Expiry> = {}, agent = 'client/1'): Expiry {
  return {
    request: {
      user: { username: 'alice', groups: ['devs'] },
      impersonator: undefined,
      userAgent: agent,
      address: '127.0.0.1',
      verb: 'watch',
      group: 'apps',
      version: 'v1',
      resource: 'deployments',
      namespace: '',
      resourceVersion: '12',
      sendsInitialEvents: false,
    },
    askedRevision: 12,
    wasOpen: false,
    oldestRevision: undefined,
    reason: 'compaction',
    message: 'too old resource version: 12 (100)',
    ...more,
  };
}

const history = async () => ({ revision: 200, oldest: 100, compactedAt: Date.UTC(2026, 0, 1) });
const statusesOf = (expirations: Expirations) => [...expirations.items()].map(({ object }) => object.status);

it('each says why and what helps, with what the store knows', async () => {
  const lines: string[] = [];
  const expirations = new Expirations({ history, log: (line) => void lines.push(line) });
  expirations.note(expiry());
  expirations.note(expiry({ wasOpen: true, askedRevision: 50 }));
  expirations.note(expiry({ reason: 'history' }));
  await eventually(() => expect(lines).toHaveLength(3));
  expect(statusesOf(expirations)).toEqual([
    expect.objectContaining({
      reason: 'Compaction',
      askedRevision: 12,
      oldestRevision: 100,
      currentRevision: 200,
      compactedAt: '2026-01-01T00:00:00Z',
      explanation: 'the history before revision 100 was compacted at 2026-01-01T00:00:00Z',
      remedy: expect.stringContaining('allowWatchBookmarks'),
    }),
    expect.objectContaining({ wasOpen: true, askedRevision: 50, remedy: expect.stringContaining('faster') }),
    expect.objectContaining({ reason: 'History', explanation: expect.stringContaining('another history') }),
  ]);
  expect(lines[0]).toBe(
    '410 Gone: watch of deployments.apps by "alice" with "client/1" from revision 12: ' +
      'too old resource version: 12 (100); the history before revision 100 was compacted at 2026-01-01T00:00:00Z',
  );
  expect([...expirations.counts.values()]).toEqual([
    { labels: { group: 'apps', resource: 'deployments', verb: 'watch', reason: 'compaction' }, count: 2 },
    { labels: { group: 'apps', resource: 'deployments', verb: 'watch', reason: 'history' }, count: 1 },
  ]);
});

it('the last thousand are kept, all are counted, and nobody fills the log', async () => {
  const lines: string[] = [];
  const expirations = new Expirations({ history, log: (line) => void lines.push(line) });
  for (let i = 0; i < 5000; i++) expirations.note(expiry());
  const names = [...expirations.items()].map(({ object }) => object.metadata.name);
  expect([names.length, names[0], names.at(-1)]).toEqual([1000, 'exp-004001', 'exp-005000']);
  await eventually(() => expect(lines).toHaveLength(20));
  const now = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 11_000);
  expirations.note(expiry());
  now.mockRestore();
  await eventually(() => expect(lines).toHaveLength(22));
  expect(lines[20]).toBe('410 Gone: 4980 more that were not logged');
  expect([...expirations.counts.values()]).toMatchObject([{ count: 5001 }]);
});

it('what a client calls itself does not break a line of the log', async () => {
  const lines: string[] = [];
  const expirations = new Expirations({ history: async () => ({}), log: (line) => void lines.push(line) });
  expirations.note(expiry({}, 'a\nb\u001b[31m'));
  await eventually(() => expect(lines).toHaveLength(1));
  expect(lines[0]).toContain('with "a\\nb\\u001b[31m"');
  expect(lines[0]).toContain('the history it asked for was compacted');
});
