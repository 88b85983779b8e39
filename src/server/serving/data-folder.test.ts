import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prepareDataFolder } from './data-folder.ts';

let folder: string;
let logged: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'longwatch-data-'));
  logged = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = (...names: string[]) => join(folder, ...names);
const modeOf = (path: string) => (statSync(path).mode & 0o7777).toString(8);
const prepare = (dataDir: string, named: string[] = []) =>
  prepareDataFolder(dataDir, { named, log: (line) => void logged.push(line) });

/** As versions made it that did not care. */
function looseFolder(dataDir: string): void {
  for (const name of ['', 'store', 'pki']) mkdirSync(join(dataDir, name));
  for (const name of ['store/data.mdb', 'store/data.mdb-lock', 'pki/ca.crt', 'admin.token'])
    writeFileSync(join(dataDir, name), 'secret');
  for (const name of ['', 'store', 'pki']) chmodSync(join(dataDir, name), 0o755);
  for (const name of ['store/data.mdb', 'store/data.mdb-lock', 'pki/ca.crt']) chmodSync(join(dataDir, name), 0o644);
  chmodSync(join(dataDir, 'admin.token'), 0o600);
}

it('makes a folder that is missing, for its owner only, without a word', () => {
  prepare(at('a', 'b'));
  expect([modeOf(at('a')), modeOf(at('a', 'b')), logged]).toEqual(['700', '700', []]);
});

it('closes what an older version left open, and says so in one line', () => {
  looseFolder(at('data'));
  for (const name of ['audit.log.1', 'audit-2026-01-01T00-00-00.000.log']) {
    writeFileSync(at('data', name), '');
    chmodSync(at('data', name), 0o644);
  }
  prepare(at('data'), [at('data', 'audit.log'), at('elsewhere')]);
  for (const name of ['', 'store', 'pki']) expect(modeOf(at('data', name)), name).toBe('700');
  for (const name of [
    'store/data.mdb',
    'store/data.mdb-lock',
    'pki/ca.crt',
    'admin.token',
    'audit.log.1',
    'audit-2026-01-01T00-00-00.000.log',
  ])
    expect(modeOf(at('data', name)), name).toBe('600');
  expect(logged).toEqual([
    `closed the data folder "${at('data')}" to other users: they had rights to 8 of its files and folders`,
  ]);
  prepare(at('data'), [at('data', 'audit.log')]);
  expect(logged).toHaveLength(1);
});

it.each([
  ['of everybody, such as /tmp', 0o1777, false],
  ['that holds other things, such as a home', 0o755, true],
])('does not close a folder %s, but what is ours in it', (_what, mode, hasOthers) => {
  looseFolder(at('data'));
  if (hasOthers) {
    writeFileSync(at('data', 'store-of-letters'), '');
    chmodSync(at('data', 'store-of-letters'), 0o644);
  }
  chmodSync(at('data'), mode);
  prepare(at('data'));
  expect(modeOf(at('data'))).toBe(mode.toString(8));
  expect(modeOf(at('data', 'store', 'data.mdb'))).toBe('600');
  if (hasOthers) expect(modeOf(at('data', 'store-of-letters'))).toBe('644');
  expect(logged[0]).toContain('stays open to other users, as it is not ours alone');
});

it('says where links lead, and does not follow those inside', () => {
  mkdirSync(at('real'));
  mkdirSync(at('outside'));
  chmodSync(at('outside'), 0o755);
  symlinkSync(at('real'), at('link'));
  symlinkSync(at('outside'), at('real', 'store'));
  prepare(at('link'));
  expect(modeOf(at('outside'))).toBe('755');
  expect(logged.join('\n')).toContain(`"${at('link')}" is a link to "${at('real')}"`);
  expect(logged.join('\n')).toContain(`"${at('link', 'store')}" is a link`);
});

it('refuses what is no folder, naming it and what to do', () => {
  writeFileSync(at('file'), '');
  symlinkSync(at('nowhere'), at('dangling'));
  const advice = 'is not a folder; move it away, or name another folder with --data-dir';
  expect(() => prepare(at('file'))).toThrow(`Cannot keep data in "${at('file')}": "${at('file')}" ${advice}`);
  expect(() => prepare(at('file', 'x', 'y'))).toThrow(`"${at('file')}" ${advice}`);
  expect(() => prepare(at('dangling', 'x'))).toThrow(`"${at('dangling')}" ${advice}`);
});

it.runIf(process.getuid?.() === 0)('tells root who else can read a folder of another user', () => {
  looseFolder(at('data'));
  for (const name of ['data', 'data/store']) chownSync(at(name), 65534, 65534);
  prepare(at('data'));
  expect(logged.join('\n')).toContain(`the data folder "${at('data')}" belongs to user 65534`);
  expect(logged.join('\n')).toContain(`"${at('data', 'store')}" belongs to user 65534, who can read and change it`);
});
