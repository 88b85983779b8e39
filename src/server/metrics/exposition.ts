/**
 * Metrics as text, in the format that Prometheus scrapes (version 0.0.4): for each its help, its type, and a line per sample.
 *
 * What is always true: whatever the help and the labels hold, it is one line each; a value that is no number has a name. Others
 * have their turn between samples; what one histogram says of one set of labels is of one moment.
 */
import { WorkSlices } from '../event-loop/work-slices.ts';
import type { CollectedMetric, Sample } from './metrics.ts';

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export async function exposition(metrics: Iterable<CollectedMetric>): Promise<string> {
  const slices = new WorkSlices();
  const texts: string[] = [];
  for (const { name, help, type, samples } of metrics) {
    const lines = [`# HELP ${name} ${escapeHelp(help)}`, `# TYPE ${name} ${type}`];
    for (const { labels, value, suffix = '' } of samples()) {
      lines.push(`${name}${suffix}${labelText(labels)} ${numberText(value)}`);
      const isWhole = suffix === '' || suffix === '_count'; // a histogram ends with its count
      if (isWhole && slices.isOver) await slices.pause();
    }
    texts.push(lines.join('\n'));
  }
  return `${texts.join('\n\n')}\n`;
}

function labelText(labels: Sample['labels']): string {
  let text = '';
  for (const name in labels) text += `${text === '' ? '{' : ','}${name}="${escapeLabel(String(labels[name]))}"`;
  return text === '' ? '' : `${text}}`;
}

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '+Inf' : '-Inf';
}

function escapeHelp(text: string): string {
  return /[\\\n]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n') : text;
}

function escapeLabel(text: string): string {
  return text.includes('"') ? escapeHelp(text).replaceAll('"', '\\"') : escapeHelp(text);
}
