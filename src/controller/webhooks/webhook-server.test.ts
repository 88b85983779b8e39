/** What has begun when a webhook server is closed; all else is in test/e2e/controller/webhooks.test.ts. */
import { once } from 'node:events';
import { request } from 'node:https';
import { expect, it } from 'vitest';
import { corev1 } from '../../client/index.ts';
import { WebhookServer } from './webhook-server.ts';

it('a handler whose review came to its end only after the server was closed is told so at once, and no connection is waited for', async () => {
  const seen: boolean[] = [];
  const hooks = new WebhookServer({ name: 'hooks', port: 0, host: '127.0.0.1' });
  hooks.validate(corev1.configMaps, ({ signal }) => void seen.push(signal.aborted));
  await hooks.start();
  const review = {
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: { uid: 'u', operation: 'CREATE', userInfo: {}, object: { metadata: { name: 'a' } } },
  };
  const [first, ...rest] = JSON.stringify(review);
  const asked = request({
    host: '127.0.0.1',
    port: hooks.port,
    path: '/validate/core/v1/configmaps',
    method: 'POST',
    rejectUnauthorized: false,
    headers: { Expect: '100-continue' },
  });
  asked.flushHeaders();
  await once(asked, 'continue'); // it is being read
  asked.write(first);
  const closed = hooks.close();
  asked.end(rest.join(''));
  const [answer] = await once(asked, 'response');
  answer.resume();
  await closed;
  expect([answer.statusCode, answer.headers.connection, seen]).toEqual([200, 'close', [true]]);
});
