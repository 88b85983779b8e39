/**
 * The log of `longwatch serve` in the form that was asked for: lines of text, or an object a line as klog's JSON format has
 * it (`ts` in milliseconds, `msg`, and what the line says as `key="value"` in fields of their own).
 */
import { logToStderr } from '../../server/serving/stderr-log.ts';

export type LogFormat = 'text' | 'json';

export function logAs(format: LogFormat, write: (line: string) => void = logToStderr): (line: string) => void {
  return format === 'text' ? write : (line) => write(jsonLine(line, Date.now()));
}

/** `"HTTP" verb="list" resp="200"` has fields; any other line is its own message. */
function jsonLine(line: string, ts: number): string {
  const [, quoted, rest = ''] = /^("(?:[^"\\]|\\.)*") (.*)$/s.exec(line) ?? [];
  if (quoted === undefined) return JSON.stringify({ ts, msg: line.replace(/^longwatch: /, '') });
  const fields = [...rest.matchAll(/(?:^| )([\w-]+)=("(?:[^"\\]|\\.)*"|\S+)/g)].map(([, key = '', value = '']) => [
    key,
    unquoted(value),
  ]);
  return JSON.stringify({ ts, msg: unquoted(quoted), ...Object.fromEntries(fields) });
}

function unquoted(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
