/**
 * Times as the API writes them: RFC 3339 in UTC, whole seconds (Time) or exactly six decimals (MicroTime). Any offset
 * is taken; the answer is UTC. A text that is no time fails with a TimeError in the words of Go's time package.
 */
export class TimeError extends Error {
  override readonly name = 'TimeError';
}

const whole = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const utcSeconds = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const layouts = { seconds: '2006-01-02T15:04:05Z07:00', micros: '2006-01-02T15:04:05.000000Z07:00' };

/** A time to whole UTC seconds; a fraction is taken and cut off. */
export function normalTime(text: string): string {
  const time = parse(text, layouts.seconds);
  return utcSeconds.test(text) ? text : `${time.toISOString().slice(0, 19)}Z`;
}

/** A time to UTC with the six decimals it must have. */
export function normalMicroTime(text: string): string {
  const fraction = whole.exec(text)?.[7] ?? '';
  const time = parse(fraction.length === 7 ? text : { text }, layouts.micros);
  return `${time.toISOString().slice(0, 19)}${fraction}Z`;
}

/** Seconds and nanoseconds, as protobuf has them, to text. */
export function timeFromEpoch(seconds: number, nanos: number, isMicro: boolean): string | undefined {
  const time = new Date(seconds * 1000);
  if (Number.isNaN(time.getTime()) || time.getUTCFullYear() < 0 || time.getUTCFullYear() > 9999) return undefined;
  const text = time.toISOString().slice(0, 19);
  if (!isMicro) return `${text}Z`;
  return `${text}.${String(Math.floor(Math.abs(nanos) / 1000))
    .padStart(6, '0')
    .slice(0, 6)}Z`;
}

/** Wrapped: known to be of another layout. */
function parse(given: string | { text: string }, layout: string): Date {
  const text = typeof given === 'string' ? given : given.text;
  const found = typeof given === 'string' ? whole.exec(text) : null;
  if (!found)
    throw new TimeError(`parsing time ${quoted(text)} as ${quoted(layout)}: cannot parse ${firstFault(text, layout)}`);
  const [, , month, day, hour, minute, second] = found.map(Number);
  const inMonth = new Date(Date.UTC(Number(found[1]), month!, 0)).getUTCDate();
  const fault =
    month! < 1 || month! > 12
      ? 'month'
      : day! < 1 || day! > inMonth
        ? 'day'
        : hour! > 23
          ? 'hour'
          : minute! > 59
            ? 'minute'
            : second! > 59
              ? 'second'
              : '';
  if (fault) throw new TimeError(`parsing time ${quoted(text)}: ${fault} out of range`);
  return new Date(`${text.slice(0, 19)}${found[8]}`);
}

/** What Go would have wanted where the text stops being a time. */
function firstFault(text: string, layout: string): string {
  const isMicro = layout === layouts.micros;
  const parts: [RegExp, string][] = [
    [/^\d{4}/, '2006'],
    [/^-/, '-'],
    [/^\d\d/, '01'],
    [/^-/, '-'],
    [/^\d\d/, '02'],
    [/^T/, 'T'],
    [/^\d\d/, '15'],
    [/^:/, ':'],
    [/^\d\d/, '04'],
    [/^:/, ':'],
    [isMicro ? /^\d\d/ : /^\d\d(\.\d+)?/, '05'],
    ...(isMicro ? [[/^\.\d{6}/, '.000000'] as [RegExp, string]] : []),
    [/^(Z|[+-]\d\d:\d\d)$/, 'Z07:00'],
  ];
  let rest = text;
  for (const [part, want] of parts) {
    const found = part.exec(rest);
    if (!found) return `${quoted(rest)} as ${quoted(want)}`;
    rest = rest.slice(found[0].length);
  }
  return `${quoted(rest)} as "Z07:00"`;
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 200 ? text.slice(0, 200) : text);
}
