import { expect, it } from 'vitest';
import { figuresIn } from './metrics-text.ts';

it('adds up what the page shows, and passes over the rest', () => {
  const text = `# HELP apiserver_request_total Counter of requests.
apiserver_request_total{code="200",verb="LIST"} 7
apiserver_request_total{code="429",verb="LIST"} 2
apiserver_request_total{verb="WATCH",code="410"} 1
apiserver_request_total_more{code="429"} 100
apiserver_registered_watchers{group="",resource="pods"} 3
apiserver_registered_watchers{group="apps",resource="deployments"} 4
etcd_debugging_mvcc_compact_revision 4000
process_cpu_seconds_total 1.5`;
  expect(figuresIn(text)).toEqual({
    requests: 10,
    answers410: 1,
    answers429: 2,
    watchers: 7,
    compactRevision: 4000,
    storeBytes: undefined,
  });
});

it('a text with none of them has no figures', () =>
  expect(figuresIn('')).toMatchObject({ requests: 0, watchers: undefined, compactRevision: undefined }));
