import { expect, it } from 'vitest';
import { acceptsGzip, standardHeaders, warningValues } from './answer-headers.ts';
import { type Flushable, Joiner, TurnFlusher } from './turn-flusher.ts';

const text = (...texts: string[]) => texts.map((piece) => Buffer.from(piece));

it('Joiner frames pieces as one chunk, and shares what it joined', () => {
  const joiner = new Joiner();
  const [a, b] = text('hello ', 'world');
  const first = joiner.join([a!, b!], 11, true);
  expect(first.toString()).toBe('b\r\nhello world\r\n');
  expect(joiner.join([a!, b!], 11, true)).toBe(first);
  expect(joiner.join([a!, b!], 11, false).toString()).toBe('hello world');
  expect(joiner.join([a!], 6, false)).toBe(a);
  expect(joiner.join([a!], 6, true).toString()).toBe('6\r\nhello \r\n');
  expect(joiner.join([b!, a!], 11, true).toString()).toBe('b\r\nworldhello \r\n');
});

it('TurnFlusher flushes everything at the end of the turn, and lets the loop breathe in between', async () => {
  const flusher = new TurnFlusher();
  let flushed = 0;
  let turns = 0;
  const slow: Flushable = {
    flush: () => {
      flushed++;
      for (const end = performance.now() + 0.5; performance.now() < end; );
    },
  };
  for (let i = 0; i < 128; i++) flusher.add(slow);
  expect(flushed).toBe(0);
  while (flushed < 128) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  expect(turns).toBeGreaterThan(1);
});

it('TurnFlusher flushes at once where it is asked to, but no more than one slice a turn', async () => {
  const flusher = new TurnFlusher();
  let flushed = 0;
  const quick: Flushable = { flush: () => flushed++ };
  flusher.add(quick);
  flusher.flush();
  expect(flushed).toBe(1);
  const slow: Flushable = {
    flush: () => {
      flushed++;
      for (const end = performance.now() + 0.5; performance.now() < end; );
    },
  };
  for (let i = 0; i < 128; i++) flusher.add(slow);
  flusher.flush();
  const inSlice = flushed;
  expect(inSlice).toBeLessThan(129);
  flusher.flush();
  expect(flushed).toBe(inSlice);
  while (flushed < 129) await new Promise((resolve) => setImmediate(resolve));
});

it('TurnFlusher sends what comes for few while what came for many is still on its way, each of them once', async () => {
  const flusher = new TurnFlusher();
  const sent: string[] = [];
  const stream = (name: string): Flushable => ({
    flush: () => {
      sent.push(name);
      for (const end = performance.now() + 0.2; performance.now() < end; );
    },
  });
  const many = Array.from({ length: 200 }, (_, i) => `many-${i}`);
  for (const name of many) flusher.add(stream(name));
  flusher.flush();
  expect(sent.length).toBeLessThan(200);
  const few = ['few-0', 'few-1', 'few-2'];
  for (const name of few) {
    flusher.add(stream(name));
    await new Promise((resolve) => setImmediate(resolve));
    expect(sent).toContain(name);
    expect(sent.length).toBeLessThan(200);
  }
  while (sent.length < 203) await new Promise((resolve) => setImmediate(resolve));
  expect(sent.filter((name) => name.startsWith('many'))).toEqual(many);
  expect(sent.toSorted()).toEqual([...many, ...few].toSorted());
});

it('warningValues() cuts texts only when all of them are too long together', () => {
  const long = 'x'.repeat(3000);
  expect(warningValues(new Set([long]))).toEqual([`299 - "${long}"`]);
  expect(warningValues(new Set([long, `${long}y`])).map((value) => value.length)).toEqual([264, 264]);
  const many = new Set(Array.from({ length: 1_000 }, (_, i) => `${i} ${long}`));
  expect(warningValues(many)).toHaveLength(16); // of 256 characters each, as many as there is room for
  const short = Array.from({ length: 1_000 }, (_, i) => `warning ${i}`);
  expect(warningValues(new Set(short)).join('').length).toBeLessThan(10_000);
});

it('standardHeaders() gives back no audit id that could do harm', () => {
  const uids = { flowSchemaUid: 'f', priorityLevelUid: 'p' };
  expect(standardHeaders('a-1', 't', uids)['Audit-Id']).toBe('a-1');
  expect(standardHeaders('a'.repeat(500), 't', uids)['Audit-Id']).toHaveLength(64);
  expect(standardHeaders('ü\n', 't', uids)['Audit-Id']).toMatch(/^[0-9a-f-]{36}$/);
});

it.each([
  ['gzip', true],
  ['deflate, gzip', true],
  ['gzip;q=1', false],
  ['*', false],
  [undefined, false],
])('acceptsGzip(%s)', (header, accepts) => expect(acceptsGzip(header)).toBe(accepts));
