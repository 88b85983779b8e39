/**
 * The least of an input that still goes wrong: pieces are left out, the larger first, as long as that changes nothing. A
 * bounded number of tries, since each of them is sent.
 */
import { base64, type FuzzInput } from './fuzz-input.ts';

const MOST_TRIES = 150;

export async function smaller(
  input: FuzzInput,
  isStillWrong: (candidate: FuzzInput) => Promise<boolean>,
): Promise<FuzzInput> {
  let least = input;
  let tries = 0;
  for (let hasChanged = true; hasChanged && tries < MOST_TRIES; ) {
    hasChanged = false;
    for (const candidate of candidates(least)) {
      if (++tries > MOST_TRIES) break;
      if (!(await isStillWrong(candidate))) continue;
      least = candidate;
      hasChanged = true;
      break;
    }
  }
  return least;
}

function* candidates(input: FuzzInput): Generator<FuzzInput> {
  if (input.kind !== 'request') {
    for (const bytes of shorter(Buffer.from(input.bytes, 'base64'))) yield { ...input, bytes: base64(bytes) };
    return;
  }
  const { body, ...bare } = input;
  if (body !== undefined) yield bare;
  for (const name of Object.keys(input.headers)) {
    const { [name]: _, ...headers } = input.headers;
    yield { ...input, headers };
  }
  const [path, query] = input.path.split('?') as [string, string | undefined];
  if (query !== undefined) {
    yield { ...input, path };
    const parts = query.split('&');
    for (const part of parts) yield { ...input, path: `${path}?${parts.filter((other) => other !== part).join('&')}` };
  }
  if (body === undefined) return;
  const bytes = Buffer.from(body, 'base64');
  for (const value of lesser(bytes)) yield { ...input, body: base64(value) };
  for (const less of shorter(bytes)) yield { ...input, body: base64(less) };
}

/** With a field or an element less, if it is JSON. */
function* lesser(bytes: Buffer): Generator<string> {
  let whole: unknown;
  try {
    whole = JSON.parse(bytes.toString('utf8'));
  } catch {
    return; // then it is cut as bytes
  }
  for (const value of without(whole)) yield JSON.stringify(value);
}

function* without(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) yield value.toSpliced(i, 1);
    for (let i = 0; i < value.length; i++) for (const less of without(value[i])) yield value.with(i, less);
    return;
  }
  const entries = Object.entries(value);
  for (const [key] of entries) yield Object.fromEntries(entries.filter(([other]) => other !== key));
  for (const [key, field] of entries) for (const less of without(field)) yield { ...value, [key]: less };
}

function* shorter(bytes: Buffer): Generator<Buffer> {
  for (let length = bytes.length >> 1; length > 0; length >>= 1)
    for (let at = 0; at < bytes.length; at += length)
      yield Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
}
