import { expect, it } from 'vitest';
import { mergeMetrics } from './merge-metrics.ts';

const text = (requests: number, resident: number, only = '') => `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{verb="GET",path="a b"} ${requests}
${only}# HELP process_resident_memory_bytes Memory.
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes ${resident}
`;

it('mergeMetrics() adds up what threads have of their own, and tells once what all of them see', () => {
  const merged = mergeMetrics([text(2, 10), text(3, 12, 'requests_total{verb="PUT"} 1\n')]);
  expect(merged).toBe(text(5, 12, 'requests_total{verb="PUT"} 1\n'));
});

it('mergeMetrics() reads every number that is written, and keeps what only one thread tells', () => {
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
  expect(mergeMetrics([one, other])).toBe(`${lines.join('\n')}\n`);
});
