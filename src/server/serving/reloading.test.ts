import { X509Certificate } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FakeClock } from '../../testing/clocks/fake-clock.ts';
import { ensurePki } from './pki.ts';
import { keepReloading, Reloading } from './reloading.ts';
import { loadTlsMaterial, type TlsFiles, type TlsMaterial } from './tls-material.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longwatch-reload-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (name: string) => join(folder, name);

/** What a server would serve with, minute by minute. */
async function running(files: Partial<TlsFiles>, use: (run: Run) => Promise<void>): Promise<void> {
  const clock = new FakeClock();
  const logged: string[] = [];
  let now = new Date();
  const all = {
    dataDir: at('data'),
    bindAddress: '127.0.0.1',
    log: (line: string) => void logged.push(line),
    ...files,
  };
  const initial = loadTlsMaterial(all);
  const setNow = (date: Date) => {
    now = date;
  };
  const run: Run = { inUse: initial, logged, minute: () => clock.advance(60_000), setNow };
  const reloading = new Reloading<TlsMaterial>({
    what: 'the certificate',
    initial,
    read: () => loadTlsMaterial({ ...all, isRunning: true, now }),
    apply: (fresh) => {
      run.inUse = fresh;
    },
    log: all.log,
  });
  const stop = new AbortController();
  const ended = keepReloading([reloading], clock, stop.signal);
  await use(run);
  stop.abort(new Error('test over'));
  await ended;
}

type Run = { inUse: TlsMaterial; readonly logged: string[]; minute(): Promise<void>; setNow(date: Date): void };

function writePair(name: string): void {
  const { serving } = ensurePki({ dataDir: at(name) });
  writeFileSync(at('a.crt'), serving.certPem);
  writeFileSync(at('a.key'), serving.keyPem);
}

it('takes a new pair within a minute, and keeps the old one while the new one is half there', async () => {
  writePair('one');
  await running({ certFile: at('a.crt'), keyFile: at('a.key') }, async (run) => {
    const old = run.inUse;
    await run.minute();
    expect([run.inUse, run.logged]).toEqual([old, []]);

    const before = readFileSync(at('a.key'), 'utf8');
    writePair('two');
    const after = readFileSync(at('a.key'), 'utf8');
    writeFileSync(at('a.key'), before);
    await run.minute();
    await run.minute();
    expect(run.inUse).toBe(old);
    expect(run.logged).toEqual([expect.stringMatching(/does not belong to it; the certificate .* stays in use$/)]);

    writeFileSync(at('a.key'), after);
    await run.minute();
    expect(run.inUse.serving.keyPem).toBe(after);
    expect(run.logged[1]).toBe('the certificate changed and was read again');

    rmSync(at('a.crt'));
    await run.minute();
    expect(run.inUse.serving.keyPem).toBe(after);
    expect(run.logged[2]).toContain('Cannot read the serving certificate');
  });
});

it('renews its own certificates before they end, from the same authority', async () => {
  await running({}, async (run) => {
    const { servingAuthorityPem } = run.inUse;
    run.setNow(new Date(Date.now() + 340 * 24 * 3_600_000));
    await run.minute();
    const { serving, admin } = run.inUse;
    const soon = Date.now() + 600 * 24 * 3_600_000;
    for (const { certPem } of [serving, admin])
      expect(Date.parse(new X509Certificate(certPem).validTo)).toBeGreaterThan(soon);
    expect(run.inUse.servingAuthorityPem).toBe(servingAuthorityPem);
    expect(run.logged.at(-1)).toBe('the certificate changed and was read again');
  });
});

it('never makes a new authority while it runs, and no certificate outlives the old one', async () => {
  await running({}, async (run) => {
    const old = run.inUse;
    run.setNow(new Date(Date.parse(new X509Certificate(old.servingAuthorityPem).validTo) - 100 * 24 * 3_600_000));
    await run.minute();
    expect(run.inUse.servingAuthorityPem).toBe(old.servingAuthorityPem);
    const [authority, leaf] = [run.inUse.servingAuthorityPem, run.inUse.serving.certPem].map((pem) =>
      Date.parse(new X509Certificate(pem).validTo),
    );
    expect(leaf).toBeLessThanOrEqual(authority!);
    run.setNow(new Date(authority! - 10 * 24 * 3_600_000));
    const last = run.inUse;
    await run.minute();
    expect(run.inUse).toBe(last); // another would end no later

    cpSync(at('data'), at('copy'), { recursive: true });
    rmSync(at('data'), { recursive: true });
    const inUse = run.inUse;
    await run.minute();
    expect(run.inUse).toBe(inUse);
    expect(run.logged.at(-1)).toMatch(/Cannot find the certificate authority .*: it is gone; .* stays in use$/);
  });
});
