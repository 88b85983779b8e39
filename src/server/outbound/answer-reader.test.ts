import fc from 'fast-check';
import { expect, it } from 'vitest';
import { expectLinear } from '../../../test/support/growth.ts';
import '../../../test/support/property-seed.ts';
import { AnswerReader } from './answer-reader.ts';

const LIMIT = 100;

/** What it comes to, in pieces that end at these places. */
function read(text: string, cuts: readonly number[] = [], ends = true) {
  const reader = new AnswerReader(LIMIT);
  const bytes = Buffer.from(text, 'latin1');
  const places = [...new Set([0, ...cuts.filter((at) => at < bytes.length), bytes.length])].sort((a, b) => a - b);
  let used = 0;
  for (let i = 1; i < places.length && !reader.isDone; i++)
    used += reader.push(bytes.subarray(places[i - 1], places[i]));
  if (ends && !reader.isDone) reader.end();
  const { code, contentType, keptSeconds, isKept, isDone } = reader;
  return { code, contentType, keptSeconds, isKept, isDone, body: reader.takeBody().toString('latin1'), used };
}

function outcome(text: string, cuts?: readonly number[]) {
  try {
    return read(text, cuts);
  } catch (err) {
    return String(err);
  }
}

const everyByte = (text: string) => Array.from({ length: text.length }, (_, i) => i);

function expectTheSameInAnyPieces(text: string): void {
  const whole = outcome(text);
  expect(outcome(text, everyByte(text)), 'byte by byte').toEqual(whole);
  for (const at of everyByte(text)) expect(outcome(text, [at]), `cut at ${at}`).toEqual(whole);
}

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;
const plain = { code: 200, contentType: '', keptSeconds: undefined, isKept: true, isDone: true };

