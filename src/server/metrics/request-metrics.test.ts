import { expect, it } from 'vitest';
import type { RequestContext } from '../request/request-context.ts';
import type { RequestInfo } from '../request/request-info.ts';
import { makeMetrics } from './metrics.ts';
import { requestMetrics } from './request-metrics.ts';

const target = (resource: string, verb: string, more: object = {}): RequestInfo => ({
  kind: 'resource',
  group: '',
  version: 'v1',
  subresource: '',
  namespace: '',
  name: '',
  rest: [],
  resource,
  verb,
  ...more,
});
const request = (of: RequestInfo, method = 'GET', path = '/x', query = ''): RequestContext =>
  ({ method, path, requestInfo: of, headers: {}, query: new URLSearchParams(query) }) as unknown as RequestContext;
const outcome = (status: number) => ({ status, sentBytes: 2000, seconds: 0.01 });

it('requestMetrics() counts what the server ended before its time', async () => {
  const metrics = makeMetrics();
  const observer = requestMetrics(metrics);
  observer.end(request(target('pods', 'list')), { ...outcome(200) }, true);
  observer.end(request(target('pods', 'list')), { ...outcome(429), isTerminated: true }, false);
  observer.end(request(target('pods', 'list')), outcome(429), true); // said by a handler
  const text = await metrics.text();
  expect(text).toContain(
    'apiserver_request_terminations_total{verb="LIST",group="",version="v1",resource="pods",subresource="",scope="cluster",component="apiserver",code="429"} 1',
  );
  expect(text).toMatch(/apiserver_request_total\{verb="LIST"[^}]*code="429"\} 2/);
});

it('requestMetrics() counts under the names and labels dashboards know', async () => {
  const metrics = makeMetrics();
  let second = 1;
  const observer = requestMetrics(metrics, () => second);
  const list = request(target('pods', 'list'));
  observer.begin(list);
  observer.seat('readOnly', 1);
  second++; // it tells of the last one
  expect(await metrics.text()).toContain('apiserver_current_inflight_requests{request_kind="readOnly"} 1');
  observer.end(list, outcome(200), true);
  observer.seat('readOnly', -1);
  const create = request(target('pods', 'create', { namespace: 'x' }), 'POST', '/x', 'dryRun=All');
  observer.begin(create);
  observer.seat('mutating', 1);
  observer.end(create, outcome(201), true);
  observer.seat('mutating', -1);
  const watch = request(target('pods', 'watch', { namespace: 'x' }));
  observer.begin(watch);
  const running =
    'apiserver_longrunning_requests{verb="WATCH",group="",version="v1",resource="pods",subresource="",scope="namespace",component="apiserver"}';
  expect(await metrics.text()).toContain(`${running} 1`);
  observer.end(watch, outcome(200), true);
  observer.end(request({ kind: 'other' }, 'GET', '/readyz'), outcome(200), true);
  const text = await metrics.text();
  expect(text).toContain(`${running} 0`);
  const total = (verb: string, resource: string, scope: string, dryRun: string, code: number, subresource = '') =>
    `apiserver_request_total{verb="${verb}",group="",version="${resource && 'v1'}",resource="${resource}",subresource="${subresource}",scope="${scope}",component="apiserver",dry_run="${dryRun}",code="${code}"} 1`;
  expect(text).toContain(total('LIST', 'pods', 'cluster', '', 200));
  expect(text).toContain(total('POST', 'pods', 'resource', 'All', 201));
  expect(text).toContain(total('WATCH', 'pods', 'namespace', '', 200));
  expect(text).toContain(total('GET', '', '', '', 200, '/readyz'));
  expect(text).toContain('apiserver_current_inflight_requests{request_kind="mutating"} 0');
  expect(text).toMatch(/apiserver_response_sizes_bucket\{verb="LIST"[^}]*le="10000"\} 1/);
  expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
});

it('requestMetrics() gives no names to what is not served', async () => {
  const metrics = makeMetrics();
  const observer = requestMetrics(metrics);
  for (let i = 0; i < 50; i++) observer.end(request(target(`invented${i}`, 'list')), outcome(404), false);
  observer.end(request(target('pods', 'list')), outcome(0), false);
  const text = await metrics.text();
  expect(text).not.toContain('invented');
  expect(text).toMatch(/apiserver_request_total\{verb="LIST",group="",version="",resource="".*code="404"\} 50/);
  expect(text).toMatch(/apiserver_request_aborts_total\{verb="LIST"[^}]*\} 1/);
});

it('metrics of two servers in one process stay apart', async () => {
  const [one, two] = [makeMetrics(), makeMetrics()];
  one.counter('longwatch_things_total', 'Things.').labels().inc(3);
  expect(await one.text()).toContain('longwatch_things_total 3');
  expect(await two.text()).not.toContain('longwatch_things_total');
});
