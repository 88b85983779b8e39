/**
 * Answers that a webhook of ill will could give: heads, chunks and bodies, in pieces of one byte if need be. Whoever
 * configures webhooks is trusted; whoever runs one need not be.
 */
import type { TLSSocket } from 'node:tls';
import type { RawHook } from '../../../src/server/outbound/raw-hook.testing.ts';
import type { ServerTarget } from '../../support/victim/server-target.ts';
import type { StallCase } from '../../support/victim/stall-case.ts';
import { firstOf } from '../first-of.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const MAPS = '/api/v1/namespaces/stall/configmaps?dryRun=All';
/** Of one answer. */
const LONGEST = 16 * 1024 * 1024;
const LONGEST_HEAD = 60_000;
const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const CHUNKED = `${OK}Transfer-Encoding: chunked\r\n\r\n`;

/** Says what it likes, and how much that was. */
type Hostility = (socket: TLSSocket) => Promise<number>;

/** Asks it about ConfigMaps; what comes of it matters to nobody. */
export async function useHook(target: ServerTarget, { url, caBundle }: RawHook): Promise<void> {
  const webhook = {
    name: 'hostile.example.com',
    clientConfig: { url, caBundle },
    rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    failurePolicy: 'Ignore',
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    timeoutSeconds: 30,
  };
  const body = { metadata: { name: 'hostile' }, webhooks: [webhook] };
  await target.must({ method: 'POST', path: CONFIGURATIONS, body });
}

export function webhookCases(hook: () => RawHook): StallCase<ServerTarget>[] {
  const answered = (name: string, limit: number, answer: (size: number) => Hostility): StallCase<ServerTarget> => ({
    name: `an answer of a webhook: ${name}`,
    covers: ['webhook:answer'],
    limit,
    play: async (target, size, label) => {
      let sentBytes = 0;
      hook().answer = async ({ socket }) => {
        sentBytes += await answer(size)(socket);
        socket.end();
      };
      const { status } = await target.must({ method: 'POST', path: MAPS, body: { metadata: { name: label } } });
      return { sentBytes, statuses: [status] };
    },
  });
  const said = (name: string, limit: number, text: (size: number) => string) =>
    answered(name, limit, (size) => (socket) => send(socket, Buffer.from(text(size), 'latin1')));
  return [
    said('chunks of one byte', 1_000_000, (size) => `${CHUNKED}${'1\r\n \r\n'.repeat(size)}0\r\n\r\n`),
    said('chunks with extensions', 30_000, (size) => `${CHUNKED}${'1;x\r\n \r\n'.repeat(size)}0\r\n\r\n`),
    said('one long chunk', LONGEST, (size) => `${CHUNKED}${size.toString(16)}\r\n${' '.repeat(size)}\r\n0\r\n\r\n`),
    said('a long body', LONGEST, (size) => `${OK}Content-Length: ${size}\r\n\r\n${' '.repeat(size)}`),
    said('a body without a length', LONGEST, (size) => `${OK}\r\n${' '.repeat(size)}`),
    said('more than it may be', 4 * LONGEST, (size) => `${OK}\r\n${' '.repeat(size)}`),
    said('a length that never comes', LONGEST, (size) => `${OK}Content-Length: ${size}\r\n\r\n `),
    said('many headers', LONGEST_HEAD, (size) => `${OK}${'x:\r\n'.repeat(size / 4)}Content-Length: 1\r\n\r\n `),
    said('one long header', LONGEST_HEAD, (size) => `${OK}x: ${'y'.repeat(size)}\r\nContent-Length: 1\r\n\r\n `),
    said(
      'many words of Connection',
      LONGEST_HEAD,
      (size) => `${OK}Connection: ${','.repeat(size)}\r\nContent-Length: 1\r\n\r\n `,
    ),
    said(
      'nonsense of Keep-Alive',
      LONGEST_HEAD,
      (size) => `${OK}Keep-Alive: ${' timeout='.repeat(size / 9)}\r\nContent-Length: 1\r\n\r\n `,
    ),
    said('a head of returns', LONGEST_HEAD, (size) => '\r'.repeat(size)),
    said('answers on the way', LONGEST_HEAD, (size) => 'HTTP/1.1 100 x\r\n\r\n'.repeat(size / 18)),
    said('trailers', LONGEST_HEAD, (size) => `${CHUNKED}1\r\n \r\n0\r\n${'x:\r\n'.repeat(size / 4)}\r\n`),
    answered('a body in packets of one byte', 5000, (size) => inPackets(`${OK}\r\n${' '.repeat(size)}`)),
    answered('a head in packets of one byte', 5000, (size) => inPackets(`${OK}x: ${'y'.repeat(size)}\r\n\r\n{}`)),
  ];
}

async function send(socket: TLSSocket, bytes: Buffer): Promise<number> {
  if (!socket.write(bytes)) await firstOf(socket, 'drain', 'close');
  return bytes.length;
}

function inPackets(text: string): Hostility {
  return async (socket) => {
    socket.setNoDelay(true);
    for (const char of text) {
      if (socket.destroyed) break;
      socket.write(char);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return text.length;
  };
}
