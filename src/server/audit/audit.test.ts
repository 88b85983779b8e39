import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../http/exchange.ts';
import { parseTarget } from '../http/target.ts';
import { auditEvent } from './audit-event.ts';
import { openAuditLog } from './audit-log.ts';
import { LineFile, openLineFile } from './line-file.ts';

function exchangeFor(method: string, url: string, more: object = {}): Exchange {
  const { pathname: path, searchParams: query } = new URL(url, 'http://x');
  return {
    method,
    path,
    query,
    target: parseTarget(method, path, () => query),
    headers: { 'user-agent': 'test', authorization: 'Bearer t-0-p' },
    user: { username: 'alice', groups: ['dev'] },
    remoteAddress: '::ffff:10.0.0.9',
    auditId: 'id-1',
    ...more,
  } as unknown as Exchange;
}

const outcome = { status: 200, sentBytes: 5, seconds: 0.25 };
const at = Date.parse('2026-01-01T00:00:01.000Z');

describe('auditEvent()', () => {
  it('says who did what, when, and how it ended', () => {
    const admin = { username: 'admin', groups: ['system:masters'] };
    const exchange = exchangeFor('GET', '/apis/apps/v1/namespaces/x/deployments/d/scale', { impersonator: admin });
    expect(auditEvent(exchange, outcome, true, at)).toEqual({
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'Metadata',
      auditID: 'id-1',
      stage: 'ResponseComplete',
      requestURI: '/apis/apps/v1/namespaces/x/deployments/d/scale',
      verb: 'get',
      user: admin,
      impersonatedUser: { username: 'alice', groups: ['dev'] },
      sourceIPs: ['10.0.0.9'],
      userAgent: 'test',
      objectRef: {
        resource: 'deployments',
        namespace: 'x',
        name: 'd',
        apiGroup: 'apps',
        apiVersion: 'v1',
        subresource: 'scale',
      },
      responseStatus: { metadata: {}, code: 200 },
      requestReceivedTimestamp: '2026-01-01T00:00:00.750000Z',
      stageTimestamp: '2026-01-01T00:00:01.000000Z',
      annotations: { 'authorization.k8s.io/decision': 'allow' },
    });
  });

  it('shows no credential, neither of a header nor of a query', () => {
    const exchange = exchangeFor('GET', '/api/v1/secrets?watch=1&access_token=s3cret&labelSelector=a%3Db');
    const text = JSON.stringify(auditEvent(exchange, { ...outcome, status: 403 }, false, at));
    expect(text).not.toMatch(/s3cret|t-0-p/);
    expect(JSON.parse(text)).toMatchObject({
      requestURI: '/api/v1/secrets?watch=1&labelSelector=a%3Db',
      verb: 'watch',
      responseStatus: { status: 'Failure', code: 403 },
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    });
  });
});

describe('the file', () => {
  const inFolder = async (use: (folder: string) => Promise<void>) => {
    const folder = mkdtempSync(join(tmpdir(), 'longwatch-audit-'));
    try {
      await use(folder);
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  it('has a line for every request once it is closed, after those of earlier runs', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'audit.log');
      let counted = 0;
      const counting = { begin: () => {}, end: () => void counted++, handshakeFailed: () => {} };
      for (let run = 0; run < 2; run++) {
        const audit = await openAuditLog(file, counting, () => {});
        for (let i = 0; i < 500; i++)
          audit.observer.end(exchangeFor('GET', `/api/v1/nodes/n${i}`), undefined, outcome, true);
        await audit.close();
      }
      const names = readFileSync(file, 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line).objectRef.name);
      expect([names.length, names[0], names[999], counted]).toEqual([1000, 'n0', 'n499', 1000]);
      expect(statSync(file).mode & 0o777).toBe(0o600);
    }));

  it('says clearly when its directory is missing', () =>
    inFolder(async (folder) => {
      const file = join(folder, 'none', 'audit.log');
      await expect(openLineFile(file, { log: () => {} })).rejects.toThrow(`"${file}": its directory does not exist`);
    }));

  it('holds no more than its limit while the disk is slow, and tells what was lost', async () => {
    const written: string[] = [];
    const logged: string[] = [];
    let release: (() => void) | undefined;
    const handle = {
      appendFile: (text: unknown) =>
        new Promise<void>((resolve) => {
          release = () => {
            written.push(String(text));
            resolve();
          };
        }),
      close: async () => {},
    };
    const file = new LineFile('f', handle, { limitBytes: 100, delayMs: 0, log: (line) => void logged.push(line) });
    for (let i = 0; i < 50; i++) file.write('123456789');
    const closed = file.close();
    for (let i = 0; i < 3; i++) {
      release?.();
      release = undefined;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await closed;
    expect(written.join('').length).toBe(100);
    expect(logged).toEqual(['40 lines of "f" are lost: the disk is too slow']);
  });

  it('goes on after a write that failed', async () => {
    const written: string[] = [];
    const logged: string[] = [];
    let failures = 1;
    const handle = {
      appendFile: async (text: unknown) => {
        if (failures-- > 0) throw new Error('no space');
        written.push(String(text));
      },
      close: async () => {},
    };
    let tellOfLoss = () => {};
    const isLost = new Promise<void>((resolve) => {
      tellOfLoss = resolve;
    });
    const log = (line: string) => {
      logged.push(line);
      tellOfLoss();
    };
    const file = new LineFile('f', handle, { delayMs: 0, log });
    file.write('a');
    await isLost;
    file.write('b');
    await file.close();
    expect([written, logged]).toEqual([['b\n'], ['1 lines of "f" are lost: no space']]);
  });
});
