/** Numbers and times as people read them. */
export function shortNumber(value: number): string {
  if (value >= 1e9) return `${round(value / 1e9)}G`;
  if (value >= 1e6) return `${round(value / 1e6)}M`;
  if (value >= 1e4) return `${round(value / 1e3)}k`;
  return round(value);
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let at = 0;
  let left = value;
  while (left >= 1024 && at < units.length - 1) {
    left /= 1024;
    at++;
  }
  return `${round(left)} ${units[at]}`;
}

export function seconds(value: number): string {
  if (value >= 3600) return `${round(value / 3600)} h`;
  if (value >= 60) return `${round(value / 60)} min`;
  return value > 0 && value < 1 ? `${round(value * 1000)} ms` : `${round(value)} s`;
}

export function ago(time: string | undefined, now: number = Date.now()): string {
  const at = time === undefined ? Number.NaN : Date.parse(time);
  if (Number.isNaN(at)) return '';
  const past = Math.max(0, Math.floor((now - at) / 1000));
  return past < 60 ? `${past} s` : past < 3600 ? `${Math.floor(past / 60)} min` : `${Math.floor(past / 3600)} h`;
}

/** A value of an object, in a line. */
export function inline(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? '');
}

function round(value: number): string {
  return value >= 100 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
}
