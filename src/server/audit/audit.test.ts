import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../request/request-context.ts';
import { parseRequestInfo } from '../request/request-info.ts';
import { auditEvent } from './audit-event.ts';
import { openAuditLog } from './audit-log.ts';
import { LineFile } from './line-file.ts';
import { type LineSink, openLineSink } from './line-sink.ts';
import { requestLine } from './request-log.ts';

function contextFor(method: string, url: string, more: object = {}): RequestContext {
  const { pathname: path, searchParams: query } = new URL(url, 'http://x');
  return {
    method,
    path,
    query,
    requestInfo: parseRequestInfo(method, path, () => query),
    headers: { 'user-agent': 'test', authorization: 'Bearer t-0-p' },
    user: { username: 'alice', groups: ['dev'] },
    remoteAddress: '::ffff:10.0.0.9',
    auditId: 'id-1',
    ...more,
  } as unknown as RequestContext;
}

const outcome = { status: 200, sentBytes: 5, seconds: 0.25 };
const at = Date.parse('2026-01-01T00:00:01.000Z');

describe('auditEvent()', () => {
  it('says who did what, when, and how it ended', () => {
    const admin = { username: 'admin', groups: ['system:masters'] };
    const context = contextFor('GET', '/apis/apps/v1/namespaces/x/deployments/d/scale', { impersonator: admin });
    expect(auditEvent(context, outcome, true, at)).toEqual({
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
    const context = contextFor('GET', '/api/v1/secrets?watch=1&access_token=s3cret&labelSelector=a%3Db');
    const text = JSON.stringify(auditEvent(context, { ...outcome, status: 403 }, false, at));
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
      const counting = {
        begin: () => {},
        streamOpened: () => {},
        seat: () => {},
        end: () => void counted++,
        handshakeFailed: () => {},
      };
      for (let run = 0; run < 2; run++) {
        const audit = await openAuditLog({ file, log: () => {} }, counting);
        for (let i = 0; i < 500; i++) audit.observer.end(contextFor('GET', `/api/v1/nodes/n${i}`), outcome, true);
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
      await expect(openLineSink(file, 0)).rejects.toThrow(`"${file}": its directory does not exist`);
    }));

  /** A file of which only `append` is of interest. */
  function lineFile(append: (text: string) => Promise<void>, options: { limitBytes?: number }) {
    const logged: string[] = [];
    const sink: LineSink = {
      sizeBytes: 0,
      append,
      isCurrent: async () => true,
      setAside: async () => {},
      close: async () => {},
    };
    const log = (line: string) => void logged.push(line);
    return { logged, file: new LineFile('f', sink, async () => sink, { delayMs: 0, log, ...options }) };
  }

  it('holds no more than its limit while the disk is slow, and tells what was lost', async () => {
    const written: string[] = [];
    let release: (() => void) | undefined;
    const append = (text: string) =>
      new Promise<void>((resolve) => {
        release = () => {
          written.push(text);
          resolve();
        };
      });
    const { file, logged } = lineFile(append, { limitBytes: 100 });
    for (let i = 0; i < 50; i++) file.write('é2345678'); // 9 bytes, 10 with its end
    const closed = file.close();
    for (let i = 0; i < 3; i++) {
      await new Promise((resolve) => setImmediate(resolve));
      release?.();
      release = undefined;
    }
    await closed;
    expect(Buffer.byteLength(written.join(''))).toBe(100);
    expect(logged).toEqual(['40 lines of "f" are lost: the disk is too slow']);
  });

  it('goes on after a write that failed, and tells of a long outage a few times only', async () => {
    const written: string[] = [];
    let failures = 100;
    const { file, logged } = lineFile(async (text) => {
      if (failures-- > 0) throw new Error('no space');
      written.push(text);
    }, {});
    while (failures > 0) {
      file.write('a');
      await new Promise((resolve) => setTimeout(resolve));
    }
    file.write('b');
    await file.close();
    expect(written.join('')).toContain('b\n');
    expect(logged[0]).toBe('1 lines of "f" are lost: no space');
    expect(logged.length).toBeLessThan(4);
  });

  it('is made again, closed to others, when somebody moved or removed it', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'audit.log');
      const open = () => openLineSink(path, 0);
      const file = new LineFile(path, await open(), open, { log: () => {}, delayMs: 0 });
      const written = async (line: string) => {
        file.write(line);
        while (!existsSync(path) || !readFileSync(path, 'utf8').includes(line))
          await new Promise((resolve) => setTimeout(resolve, 1));
      };
      await written('one');
      renameSync(path, `${path}.1`);
      await written('two');
      rmSync(path);
      await written('three');
      await file.close();
      expect(readFileSync(`${path}.1`, 'utf8')).toBe('one\n');
      expect(readFileSync(path, 'utf8')).toBe('three\n');
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }));

  it('is set aside when it is full, and the oldest of those are removed', () =>
    inFolder(async (folder) => {
      const counting = {
        begin: () => {},
        streamOpened: () => {},
        seat: () => {},
        end: () => {},
        handshakeFailed: () => {},
      };
      writeFileSync(join(folder, 'audit-notes.log'), 'not one of them');
      for (let run = 0; run < 6; run++) {
        const file = join(folder, 'audit.log');
        const audit = await openAuditLog({ file, maxBytes: 1000, maxBackups: 2, log: () => {} }, counting);
        for (let i = 0; i < 3; i++) audit.observer.end(contextFor('GET', `/run/${run}`), outcome, true);
        await audit.close();
      }
      const names = readdirSync(folder).sort();
      const aside = names.filter((name) => /^audit-\d{4}-\d\d-\d\dT[-\d]{8}\.\d{3}\.log$/.test(name));
      expect([names.length, aside.length, names.at(-1)]).toEqual([3, 2, 'audit-notes.log']);
      expect(readFileSync(join(folder, aside[1]!), 'utf8')).toContain('/run/5');
      for (const name of aside) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
    }));
});

describe('what a client can put into a line', () => {
  const long = (bytes: number) => 'ü'.repeat(bytes / 2);

  it('has a bound in bytes, and the line says that something was cut', () => {
    const context = contextFor('GET', `/api/v1/namespaces/x/pods/${'n'.repeat(9000)}`, {
      headers: { 'user-agent': `${'"'.repeat(100_000)}` },
      impersonator: { username: long(50_000), uid: long(50_000), groups: Array(9000).fill(long(100)) },
      user: {
        username: `a${long(50_000)}`,
        groups: Array(9000).fill(long(5000)),
        extra: Object.fromEntries(Array.from({ length: 900 }, (_, i) => [`${long(2000)}${i}`, Array(90).fill('x')])),
      },
    });
    const event = auditEvent(context, outcome, true, at) as {
      annotations: object;
      impersonatedUser: { username: string };
    };
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(64 * 1024);
    expect(event.annotations).toMatchObject({ 'audit.k8s.io/truncated': 'true' });
    expect(event.impersonatedUser.username).toBe(`a${long(1022)}`); // no half character
  });

  it('is one line of the log, without what may be secret', () => {
    const context = contextFor('GET', '/api/v1/pods?access_token=s3cret', {
      headers: { 'user-agent': 'x\n"HTTP" verb="forged"', authorization: 'Bearer t-0-p' },
    });
    const line = requestLine(context, { ...outcome, status: 403 });
    expect(line).not.toMatch(/\n|s3cret|t-0-p/);
    expect(line).toMatch(/^"HTTP" verb="list" URI="\/api\/v1\/pods" latency="250.000ms" user="alice" .* resp="403"$/);
  });
});
