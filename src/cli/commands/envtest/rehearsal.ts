/**
 * What a suite of tests does first, done once to a server that nobody uses: definitions are installed and waited for, objects
 * made, changed, listed, watched and deleted. What has been compiled then is what a start needs.
 */
import { request } from 'node:https';
import { setImmediate as nextTurn } from 'node:timers/promises';

const GROUP = 'rehearsal.longwatch.dev';
const THINGS = `/apis/${GROUP}/v1/namespaces/default/things`;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const THING = { apiVersion: `${GROUP}/v1`, kind: 'Thing', metadata: { name: 'a' }, spec: { size: 1 } };
const DEFINITION = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `things.${GROUP}` },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { kind: 'Thing', plural: 'things' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'integer', minimum: 0 } } },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

/** `url` is of a server that lets everybody do everything. Whoever calls has a limit on the time. */
export async function rehearseOn(url: string): Promise<void> {
  const ask = (method: string, path: string, body?: object, type = 'application/json') =>
    answerOf(new URL(path, url), method, body, type);
  await ask('GET', '/healthz');
  await ask('POST', DEFINITIONS, DEFINITION);
  await ask('GET', '/apis');
  while (!(await ask('GET', `/apis/${GROUP}/v1`).catch(() => ''))) await nextTurn();
  await ask('GET', `${DEFINITIONS}/things.${GROUP}`);
  await ask('POST', THINGS, THING);
  await ask('GET', `${THINGS}/a`);
  await ask('PATCH', `${THINGS}/a/status`, { status: { isReady: true } }, 'application/merge-patch+json');
  await ask('POST', CONFIG_MAPS, { metadata: { name: 'a', finalizers: [`${GROUP}/kept`] }, data: { a: 'b' } });
  const made = JSON.parse(await ask('GET', `${CONFIG_MAPS}/a`));
  await ask('PUT', `${CONFIG_MAPS}/a`, { ...made, metadata: { ...made.metadata, finalizers: [] }, data: {} });
  await ask('GET', `${THINGS}?watch=1&timeoutSeconds=1&resourceVersion=0&allowWatchBookmarks=true`);
  await ask('GET', CONFIG_MAPS);
  await ask('DELETE', `${CONFIG_MAPS}/a`);
  await ask('DELETE', `${THINGS}/a`);
}

/** Whatever the certificate is: nothing is told that anybody may not know. */
function answerOf(url: URL, method: string, body: object | undefined, type: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = body && { 'Content-Type': type };
    const sent = request(url, { method, headers, rejectUnauthorized: false, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      answer.on('error', reject).on('end', () => {
        if ((answer.statusCode ?? 0) < 300) resolve(text);
        else reject(new Error(`Cannot rehearse: ${method} ${url.pathname} is answered ${answer.statusCode}: ${text}`));
      });
    });
    sent.on('error', reject).end(body && JSON.stringify(body));
  });
}
