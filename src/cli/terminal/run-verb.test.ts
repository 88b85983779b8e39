import { describe, expect, it } from 'vitest';
import { ApiError, ConfigError, TransportError } from '../../client/index.ts';
import { Interrupted, type Io } from './io.ts';
import { harmless, hasColours, paintWith, plain } from './paint.ts';
import { codeOf, UsageError, type Verb, VerbError } from './run-verb.ts';

async function ended(verb: Verb, stop = new AbortController()): Promise<{ code: number; notes: string[] }> {
  const notes: string[] = [];
  const io = { note: (line: string) => void notes.push(line), signal: stop.signal } as Partial<Io> as Io;
  return { code: await codeOf(verb, io), notes };
}
const throwing =
  (err: unknown): Verb =>
  () =>
    Promise.reject(err);
const status = (code: number, reason: string, message = 'no') =>
  new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message }, 'GET /');

describe('runVerb', () => {
  it.each<[what: string, verb: Verb, code: number]>([
    ['nothing', async () => {}, 0],
    ['a code', async () => 3, 3],
    ['a mistake', throwing(new UsageError('so not')), 2],
    ['what could not be done', throwing(new VerbError('no', 'do that')), 1],
    ['a bug', throwing(new TypeError('bug')), 1],
  ])('%s is its exit code', async (_what, verb, code) => expect((await ended(verb)).code).toBe(code));

  it.each<[what: string, err: Error, next: RegExp]>([
    ['no configuration', new ConfigError('none'), /--kubeconfig/],
    ['no connection', new TransportError('connect', 'refused', { code: 'ECONNREFUSED' }), /longwatch doctor/],
    ['another authority', new TransportError('connect', 'x', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }), /certificate/],
    ['a broken stream', new TransportError('body', 'x'), /longwatch doctor/],
    ['no such user', status(401, 'Unauthorized'), /credentials/],
    ['no right', status(403, 'Forbidden'), /kubectl auth can-i/],
    ['what a verb says itself', new VerbError('x', 'do this'), /do this/],
  ])('%s says what to do next', async (_what, err, next) => {
    const { notes } = await ended(throwing(err));
    expect(notes).toHaveLength(2);
    expect(notes[0]).toBe(`longwatch: ${err.message}`);
    expect(notes[1]).toMatch(next);
  });

  it('a bug is shown with where it was thrown', async () => {
    expect((await ended(throwing(new TypeError('bug')))).notes.join('\n')).toContain('run-verb.test.ts');
  });

  it('an interrupt is no failure and no line', async () => {
    const stop = new AbortController();
    stop.abort(new Interrupted('now'));
    expect(await ended(throwing(stop.signal.reason), stop)).toEqual({ code: 0, notes: [] });
  });

  it('what a server says cannot move the cursor', async () => {
    expect((await ended(throwing(status(400, 'BadRequest', 'a\x1b[2Jb\x07')))).notes.join('')).not.toMatch(
      /[\x1b\x07]/,
    );
  });
});

describe('colours', () => {
  it.each<[isTerminal: boolean, env: NodeJS.ProcessEnv, want: boolean]>([
    [true, {}, true],
    [true, { NO_COLOR: '' }, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
    [false, {}, false],
  ])('terminal %s, %j: %s', (isTerminal, env, want) => expect(hasColours(isTerminal, env)).toBe(want));

  it('take no room, and are none where there are none', () => {
    expect(plain(paintWith(true).red('a'))).toBe('a');
    expect(paintWith(false).red('a')).toBe('a');
  });

  it('harmless() leaves text alone and shows what is none', () => {
    expect(harmless('Grüße 你好')).toBe('Grüße 你好');
    expect(harmless('a\x1b[2J\r\n\x9b')).toBe('a\ufffd[2J\ufffd\ufffd\ufffd');
  });
});
