import { expect, it } from 'vitest';
import { mergeMetrics } from './merge-metrics.ts';

const text = (requests: number, resident: number, only = '') => `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{verb="GET",path="a b"} ${requests}
${only}# HELP process_resident_memory_bytes Memory.
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes ${resident}
`;

it('mergeMetrics() adds up what threads have of their own, and tells once what all of them see', async () => {
  const merged = await mergeMetrics([text(2, 10), text(3, 12, 'requests_total{verb="PUT"} 1\n')]);
  expect(merged).toBe(text(5, 12, 'requests_total{verb="PUT"} 1\n'));
});

it('mergeMetrics() reads every number that is written, and keeps what only one thread tells', async () => {
  const one = '# TYPE a gauge\na +Inf\na{b="1"} -1.5e-7\n';
  const other = '# TYPE a gauge\na 1\n# TYPE c histogram\nc_bucket{le="+Inf"} 4\nc_sum NaN\n';
  const lines = [
    '# TYPE a gauge',
    'a +Inf',
    'a{b="1"} -1.5e-7',
    '# TYPE c histogram',
    'c_bucket{le="+Inf"} 4',
    'c_sum NaN',
  ];
  expect(await mergeMetrics([one, other])).toBe(`${lines.join('\n')}\n`);
});

it('others have their turn while much is merged', async () => {
  const lines = Array.from({ length: 30_000 }, (_, i) => `a{b="${i}"} ${i}`);
  const much = `# TYPE a counter\n${lines.join('\n')}\n`;
  let turns = 0;
  let isOver = false;
  const turn = () => {
    if (isOver) return;
    turns++;
    setImmediate(turn);
  };
  setImmediate(turn);
  const merged = await mergeMetrics([much, much]);
  isOver = true;
  expect(turns).toBeGreaterThan(2);
  expect(merged.split('\n').at(-2)).toBe('a{b="29999"} 59998');
});