it.each<[what: string, text: string, want: object]>([
  ['a length', `${OK}Content-Type: a/b\r\nContent-Length: 3\r\n\r\nabc`, { ...plain, contentType: 'a/b', body: 'abc' }],
  ['no body', `${OK}Content-Length: 0\r\n\r\n`, { ...plain, body: '' }],
  [
    'names and words in any case',
    `${OK}CONTENT-LENGTH:3\r\nConnection: CLOSE\r\n\r\nabc`,
    { ...plain, isKept: false, body: 'abc' },
  ],
  [
    'other words of Connection',
    `${OK}Connection: x , close,\r\nContent-Length: 1\r\n\r\na`,
    { ...plain, isKept: false, body: 'a' },
  ],
  [
    'how long it is kept',
    `${OK}Keep-Alive: max=5, timeout=7\r\nContent-Length: 1\r\n\r\na`,
    { ...plain, keptSeconds: 7, body: 'a' },
  ],
  [
    'nonsense of how long',
    `${OK}Keep-Alive: timeout=x, timeout=99999999999\r\nContent-Length: 1\r\n\r\na`,
    { ...plain, body: 'a' },
  ],
  ['no reason', 'HTTP/1.1 200\r\nContent-Length: 1\r\n\r\na', { ...plain, body: 'a' }],
  ['lines without a CR', 'HTTP/1.1 200 OK\nContent-Length: 1\n\na', { ...plain, body: 'a' }],
  ['a header that goes on', `${OK}X: a\r\n b\r\n\tc\r\nContent-Length: 1\r\n\r\na`, { ...plain, body: 'a' }],
  ['chunks', `${CHUNKED}3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n`, { ...plain, body: 'abc0123456789' }],
  [
    'extensions and trailers',
    `${CHUNKED}1;a="b"\r\na\r\n1 \r\nb\r\n00\r\nX: y\r\nContent-Length: 9\r\n\r\n`,
    { ...plain, body: 'ab' },
  ],
  ['no chunk', `${CHUNKED}0\r\n\r\n`, { ...plain, body: '' }],
  [
    'the end of the connection',
    `${OK}Content-Type: a/b\r\n\r\nabc`,
    { ...plain, contentType: 'a/b', isKept: false, body: 'abc' },
  ],
  ['nothing but a head, and the end', `${OK}\r\n`, { ...plain, isKept: false, body: '' }],
  ['HTTP/1.0', 'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na', { ...plain, isKept: false, body: 'a' }],
  [
    'HTTP/1.0 that is kept',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na',
    { ...plain, body: 'a' },
  ],
  [
    'chunks in HTTP/1.0',
    'HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    { ...plain, isKept: false, body: 'a' },
  ],
  [
    'answers on the way',
    `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nContent-Length: 9\r\nContent-Type: c/d\r\n\r\n${OK}Content-Length: 1\r\n\r\na`,
    { ...plain, body: 'a' },
  ],
  [
    'another protocol',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n',
    { ...plain, code: 101, isKept: false, body: '' },
  ],
  ['no content', 'HTTP/1.1 204 No Content\r\n\r\n', { ...plain, code: 204, body: '' }],
  ['nothing new', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', { ...plain, code: 304, body: '' }],
  ['what is not done: a head', OK, { ...plain, isDone: false, isKept: true, body: '' }],
  ['what is not done: a body', `${OK}Content-Length: 2\r\n\r\na`, { ...plain, isDone: false, body: 'a' }],
  ['what is not done: chunks', `${CHUNKED}1\r\na\r\n`, { ...plain, isDone: false, body: 'a' }],
  ['what is not done: trailers', `${CHUNKED}1\r\na\r\n0\r\nX: y\r\n`, { ...plain, isDone: false, body: 'a' }],
])('reads %s, in any pieces', (_what, text, want) => {
  expect(read(text)).toEqual({ ...want, used: text.length });
  expectTheSameInAnyPieces(text);
});

it.each<[what: string, text: string, why: string]>([
  ['no HTTP', 'hello\r\n\r\n', 'malformed HTTP response "hello"'],
  ['HTTP/2', 'HTTP/2 200 OK\r\n\r\n', 'malformed HTTP response "HTTP/2 200 OK"'],
  ['a code that is none', 'HTTP/1.1 20x OK\r\n\r\n', 'malformed HTTP response "HTTP/1.1 20x OK"'],
  ['an empty line in front', `\r\n${OK}\r\n`, 'malformed HTTP response ""'],
  ['a header without a colon', `${OK}abc\r\n\r\n`, 'malformed MIME header line: "abc"'],
  ['a header without a name', `${OK}: 5\r\n\r\n`, 'malformed MIME header line: ": 5"'],
  ['a space before the colon', `${OK}Content-Length : 5\r\n\r\n`, 'malformed MIME header line: "Content-Length : 5"'],
  ['more of a header that there is not', `${OK} x\r\n\r\n`, 'malformed MIME header line: " x"'],
  ['more of a length', `${OK}Content-Length: 1\r\n 5\r\n\r\n`, 'malformed MIME header line: " 5"'],
  ['a length that is none', `${OK}Content-Length: +1\r\n\r\n`, 'bad Content-Length "+1"'],
  ['two lengths in one', `${OK}Content-Length: 1, 1\r\n\r\n`, 'bad Content-Length "1, 1"'],
  ['a length without end', `${OK}Content-Length: ${'9'.repeat(16)}\r\n\r\n`, 'bad Content-Length'],
  ['two lengths', `${OK}Content-Length: 1\r\ncontent-length: 1\r\n\r\n`, 'the answer tells its Content-Length twice'],
  [
    'another encoding',
    `${OK}Transfer-Encoding: gzip, chunked\r\n\r\n`,
    'unsupported transfer encoding: "gzip, chunked"',
  ],
  [
    'two encodings',
    `${OK}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n`,
    'too many transfer encodings',
  ],
  ['a length and chunks', `${OK}Transfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n`, 'the answer has both'],
  ['a chunk without a size', `${CHUNKED}\r\n`, 'invalid byte in chunk length'],
  ['a size that is none', `${CHUNKED}1g\r\n`, 'invalid byte in chunk length'],
  ['a negative size', `${CHUNKED}-1\r\n`, 'invalid byte in chunk length'],
  ['a size without a CR', `${CHUNKED}1\na`, 'invalid byte in chunk length'],
  ['a size with a lone CR', `${CHUNKED}1\ra`, 'malformed chunked encoding'],
  ['a size of many digits', `${CHUNKED}${'0'.repeat(17)}1\r\n`, 'http chunk length too large'],
  ['a chunk that is too long', `${CHUNKED}1\r\nabc\r\n`, 'malformed chunked encoding'],
  ['a chunk that ends in one LF', `${CHUNKED}1\r\na\n`, 'malformed chunked encoding'],
  ['a chunk that ends in a lone CR', `${CHUNKED}1\r\na\rb`, 'malformed chunked encoding'],
  ['too long a length', `${OK}Content-Length: 101\r\n\r\n`, 'the answer is longer than 100 bytes'],
  ['too long a chunk', `${CHUNKED}65\r\n`, 'the answer is longer than 100 bytes'],
  ['too many chunks', `${CHUNKED}${'1\r\na\r\n'.repeat(101)}`, 'the answer is longer than 100 bytes'],
  ['too much before the end', `${OK}\r\n${'a'.repeat(101)}`, 'the answer is longer than 100 bytes'],
])('refuses %s, in any pieces', (_what, text, why) => {
  expect(outcome(text)).toContain(`Error: ${why}`);
  expectTheSameInAnyPieces(text);
});

it.each<[what: string, head: string, more: string]>([
  ['a line', OK, 'x'],
  ['all lines', OK, `X: ${'y'.repeat(100)}\r\n`],
  ['answers on the way', '', `HTTP/1.1 100 Continue\r\nX: ${'y'.repeat(1000)}\r\n\r\n`],
  ['an extension', `${CHUNKED}1;`, 'x'],
  ['extensions', CHUNKED, `1;${'x'.repeat(1500)}\r\na\r\n`],
  ['trailers', `${CHUNKED}0\r\n`, `X: ${'y'.repeat(100)}\r\n`],
])('what is not the body is bounded: %s', (_what, head, more) => {
  const reader = new AnswerReader(LIMIT);
  reader.push(Buffer.from(head));
  const push = () => {
    for (let bytes = 0; bytes < 70_000; bytes += more.length) reader.push(Buffer.from(more));
  };
  expect(push).toThrow('server response headers exceeded 65536 bytes; aborted');
});

it('lines of a head are bounded, too', () => {
  expect(outcome(`${OK}${'a:\r\n'.repeat(1000)}`)).toContain('too many lines');
});

it('what is behind an answer is none of it', () => {
  for (const text of [`${OK}Content-Length: 1\r\n\r\na`, `${CHUNKED}1\r\na\r\n0\r\n\r\n`, 'HTTP/1.1 204 x\r\n\r\n'])
    expect(read(`${text}HTTP/1.1 200 OK`).used).toBe(text.length);
});

const part = fc.constantFrom(
  ...[
    'HTTP/1.1 200 OK',
    'HTTP/1.0 500 x',
    'HTTP/1.1 100 x',
    'HTTP/1.1 204 x',
    '\r\n',
    '\r\n\r\n',
    '\n',
    '\r',
    ' ',
    ':',
  ],
  ...['Content-Length: 3', 'Content-Length: 0', 'Transfer-Encoding: chunked', 'Connection: close', 'X: y', 'abc'],
  ...['3\r\nabc\r\n', '1;x=y\r\na\r\n', '0\r\n', '0\r\n\r\n', 'ff', '\0', '\xff'],
);

it('any bytes come to the same in any pieces', () => {
  const texts = fc.array(part, { maxLength: 14 }).map((parts) => parts.join(''));
  const begun = fc.tuple(fc.constantFrom('', `${OK}`, CHUNKED, `${OK}Content-Length: 5\r\n`), texts);
  fc.assert(
    fc.property(begun, fc.array(fc.nat(150)), ([head, rest], cuts) => {
      expect(outcome(head + rest, cuts)).toEqual(outcome(head + rest));
    }),
    { numRuns: 2000 },
  );
});

it.each<[what: string, pieceBytes: number, make: (size: number) => string]>([
  ['chunks of one byte', 65_536, (size) => CHUNKED + '1\r\na\r\n'.repeat(size)],
  ['chunks of one byte, byte by byte', 1, (size) => CHUNKED + '1\r\na\r\n'.repeat(size)],
  ['a length, byte by byte', 1, (size) => `${OK}Content-Length: ${size}\r\n\r\n${'a'.repeat(size)}`],
  ['up to the end, byte by byte', 1, (size) => `${OK}\r\n${'a'.repeat(size)}`],
  ['answers on the way, byte by byte', 1, (size) => 'HTTP/1.1 100 x\r\nX: y\r\n\r\n'.repeat(Math.min(size / 20, 200))],
])('%s cost what their bytes cost', async (what, pieceBytes, make) => {
  await expectLinear(what, {
    from: 2000,
    limit: 16_000,
    make: (size) => {
      const bytes = Buffer.from(make(size));
      return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, i) =>
        bytes.subarray(i * pieceBytes, (i + 1) * pieceBytes),
      );
    },
    run: (pieces) => {
      const reader = new AnswerReader(16 * 1024 * 1024);
      for (const piece of pieces) reader.push(piece);
      return reader.takeBody().length;
    },
  });
});
