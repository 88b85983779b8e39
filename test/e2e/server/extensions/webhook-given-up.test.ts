/** A request that is given up while a webhook has it, over a real server and a real webhook on loopback. */
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { startHook } from '../../../../src/server/outbound/https-hook.testing.ts';
import { startTestServer } from '../../../../src/testing/index.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

it('a webhook is not waited for any longer than the client waits', async () => {
  await using server = await startTestServer();
  let left: Promise<unknown> | undefined;
  const client = new AbortController();
  await using hook = await startHook(({ connection }) => {
    left = once(connection, 'close');
    client.abort();
    return 'hang';
  });
  const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };
  await server.client.create('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', {
    metadata: { name: 'hanging' },
    webhooks: [
      {
        name: 'hanging.example.com',
        clientConfig: { url: hook.url, caBundle: hook.caBundle },
        rules: [rule],
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        timeoutSeconds: 30,
      },
    ],
  });
  const body = { metadata: { name: 'a' } };
  await expect(server.client.ask('POST', MAPS, { body, signal: client.signal })).rejects.toThrow('aborted');
  await left;
});
